package expression

import (
	"regexp"
	regexpsyntax "regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/crossplane/function-sdk-go/errors"
)

// Functions of regular expressions.
const (
	functionFind    = "find"
	functionFindAll = "findAll"
)

const (
	// maxPattern is how long a regular expression may be, in bytes. Three bytes
	// may stand for a thousand ranges of letters, so that each can cost 4 KiB
	// while it is parsed.
	maxPattern = 4 << 10
	// maxPatternSize is how large a regular expression may become that is
	// compiled, in instructions. Each takes about 250 bytes.
	maxPatternSize = 10_000
	// perPatternByte is the work to parse a byte of a regular expression.
	perPatternByte = 32
	// perFold is the work to fold the case of all letters there are.
	perFold = 60_000
	// perInstruction is the work to compile an instruction.
	perInstruction = 8
	// perSteps is how many instructions are looked at in a unit.
	perSteps = 16
	// runesPerInstruction of a class take as much memory as an instruction.
	runesPerInstruction = 16
)

// A pattern is a regular expression, compiled.
type pattern struct {
	*regexp.Regexp

	// size in instructions, at least.
	size uint64
}

// A patternError is what is wrong with a literal regular expression.
type patternError struct {
	error

	// id of the literal.
	id int64
}

// parseWork is the work to parse a regular expression, known before it is parsed. Wide
// ranges of characters take long where case is folded.
func parseWork(source string) uint64 {
	work := uint64(len(source)) * perPatternByte
	if !strings.Contains(source, "(?") {
		return work
	}

	for i := range len(source) - 1 {
		if source[i] == '-' && (source[i+1] == '\\' || source[i+1] >= utf8.RuneSelf) {
			work += perFold
		}
	}

	return work
}

// compilePattern compiles a regular expression, if it does not become too large, and
// spends the work for that before it is done.
func compilePattern(source string, spend func(work uint64)) (*pattern, error) {
	switch {
	case len(source) > maxPattern:
		return nil, errors.Errorf("the regular expression is longer than %d bytes", maxPattern)
	case parseWork(source) > maxWork:
		return nil, errors.New("the regular expression has too many wide ranges of characters")
	}

	spend(parseWork(source))

	re, err := regexpsyntax.Parse(source, regexpsyntax.Perl)
	if err != nil {
		return nil, err
	}

	n := instructions(re)
	if n > maxPatternSize {
		return nil, errors.Errorf(
			"the regular expression is too large when its repetitions are written out: %d instructions, at most %d", n,
			maxPatternSize)
	}

	spend(n * perInstruction)

	compiled, err := regexp.Compile(source)

	return &pattern{Regexp: compiled, size: n}, err
}

// instructions of the program that a regular expression is compiled to, at
// least; about what regexp/syntax counts to refuse those beyond 128 MiB.
func instructions(re *regexpsyntax.Regexp) uint64 {
	n := uint64(1)

	switch re.Op {
	case regexpsyntax.OpLiteral:
		return max(1, uint64(len(re.Rune)))
	case regexpsyntax.OpCharClass:
		return 1 + uint64(len(re.Rune))/runesPerInstruction
	case regexpsyntax.OpRepeat:
		sub := instructions(re.Sub[0])
		return 1 + uint64(max(re.Min, 1))*sub + uint64(max(re.Max-re.Min, 0))*(1+sub)
	case regexpsyntax.OpAlternate:
		n += uint64(len(re.Sub))
	}

	for _, sub := range re.Sub {
		n += instructions(sub)
	}

	return n
}

// isSearch is true for the functions that have a regular expression as their second argument.
func isSearch(function string) bool {
	return slices.Contains([]string{overloads.Matches, functionFind, functionFindAll}, function)
}

// searchOf a text for a regular expression. One that is written is compiled once.
func searchOf(made interpreter.InterpretableCall) (interpreter.Interpretable, error) {
	var literal *pattern

	args := made.Args()

	if c, ok := args[1].(interpreter.InterpretableConst); ok {
		source, _ := c.Value().(types.String)

		var err error
		if literal, err = compilePattern(string(source), func(uint64) {}); err != nil {
			return nil, patternError{error: err, id: args[1].ID()}
		}
	}

	return &call{Interpretable: made, args: args, function: func(e *evaluation, args []ref.Val) ref.Val {
		text, isText := args[0].(types.String)
		source, isSource := args[1].(types.String)
		most, isMost := types.Int(-1), true

		if len(args) > 2 {
			most, isMost = args[2].(types.Int)
		}

		p := literal

		switch {
		case !isText || !isSource || !isMost:
			return types.NewErr("no such overload: %s", made.Function())
		case p == nil:
			var err error
			if p, err = compilePattern(string(source), e.spend); err != nil {
				return types.WrapErr(err)
			}
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

	once := perCall + uint64(bytes+1)*(overhead+p.size)/perSteps //nolint:gosec // It is not negative.
	if function != functionFindAll {
		return once
	}

	// After each match it may go through all the rest of the text, however short the match is: half of it on average.
	return once * (1 + uint64(bytes)/2) //nolint:gosec,mnd // It is not negative.
}
