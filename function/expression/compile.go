package expression

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/parser"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiservercel "k8s.io/apiserver/pkg/cel"

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

	selections, err := selectionsIn(compiled.NativeRep())
	u, uerr := usesOf(selections)

	u.published = publishedBy(source, selections)

	if err := cmp.Or(err, uerr); err != nil {
		return nil, []string{err.Error()}
	}

	resources, mistakes := e.compileNames(selections, compiled.NativeRep().SourceInfo())
	if len(mistakes) > 0 {
		return nil, mistakes
	}

	count(compiled.NativeRep())

	p, err := e.cel.Program(compiled, cel.CustomDecorator(limited(e.cel)))
	if bad := (patternError{}); errors.As(err, &bad) {
		at := compiled.NativeRep().SourceInfo().GetStartLocation(bad.id)
		return nil, []string{e.explain(source, &common.Error{Location: at, Message: bad.Error()})}
	}

	if err != nil {
		return nil, []string{err.Error()}
	}

	out := &program{
		source:     source,
		cel:        p,
		ast:        compiled.NativeRep(),
		declared:   e.forJSON(compiled.OutputType()),
		uses:       u,
		selections: selections,
		resources:  resources,
		schema:     e.schema.OpenAPI(),
		defaulted:  e.defaulted(selections),
	}

	// CEL gives what is at a computed key the type of its default.
	asked := ast.MatchDescendants(ast.NavigateAST(out.ast), ast.FunctionMatcher(operators.OptIndex))
	if slices.ContainsFunc(asked, func(x ast.NavigableExpr) bool {
		return e.forJSON(x.Children()[0].Type()) == apiservercel.DynType
	}) {
		out.declared = apiservercel.DynType
	}

	for _, name := range slices.Sorted(maps.Keys(u.names[rootLocals])) {
		local, _ := e.locals.at([]string{name})
		for p := range local.programs {
			out.useAlso(p)
		}
	}

	return out, nil
}

// compileNames of resources that are computed.
func (e *Environment) compileNames(selections []selection, info *ast.SourceInfo) ([]resourceName, []string) {
	var compiled []resourceName

	for _, s := range selections {
		if s.root != rootResources || s.index == nil {
			continue
		}

		source, err := parser.Unparse(s.index, info)
		if err != nil {
			return nil, []string{err.Error()}
		}

		p, mistakes := e.compileSource(source)
		if len(mistakes) > 0 {
			return nil, mistakes
		}

		compiled = append(compiled, resourceName{program: p, needed: !s.asked})
	}

	return compiled, nil
}

// check the types of an expression. With schemas CEL refuses more than is a mistake:
// an object of a schema can be used as a map all the same, and values of different types
// may take the place of each other. So what it refuses is checked without schemas.
func (e *Environment) check(source string) (*cel.Ast, []string) {
	compiled, issues := compileIn(e.cel, source)
	if issues.Err() != nil && !slices.ContainsFunc(issues.Errors(), isMistake) {
		loose, err := e.loose()
		if err != nil {
			return nil, []string{err.Error()}
		}

		compiled, issues = compileIn(loose, source)
	}

	if issues.Err() == nil {
		return compiled, nil
	}

	errs := issues.Errors()

	switch {
	case strings.HasPrefix(errs[0].Message, messageSyntax):
		errs = errs[:1] // Further errors of the parser follow from the first.
	case slices.ContainsFunc(errs, isMistake):
		errs = slices.DeleteFunc(slices.Clone(errs), func(err *common.Error) bool { return !isMistake(err) })
	}

	messages := make([]string, len(errs))
	for i, err := range errs {
		messages[i] = e.explain(source, err)
	}

	return nil, slices.Compact(messages)
}

// compileIn a CEL environment. A name that is written in brackets is one after a dot: CEL checks no other.
func compileIn(env *cel.Env, source string) (*cel.Ast, *cel.Issues) {
	parsed, issues := env.Parse(source)
	if issues.Err() != nil {
		return nil, issues
	}

	factory := ast.NewExprFactory()

	ast.PostOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		if x.Kind() != ast.CallKind || len(x.AsCall().Args()) != 2 || x.AsCall().Args()[1].Kind() != ast.LiteralKind {
			return
		}

		args := x.AsCall().Args()

		name, _ := args[1].AsLiteral().Value().(string)
		if !isSelectable(name) {
			return
		}

		switch x.AsCall().FunctionName() {
		case operators.Index:
			x.SetKindCase(factory.NewSelect(x.ID(), args[0], name))
		case operators.OptIndex:
			x.SetKindCase(factory.NewCall(x.ID(), operators.OptSelect, args...))
		}
	}))

	return env.Check(parsed)
}
