package expression

import (
	"maps"
	"slices"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/interpreter"
)

// An Environment compiles expressions, those that are equal once. Its roots are closed: a field of xr, of each or of a
// run, a run, or a required resource that does not exist is an error. The environment and the context are maps of
// anything. It is not safe for concurrent use, unlike what it compiles.
type Environment struct {
	declared Declarations

	cel *cel.Env
	// known are the schemas of roots by name, and types the types that they become.
	known map[string]map[string]any
	types provider
	// programs that were compiled, by their sources.
	programs map[string]*program
}

// base is what all environments extend.
var base = sync.OnceValue(func() *cel.Env { //nolint:gochecknoglobals // It is a constant that takes long to make.
	return must(cel.NewEnv(libraryOptions()...))
})

// loose is an environment in which roots may be anything.
var loose = sync.OnceValue(func() *cel.Env { //nolint:gochecknoglobals // It is a constant that takes long to make.
	var variables []cel.EnvOption
	for name := range roots {
		variables = append(variables, cel.Variable(name, cel.DynType))
	}

	return must(base().Extend(variables...))
})

// must returns an environment. No input chooses what is declared: the names of roots and functions.
func must(env *cel.Env, err error) *cel.Env {
	if err != nil {
		panic(err)
	}

	return env
}

// NewEnvironment returns an Environment of expressions that see these, and always the environment and the context.
func NewEnvironment(d Declarations) *Environment {
	if d.Locals == nil {
		d.Locals = NewLocals(nil)
	}

	e := &Environment{
		declared: d, known: d.schemas(), programs: map[string]*program{},
		types: provider{Provider: base().CELTypeProvider(), objects: map[string]map[string]any{}},
	}
	options := []cel.EnvOption{cel.CustomTypeProvider(e.types)}

	for name := range roots {
		if name == rootEach && !d.Each || d.Operation && inOperation[name] != "" {
			continue
		}

		t := cel.MapType(cel.StringType, cel.DynType)
		if schema, ok := e.known[name]; ok {
			e.types.objects[prefix+name] = schema
			t = cel.ObjectType(prefix + name)
		}

		options = append(options, cel.Variable(name, t))
	}

	e.cel = must(base().Extend(options...))

	return e
}

// compile an expression, once.
func (e *Environment) compile(source string) *program {
	if p, ok := e.programs[source]; ok {
		return p
	}

	p, mistakes := e.compileSource(source)
	if len(mistakes) > 0 {
		p = &program{mistakes: mistakes}
	}

	e.programs[source] = p

	return p
}

// compileSource of an expression. Each mistake points into it.
func (e *Environment) compileSource(source string) (*program, []string) {
	parsed, issues := parse(e.cel, source)
	if errs := issues.Errors(); len(errs) > 0 {
		return nil, e.explain(source, errs[:1]) // Further errors of the parser follow from the first.
	}

	selections, err := selectionsIn(parsed.NativeRep())
	if err != nil {
		return nil, []string{err.Error()}
	}

	for _, s := range selections {
		if s.path[0] == rootLocals && len(s.path) > 1 {
			e.compileLocal(s.path[1])
		}
	}

	u, misused := e.usesOf(source, selections)
	compiled, mistakes := e.check(source, parsed)

	switch {
	case len(mistakes) > 0:
		return nil, mistakes
	case len(misused) > 0:
		return nil, misused
	}

	for _, name := range slices.Sorted(maps.Keys(u.named[rootLocals])) {
		if local := e.declared.Locals.compiled[name]; local != nil {
			u.join(local.uses, true)
		}
	}

	p, err := e.cel.Program(compiled, cel.CustomDecorator(limited(e.cel)),
		cel.OptimizeRegex(interpreter.MatchesRegexOptimization))
	if err != nil {
		return nil, []string{err.Error()}
	}

	return &program{
		source:     source,
		cel:        p,
		ast:        compiled.NativeRep(),
		schema:     e.schemaOf(compiled),
		uses:       u,
		selections: selections,
		known:      e.known,
		defaulted:  e.defaulted(selections),
	}, nil
}

// schemaOf the value of an expression. CEL gives what is at a computed key the type of its default.
func (e *Environment) schemaOf(compiled *cel.Ast) map[string]any {
	asked := ast.MatchDescendants(ast.NavigateAST(compiled.NativeRep()), ast.FunctionMatcher(operators.OptIndex))
	if slices.ContainsFunc(asked, func(x ast.NavigableExpr) bool {
		return e.types.schemaOf(x.Children()[0].Type()) == nil
	}) {
		return nil
	}

	return e.types.schemaOf(compiled.OutputType())
}

// check the types of an expression. With schemas CEL refuses more than is a mistake: an object of a schema can be used
// as a map all the same, and values of different types may take the place of each other. So what it refuses is checked
// without schemas.
func (e *Environment) check(source string, parsed *cel.Ast) (*cel.Ast, []string) {
	count(parsed.NativeRep())
	compiled, issues := e.cel.Check(parsed)
	errs := issues.Errors()

	mistakes := slices.DeleteFunc(slices.Clone(errs), func(err *common.Error) bool { return !isMistake(err) })
	if len(mistakes) > 0 || len(errs) == 0 {
		return compiled, e.explain(source, mistakes)
	}

	compiled, issues = loose().Check(parsed)

	return compiled, e.explain(source, issues.Errors())
}

// parse an expression. A name that is written in brackets is one after a dot: CEL checks no other.
func parse(env *cel.Env, source string) (*cel.Ast, *cel.Issues) {
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

	return parsed, nil
}
