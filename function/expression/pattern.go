package expression

import (
	"regexp/syntax"
	"slices"

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

// searched is a text that is searched for a regular expression of this size, which spends the work of that.
type searched struct {
	interpreter.Interpretable

	function string
	size     int
}

// Eval returns the text.
func (s *searched) Eval(a interpreter.Activation) ref.Val {
	text := s.Interpretable.Eval(a)
	evaluationOf(a).spend(search(s.function, length(text), s.size))

	return text
}

// searchOf a text for a regular expression, which CEL compiles once. It is literal: a short one that the author of an
// XR chose could become large, and take long to compile.
func searchOf(made interpreter.InterpretableCall) (interpreter.Interpretable, error) {
	args := slices.Clone(made.Args())

	literal, ok := args[1].(interpreter.InterpretableConst)
	if !ok {
		return nil, errors.Errorf(
			"the regular expression of %[1]s must be literal, as in xr.metadata.name.%[1]s('^[a-z]+'); to look for a text, "+
				"write contains, startsWith or ==", made.Function())
	}

	source, _ := literal.Value().(types.String)

	parsed, err := syntax.Parse(string(source), syntax.Perl)
	if err != nil {
		return nil, err
	}

	program, err := syntax.Compile(parsed.Simplify()) // Repetitions are written out.
	if err != nil {
		return nil, err
	}

	args[0] = &searched{Interpretable: args[0], function: made.Function(), size: len(program.Inst)}

	return interpreter.NewCall(made.ID(), made.Function(), made.OverloadID(), args, nil), nil
}

// search returns the work to search a text of this many bytes for a regular expression of this many instructions.
func search(function string, bytes uint64, size int) uint64 {
	const overhead = 3

	once := perCall + (bytes+1)*uint64(overhead+size)/perSteps //nolint:gosec // It is not negative.
	if function != functionFindAll {
		return once
	}

	// After each match it may go through all the rest of the text, however short the match is: half of it on average.
	return once * (1 + bytes/2) //nolint:mnd // See above.
}
