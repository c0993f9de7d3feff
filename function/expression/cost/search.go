package cost

import (
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

// isSearch is true for functions that have a regular expression.
func isSearch(function string) bool {
	return function == overloads.Matches || function == functionFind || function == functionFindAll
}

// A search is a call of a function that has a regular expression. It hides the call
// from CEL, which would compile a literal regular expression however large it becomes,
// and search without the meter.
type search struct {
	interpreter.Interpretable

	call *call
	// written is the pattern that is a literal in the expression; nil for others.
	written *pattern
}

func newSearch(c *call) *search {
	s := &search{Interpretable: c, call: c}

	if len(c.args) > 1 {
		if constant, ok := c.args[1].(interpreter.InterpretableConst); ok {
			if source, ok := constant.Value().(types.String); ok {
				// A mistake is told when it is evaluated.
				s.written, _ = compilePattern(string(source), func(uint64) {})
			}
		}
	}

	return s
}

// Eval makes the search.
func (s *search) Eval(a interpreter.Activation) ref.Val {
	args, failed := s.call.evaluate(a)
	if failed != nil {
		return failed
	}

	return types.LabelErrNode(s.ID(), s.make(args, meterOf(a).spend))
}

func (s *search) make(args []ref.Val, spend func(uint64)) ref.Val {
	const needed = 2

	if len(args) < needed {
		return s.call.make(args)
	}

	text, isText := args[0].(types.String)
	source, isSource := args[1].(types.String)

	if !isText || !isSource {
		return s.call.make(args)
	}

	p := s.written
	if p == nil {
		var err error
		if p, err = compilePattern(string(source), spend); err != nil {
			return types.WrapErr(err)
		}
	}

	spend(p.work(len(text)))

	switch s.call.Function() {
	case overloads.Matches:
		return types.Bool(p.MatchString(string(text)))
	case functionFind:
		return types.String(p.FindString(string(text)))
	}

	found := p.findAll(string(text), spend)

	if len(args) > needed {
		n, ok := args[2].(types.Int)
		if !ok {
			return s.call.make(args)
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

		_, n, err := parsePattern(string(source))
		if p.size += n; err == nil && p.size > maxPatternSizes {
			err = errors.Errorf("the regular expressions here are too large together: at most %d instructions", maxPatternSizes)
		}

		if err != nil {
			found = &common.Error{Location: a.SourceInfo().GetStartLocation(args[1].ID()), Message: err.Error()}
		}
	}))

	return found
}
