package cost

import (
	"io"
	"regexp"
	regexpsyntax "regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
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
	// maxPatternSizes is how large all those may become that are written in the
	// expressions of a Composition.
	maxPatternSizes = 10 * maxPatternSize
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
	// looksBack is true when what is matched depends on what comes before.
	looksBack bool
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

	spend(perCall + parseWork(source))

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

	return &pattern{Regexp: compiled, size: n, looksBack: looksBack(re)}, err
}

// uncounted work is that for a Composition.
func uncounted(uint64) {}

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

// looksBack is true when what a regular expression matches depends on what comes
// before.
func looksBack(re *regexpsyntax.Regexp) bool {
	switch re.Op {
	case regexpsyntax.OpBeginLine, regexpsyntax.OpBeginText, regexpsyntax.OpWordBoundary, regexpsyntax.OpNoWordBoundary:
		return true
	}

	return slices.ContainsFunc(re.Sub, looksBack)
}

// work to go through this many bytes.
func (p *pattern) work(bytes int) uint64 {
	const overhead = 3

	return perCall + uint64(max(bytes, 0)+1)*(overhead+p.size)/perSteps
}

// findAll returns all matches. Each search may read the text to its end, however short
// its match is, so that the work of each is counted.
func (p *pattern) findAll(s string, spend func(uint64)) []string {
	found := []string{}

	if p.looksBack {
		p.ReplaceAllStringFunc(s, func(m string) string {
			spend(p.work(len(s)))

			found = append(found, m)

			return ""
		})

		return found
	}

	for at, last := 0, -1; at <= len(s); {
		r := &runes{text: s[at:]}
		loc := p.FindReaderIndex(r)

		spend(p.work(r.next))

		if loc == nil {
			break
		}

		start, end := at+loc[0], at+loc[1]
		if start != end || start != last {
			found = append(found, s[start:end])
		}

		if at, last = end, end; loc[1] == 0 {
			_, n := utf8.DecodeRuneInString(s[end:])
			at += max(n, 1)
		}
	}

	return found
}

// runes of a text, which knows how far it was read.
type runes struct {
	text string
	next int
}

// ReadRune returns the next one.
func (r *runes) ReadRune() (c rune, n int, err error) {
	if r.next >= len(r.text) {
		return 0, 0, io.EOF
	}

	c, n = utf8.DecodeRuneInString(r.text[r.next:])
	r.next += n

	return c, n, nil
}

// isSearch is true for functions that have a regular expression.
func isSearch(function string) bool {
	return function == overloads.Matches || function == functionFind || function == functionFindAll
}

// searchOf a call that has a regular expression. CEL would compile a literal one however large it becomes.
func searchOf(c interpreter.InterpretableCall) call {
	var written *pattern

	if constant, ok := c.Args()[1].(interpreter.InterpretableConst); ok {
		if source, ok := constant.Value().(types.String); ok {
			// A mistake is told when it is evaluated.
			written, _ = compilePattern(string(source), uncounted)
		}
	}

	return func(args []ref.Val, spend func(uint64)) ref.Val { return search(c.Function(), written, args, spend) }
}

// search the first argument for a regular expression that is written in the expression, or else the second argument.
func search(function string, written *pattern, args []ref.Val, spend func(uint64)) ref.Val {
	text, isText := args[0].(types.String)
	source, isSource := args[1].(types.String)

	if !isText || !isSource {
		return types.NewErr("no such overload: %s", function)
	}

	p := written
	if p == nil {
		var err error
		if p, err = compilePattern(string(source), spend); err != nil {
			return types.WrapErr(err)
		}
	}

	spend(p.work(len(text)))

	switch function {
	case overloads.Matches:
		return types.Bool(p.MatchString(string(text)))
	case functionFind:
		return types.String(p.FindString(string(text)))
	}

	found := p.findAll(string(text), spend)

	if len(args) > 2 { // How many are wanted.
		n, ok := args[2].(types.Int)
		if !ok {
			return types.NewErr("no such overload: %s", function)
		}

		if n >= 0 {
			found = found[:min(int(n), len(found))]
		}
	}

	return types.NewStringList(types.DefaultTypeAdapter, found)
}

// Patterns are the regular expressions that are literals in the expressions of a
// Composition. They are compiled for as long as the Composition is known, so that
// there is a limit on how large they may become together.
type Patterns struct {
	// size in instructions.
	size uint64
}

// Add those of an expression. The error says what is wrong with one, and where it is.
func (p *Patterns) Add(a *ast.AST) (found *common.Error) {
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		if x.Kind() != ast.CallKind || found != nil {
			return
		}

		c := x.AsCall()
		args := c.Args()

		if c.IsMemberFunction() {
			args = append([]ast.Expr{c.Target()}, args...)
		}

		if !isSearch(c.FunctionName()) || len(args) < 2 || args[1].Kind() != ast.LiteralKind {
			return
		}

		source, ok := args[1].AsLiteral().(types.String)
		if !ok {
			return
		}

		compiled, err := compilePattern(string(source), uncounted)
		if err == nil {
			p.size += compiled.size
		}

		if p.size > maxPatternSizes {
			err = errors.Errorf("the regular expressions here are too large together: at most %d instructions", maxPatternSizes)
		}

		if err != nil {
			found = &common.Error{Location: a.SourceInfo().GetStartLocation(args[1].ID()), Message: err.Error()}
		}
	}))

	return found
}
