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

// An Environment compiles expressions, and caches the programs. An undeclared run, required resource or local is an
// error, and so is an undeclared field of xr, each or a run. The roots environment and context have any fields.
// An Environment is not safe for concurrent use, but its Templates are.
type Environment struct {
	declared Declarations

	cel *cel.Env
	// known has the schemas of roots by name, and types the CEL types of their objects.
	known map[string]map[string]any
	types provider
	// programs has the compiled programs by source.
	programs map[string]*program
}

// base is the CEL environment with all functions, which other environments extend.
var base = sync.OnceValue(func() *cel.Env { //nolint:gochecknoglobals // It is a constant that is slow to create.
	return must(cel.NewEnv(libraryOptions()...))
})

// loose is the CEL environment in which roots have any type.
var loose = sync.OnceValue(func() *cel.Env { //nolint:gochecknoglobals // It is a constant that is slow to create.
	var variables []cel.EnvOption
	for name := range roots {
		variables = append(variables, cel.Variable(name, cel.DynType))
	}

	return must(base().Extend(variables...))
})

// must panics on an error, which input cannot cause: the names of roots and functions are constants.
func must(env *cel.Env, err error) *cel.Env {
	if err != nil {
		panic(err)
	}

	return env
}

// NewEnvironment returns an Environment with the declared variables. It always has the roots environment and context.
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
		if name == rootEach && !d.Each || d.Operation && missingInOperation[name] != "" {
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

// compile returns the cached program of an expression, or compiles it.
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

// compileSource compiles an expression. Each mistake shows its position.
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

// schemaOf returns the schema of the value of an expression; nil if any value is possible. It does not use CEL's type
// after an optional index of an operand without a schema: CEL assumes the type of the default.
func (e *Environment) schemaOf(compiled *cel.Ast) map[string]any {
	asked := ast.MatchDescendants(ast.NavigateAST(compiled.NativeRep()), ast.FunctionMatcher(operators.OptIndex))
	if slices.ContainsFunc(asked, func(x ast.NavigableExpr) bool {
		return e.types.schemaOf(x.Children()[0].Type()) == nil
	}) {
		return nil
	}

	return e.types.schemaOf(compiled.OutputType())
}

// check checks the types of an expression. With schemas, CEL also rejects valid expressions: for example, an object
// cannot be used as a map, and alternatives must have the same type. Such an expression is checked without schemas.
func (e *Environment) check(source string, parsed *cel.Ast) (*cel.Ast, []string) {
	wrapKeysAndRanges(parsed.NativeRep())
	compiled, issues := e.cel.Check(parsed)
	errs := issues.Errors()

	mistakes := slices.DeleteFunc(slices.Clone(errs), func(err *common.Error) bool { return !isMistake(err) })
	if len(mistakes) > 0 || len(errs) == 0 {
		return compiled, e.explain(source, mistakes)
	}

	compiled, issues = loose().Check(parsed)

	return compiled, e.explain(source, issues.Errors())
}

// parse parses an expression. It replaces a["b"] by a.b, since CEL checks only names after a dot.
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
