package expression

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"github.com/google/cel-go/parser"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
)

// A program is one expression, compiled. It is safe for concurrent use.
type program struct {
	source string
	cel    cel.Program
	ast    *ast.AST
	output *cel.Type
	uses   uses
	shape  *shape
	// known are the names of all fields that an object can have.
	known []string
}

// An outcome of compiling an expression: a program, or what is wrong with it.
type outcome struct {
	program  *program
	mistakes []string
}

// compile an expression. Each error shows the expression, and points into it.
func (e *Environment) compile(path *field.Path, source string) (*program, field.ErrorList) {
	out, ok := e.programs[source]
	if !ok {
		out.program, out.mistakes = e.compileSource(source)
		e.programs[source] = out
	}

	var errs field.ErrorList
	for _, m := range out.mistakes {
		errs = append(errs, field.Invalid(path, "${"+source+"}", m))
	}

	return out.program, errs
}

// compileSource of an expression. Each mistake points into it.
func (e *Environment) compileSource(source string) (*program, []string) {
	compiled, mistakes := e.check(source)
	if len(mistakes) > 0 {
		return nil, mistakes
	}

	u, err := usesOf(compiled.NativeRep())
	if err != nil {
		return nil, []string{err.Error()}
	}

	if mistakes := e.compileNames(u.computed, compiled.NativeRep().SourceInfo()); len(mistakes) > 0 {
		return nil, mistakes
	}

	u = e.refersTo(u)

	if at, ok := strangeKey(compiled.NativeRep()); ok {
		return nil, []string{e.explain(source, &cel.Error{Location: at, Message: messageKeys})}
	}

	if bad := e.badPattern(compiled.NativeRep()); bad != nil {
		return nil, []string{e.explain(source, bad)}
	}

	p, err := e.plan(compiled)
	if err != nil {
		return nil, []string{err.Error()}
	}

	return &program{source: source, cel: p, ast: compiled.NativeRep(), output: compiled.OutputType(), uses: u, shape: e.shape, known: e.known(compiled.OutputType())}, nil
}

// compileNames of resources that are computed.
func (e *Environment) compileNames(names []computedName, info *ast.SourceInfo) []string {
	for i := range names {
		source, err := parser.Unparse(names[i].expr, info)
		if err != nil {
			return []string{err.Error()}
		}

		p, mistakes := e.compileSource(source)
		if len(mistakes) > 0 {
			return mistakes
		}

		names[i].program = p
	}

	return nil
}

// plan the evaluation of an expression. Constants are evaluated here, without the
// care that is taken later.
func (e *Environment) plan(compiled *cel.Ast) (p cel.Program, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New(unpanicked(fmt.Sprint(r)))
		}
	}()

	return e.cel.Program(compiled,
		cel.CustomDecorator(e.meter),
		cel.CustomDecorator(inOrder(rangesOf(compiled.NativeRep()))),
		cel.EvalOptions(cel.OptOptimize),
	)
}

// strangeKey returns where a map literal has a key that no map can have, if any
// does: there, evaluation panics.
func strangeKey(a *ast.AST) (at common.Location, found bool) {
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.MapKind || found {
			return
		}

		for _, entry := range e.AsMap().Entries() {
			key := entry.AsMapEntry().Key().ID()

			switch a.GetType(key).Kind() {
			case types.BoolKind, types.IntKind, types.UintKind, types.DoubleKind, types.StringKind, types.DynKind, types.AnyKind:
			default:
				at, found = a.SourceInfo().GetStartLocation(key), true
				return
			}
		}
	}))

	return at, found
}

// messageKeys is what is wrong with a key that no map can have.
const messageKeys = "the keys of a map must be strings, numbers or booleans"

// unpanicked says what the text of a panic means.
func unpanicked(text string) string {
	if strings.Contains(text, "hash of unhashable type") {
		return messageKeys
	}

	return text
}

// check an expression. With schemas, only that is a mistake which would fail
// without them, too: an object of a schema is a map all the same, and values of
// different types may stand for each other.
func (e *Environment) check(source string) (*cel.Ast, []string) {
	compiled, issues := e.cel.Compile(source)
	if issues.Err() != nil && !slices.ContainsFunc(issues.Errors(), isMistake) {
		loose, err := e.loose()
		if err != nil {
			return nil, []string{err.Error()}
		}

		compiled, issues = loose.Compile(source)
	}

	if issues.Err() == nil {
		if mistakes := e.misindexed(source); len(mistakes) > 0 {
			return nil, mistakes
		}

		return compiled, nil
	}

	// What the parser finds after its first error follows from that.
	if first := issues.Errors()[0]; strings.HasPrefix(first.Message, messageSyntax) {
		return nil, []string{e.explain(source, first)}
	}

	var messages []string

	for _, err := range issues.Errors() {
		if isMistake(err) {
			messages = append(messages, e.explain(source, err))
		}
	}

	if len(messages) == 0 {
		for _, err := range issues.Errors() {
			messages = append(messages, e.explain(source, err))
		}
	}

	return nil, messages
}

// rangesOf returns the IDs of what the comprehensions of an expression go
// through.
func rangesOf(a *ast.AST) map[int64]bool {
	ranges := map[int64]bool{}

	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind {
			ranges[e.AsComprehension().IterRange().ID()] = true
		}
	}))

	return ranges
}

// nameEvaluation is a name under which calls find their evaluation. It is none
// that an expression could have.
const nameEvaluation = "@evaluation"

// An evaluation of an expression. It is the activation, which knows the values
// of the roots.
type evaluation struct {
	lookups

	ctx   context.Context //nolint:containedctx // It lives as long as the evaluation.
	data  Data
	shape *shape
	work  uint64
	// problem that has ended the evaluation, if one has.
	problem *Problem
}

// end the evaluation because of a problem.
func (e *evaluation) end(problem *Problem) {
	e.problem = problem
	panic(interpreter.EvalCancelledError{Message: problem.Message, Cause: causeFail})
}

// spend work. There is no way to end an evaluation but by a panic that CEL
// expects: errors may be what a comprehension goes on after.
func (e *evaluation) spend(work uint64) {
	const often = 1000

	if e.work/often != (e.work+work)/often && e.ctx.Err() != nil {
		panic(interpreter.EvalCancelledError{Message: messageTime, Cause: interpreter.ContextCancelled})
	}

	if work > maxWork-e.work {
		e.work = maxWork
		panic(interpreter.EvalCancelledError{Message: messageWork, Cause: interpreter.CostLimitExceeded})
	}

	e.work += work
}

// ResolveName returns the value of a root.
func (e *evaluation) ResolveName(name string) (any, bool) {
	if name == nameEvaluation {
		return e, true
	}

	v := view{place: place{name: name}, lookups: &e.lookups}

	switch name {
	case rootXR:
		v.shape = e.shape
		return newObject(v, e.data.XR), true
	case rootRuns:
		return newObject(v, e.data.Runs), true
	case rootRequired:
		return newObject(v, e.data.Required), true
	case rootResources:
		return newObject(v, e.data.Resources), true
	case rootEach:
		return newObject(v, e.data.Each), true
	case rootEnvironment:
		return newObject(v, e.data.Environment), true
	case rootContext:
		return newObject(v, e.data.Context), true
	case rootLocals:
		return scope{object: newObject(v, nil), evaluation: e}, true
	}

	return nil, false
}

// Parent is nil.
func (e *evaluation) Parent() interpreter.Activation {
	return nil
}

// evaluate the expression. A nil value without a problem is not there:
// optional.none().
func (p *program) evaluate(ctx context.Context, data *Data) (ref.Val, *Problem) {
	if data.Budget.isSpent() {
		return nil, &Problem{Kind: Invalid, Message: "the expressions for this XR take too much work together: " + p.show()}
	}

	e := &evaluation{ctx: ctx, data: *data, shape: p.shape}

	v, _, err := p.cel.Eval(e)
	data.Budget.Spend(1 + e.work)

	if err != nil {
		// It may hold all of a value.
		data.Budget.Spend(uint64(len(err.Error())) / perUnit)

		return nil, p.problem(e, err)
	}

	return v, nil
}

// problem says why an expression has no value.
func (p *program) problem(e *evaluation, err error) *Problem {
	if e.problem != nil {
		return e.problem
	}

	var ended interpreter.EvalCancelledError
	if errors.As(err, &ended) && ended.Cause == causeFail {
		return &Problem{Kind: Invalid, Message: clip.Text(ended.Message, maxFailure), Plain: failsPlainly(p.ast)}
	}

	if at := e.explain(err); at != nil {
		if at.pending() {
			return &Problem{Kind: Pending, Message: at.String() + " is not there yet" + at.hint()}
		}

		return &Problem{Kind: NotSet, Message: fmt.Sprintf("%s is not set; write %s if it may be missing", at, at.optional())}
	}

	if e.binary != nil && strings.Contains(err.Error(), e.binary.String()+messageBinary) {
		return &Problem{Kind: Invalid, Message: e.binary.String() + " is not UTF-8 text, which is all that an expression can use; let the content encode it, as in base64", Plain: true}
	}

	message := unpanicked(clip.Text(strings.TrimPrefix(err.Error(), "evaluation error: "), maxFailure))

	if strings.HasPrefix(message, messageNoOverload) {
		message += "; its operands are of types that do not go together, string(…), int(…) and double(…) convert them"
	}

	var at *types.Err
	if errors.As(err, &at) && at.NodeID() != 0 {
		return &Problem{Kind: Invalid, Message: message + ", here: " + point(p.source, p.ast.SourceInfo().GetStartLocation(at.NodeID()))}
	}

	return &Problem{Kind: Invalid, Message: message + ": " + p.show()}
}

// show the expression in one line.
func (p *program) show() string {
	return "${" + strings.Join(strings.Fields(p.source), " ") + "}"
}
