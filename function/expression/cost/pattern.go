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

// searches are the functions that have a regular expression as their second argument.
var searches = [...]string{overloads.Matches, functionFind, functionFindAll} //nolint:gochecknoglobals // Go has no constant arrays.

// searchOf a text for a regular expression.
func searchOf(function string) call {
	return func(args []ref.Val, spend func(uint64)) ref.Val {
		text, isText := args[0].(types.String)
		source, isSource := args[1].(types.String)
		most, isMost := types.Int(-1), true

		if len(args) > 2 {
			most, isMost = args[2].(types.Int)
		}

		if !isText || !isSource || !isMost {
			return types.NewErr("no such overload: %s", function)
		}

		p, err := compilePattern(string(source), spend)
		if err != nil {
			return types.WrapErr(err)
		}

		spend(p.work(len(text)))

		switch function {
		case overloads.Matches:
			return types.Bool(p.MatchString(string(text)))
		case functionFind:
			return types.String(p.FindString(string(text)))
		}

		found := p.findAll(string(text), spend)
		if most >= 0 {
			found = found[:min(int(most), len(found))]
		}

		return types.NewStringList(types.DefaultTypeAdapter, found)
	}
}

// CheckPatterns says what is wrong with a regular expression that is a literal in an expression, and where it is.
func CheckPatterns(a *ast.AST) (found *common.Error) {
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		if x.Kind() != ast.CallKind || !slices.Contains(searches[:], x.AsCall().FunctionName()) || found != nil {
			return
		}

		args := x.AsCall().Args()
		if x.AsCall().IsMemberFunction() {
			args = append([]ast.Expr{x.AsCall().Target()}, args...)
		}

		if len(args) < 2 || args[1].Kind() != ast.LiteralKind {
			return
		}

		source, _ := args[1].AsLiteral().(types.String)
		if _, err := compilePattern(string(source), func(uint64) {}); err != nil {
			found = &common.Error{Location: a.SourceInfo().GetStartLocation(args[1].ID()), Message: err.Error()}
		}
	}))

	return found
}
