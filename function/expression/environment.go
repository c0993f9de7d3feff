package expression

import (
	"sync"

	"github.com/google/cel-go/cel"
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
