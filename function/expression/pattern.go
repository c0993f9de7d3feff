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

// A pattern is a regular expression, compiled.
type pattern struct {
	*regexp.Regexp

	// size in instructions, with repetitions written out.
	size int
}

// A patternError is what is wrong with a regular expression.
type patternError struct {
	error

	// id of the argument.
	id int64
}

// compilePattern compiles a regular expression.
func compilePattern(source string) (*pattern, error) {
	compiled, err := regexp.Compile(source)
	if err != nil {
		return nil, err
	}

	parsed, err := regexpsyntax.Parse(source, regexpsyntax.Perl)
	if err != nil {
		return nil, err
	}

	program, err := regexpsyntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}

	return &pattern{Regexp: compiled, size: len(program.Inst)}, nil
}

// searchOf a text for a regular expression, which is compiled once. It is literal: a short one that the author of an XR
// chose could become large, and take long to compile.
func searchOf(made interpreter.InterpretableCall) (interpreter.Interpretable, error) {
	args := made.Args()

	literal, ok := args[1].(interpreter.InterpretableConst)
	if !ok {
		return nil, patternError{id: args[1].ID(), error: errors.Errorf(
			"the regular expression of %[1]s must be literal, as in xr.metadata.name.%[1]s('^[a-z]+'); to look for a text, "+
				"write contains, startsWith or ==", made.Function())}
	}

	source, _ := literal.Value().(types.String)

	p, err := compilePattern(string(source))
	if err != nil {
		return nil, patternError{id: args[1].ID(), error: err}
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

		e.spend(p.work(made.Function(), len(text)))

		switch made.Function() {
		case overloads.Matches:
			return types.Bool(p.MatchString(string(text)))
		case functionFind:
			return types.String(p.FindString(string(text)))
		}

		all := p.FindAllString(string(text), int(most))

		return types.NewStringList(types.DefaultTypeAdapter, append([]string{}, all...))
	}}, nil
}

// work to search a text of this many bytes.
func (p *pattern) work(function string, bytes int) uint64 {
	const overhead = 3

	once := perCall + uint64(bytes+1)*uint64(overhead+p.size)/perSteps //nolint:gosec // They are not negative.
	if function != functionFindAll {
		return once
	}

	// After each match it may go through all the rest of the text, however short the match is: half of it on average.
	return once * (1 + uint64(bytes)/2) //nolint:gosec,mnd // It is not negative.
}
