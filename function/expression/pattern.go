package expression

import (
	"regexp"
	regexpsyntax "regexp/syntax"

	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/crossplane/function-sdk-go/errors"
)

// Functions of regular expressions, beside matches.
const (
	functionFind    = "find"
	functionFindAll = "findAll"
)

// perSteps is how many instructions of a regular expression are looked at in a unit.
const perSteps = 16

// searchOf a text for a regular expression, which is compiled once. It is literal: a short one that the author of an XR
// chose could become large, and take long to compile.
func searchOf(made interpreter.InterpretableCall) (interpreter.Interpretable, error) {
	args := made.Args()

	literal, ok := args[1].(interpreter.InterpretableConst)
	if !ok {
		return nil, errors.Errorf(
			"the regular expression of %[1]s must be literal, as in xr.metadata.name.%[1]s('^[a-z]+'); to look for a text, "+
				"write contains, startsWith or ==", made.Function())
	}

	source, _ := literal.Value().(types.String)

	pattern, size, err := compilePattern(string(source))
	if err != nil {
		return nil, err
	}

	return &call{Interpretable: made, args: args, function: func(e *evaluation, args []ref.Val) ref.Val {
		text, isText := args[0].(types.String)
		most, isMost := types.Int(-1), true

		if len(args) > 2 {
			most, isMost = args[2].(types.Int)
		}

		if !isText || !isMost {
			return types.NewErr("%s: %s", messageNoOverload, made.Function())
		}

		e.spend(search(made.Function(), len(text), size))

		switch made.Function() {
		case overloads.Matches:
			return types.Bool(pattern.MatchString(string(text)))
		case functionFind:
			return types.String(pattern.FindString(string(text)))
		}

		all := pattern.FindAllString(string(text), int(most))

		return types.NewStringList(types.DefaultTypeAdapter, append([]string{}, all...))
	}}, nil
}

// compilePattern compiles a regular expression. Its size is in instructions, with repetitions written out.
func compilePattern(source string) (pattern *regexp.Regexp, size int, err error) {
	parsed, err := regexpsyntax.Parse(source, regexpsyntax.Perl)
	if err != nil {
		return nil, 0, err
	}

	program, err := regexpsyntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, 0, err
	}

	pattern, err = regexp.Compile(source)

	return pattern, len(program.Inst), err
}

// search returns the work to search a text of this many bytes for a regular expression of this many instructions.
func search(function string, bytes, size int) uint64 {
	const overhead = 3

	once := perCall + uint64(bytes+1)*uint64(overhead+size)/perSteps //nolint:gosec // They are not negative.
	if function != functionFindAll {
		return once
	}

	// After each match it may go through all the rest of the text, however short the match is: half of it on average.
	return once * (1 + uint64(bytes)/2) //nolint:gosec,mnd // It is not negative.
}
