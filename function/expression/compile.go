package expression

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"
)

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

	resources, mistakes := e.compileNames(u.computed, compiled.NativeRep().SourceInfo())
	if len(mistakes) > 0 {
		return nil, mistakes
	}

	if at, ok := invalidMapKey(compiled.NativeRep()); ok {
		return nil, []string{e.explain(source, &cel.Error{Location: at, Message: messageKeys})}
	}

	if bad := e.patterns.Add(compiled.NativeRep()); bad != nil {
		return nil, []string{e.explain(source, bad)}
	}

	p, err := e.plan(compiled)
	if err != nil {
		return nil, []string{err.Error()}
	}

	out := &program{
		source:    source,
		cel:       p,
		ast:       compiled.NativeRep(),
		output:    compiled.OutputType(),
		uses:      u,
		resources: resources,
		shape:     e.shape,
		defaulted: e.defaulted(compiled.NativeRep()),
		known:     e.fieldsOf(compiled.OutputType()),
	}

	for _, name := range slices.Sorted(maps.Keys(u.locals)) {
		local, _ := e.locals.at([]string{name})
		for p := range local.programs {
			out.useAlso(p)
		}
	}

	return out, nil
}

// compileNames of resources that are computed.
func (e *Environment) compileNames(names []computedName, info *ast.SourceInfo) ([]resourceName, []string) {
	var compiled []resourceName

	for _, n := range names {
		source, err := parser.Unparse(n.expr, info)
		if err != nil {
			return nil, []string{err.Error()}
		}

		p, mistakes := e.compileSource(source)
		if len(mistakes) > 0 {
			return nil, mistakes
		}

		compiled = append(compiled, resourceName{program: p, needed: n.needed})
	}

	return compiled, nil
}

// plan the evaluation of an expression. CEL evaluates constants here, where it does not
// recover from panics as it does later.
func (e *Environment) plan(compiled *cel.Ast) (p cel.Program, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New(panicMessage(fmt.Sprint(r)))
		}
	}()

	return e.cel.Program(compiled,
		cel.CustomDecorator(e.calls),
		cel.CustomDecorator(ranges(compiled.NativeRep())),
		cel.EvalOptions(cel.OptOptimize),
	)
}

// invalidMapKey returns where a map literal has a key of a type that no map can have.
// CEL compiles such a key, and panics when it is evaluated.
func invalidMapKey(a *ast.AST) (at common.Location, found bool) {
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

// check the types of an expression. With schemas CEL refuses more than is a mistake:
// an object of a schema can be used as a map all the same, and values of different types
// may take the place of each other. So what it refuses is checked without schemas.
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

	// Further errors of the parser follow from the first.
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

// misindexed returns the mistakes in names of fields that are written in brackets: CEL
// checks them only after a dot.
func (e *Environment) misindexed(source string) []string {
	if !strings.Contains(source, "[") {
		return nil
	}

	parsed, issues := e.cel.Parse(source)
	if issues.Err() != nil {
		return nil
	}

	indexed := false
	factory := ast.NewExprFactory()

	ast.PostOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		if x.Kind() != ast.CallKind || len(x.AsCall().Args()) != 2 {
			return
		}

		args := x.AsCall().Args()
		if args[1].Kind() != ast.LiteralKind || args[1].AsLiteral().Type() != types.StringType {
			return
		}

		name, _ := args[1].AsLiteral().Value().(string)

		switch x.AsCall().FunctionName() {
		case operators.Index:
			x.SetKindCase(factory.NewSelect(x.ID(), args[0], name))
		case operators.OptIndex:
			x.SetKindCase(factory.NewCall(x.ID(), operators.OptSelect, args...))
		default:
			return
		}

		indexed = true
	}))

	if !indexed {
		return nil
	}

	_, issues = e.cel.Check(parsed)
	if issues.Err() == nil {
		return nil
	}

	var messages []string

	for _, err := range issues.Errors() {
		if isMistake(err) {
			messages = append(messages, e.explain(source, err))
		}
	}

	return slices.Compact(messages)
}
