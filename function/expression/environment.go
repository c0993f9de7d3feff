package expression

import (
	"sync"

	"github.com/google/cel-go/cel"

	"github.com/crossplane/function-sdk-go/errors"
)

// An Environment compiles expressions, those that are equal once. Its roots are
// closed: a field of xr, of each or of a run, a run, or a required resource that
// does not exist is an error. The environment and the context are maps of
// anything. It is not safe for concurrent use, unlike what it compiles.
type Environment struct {
	explainer

	cel *cel.Env
	// loose is the same without schemas.
	loose func() (*cel.Env, error)
	// programs that were compiled, by their sources.
	programs map[string]outcome
	// declared locals.
	locals *Locals
	// schema of the XR.
	schema *Schema
}

// An outcome of compiling an expression: a program, or what is wrong with it.
type outcome struct {
	program  *program
	mistakes []string
}

// base is what all environments extend.
var base = sync.OnceValues(func() (*cel.Env, error) { //nolint:gochecknoglobals // It is a constant that takes long to make.
	env, err := cel.NewEnv(libraryOptions()...)

	return env, errors.Wrap(err, "cannot make a CEL environment")
})

// NewEnvironment returns an Environment of expressions that see these, and
// always the environment and the context.
func NewEnvironment(d Declarations) (*Environment, error) {
	b, err := base()
	if err != nil {
		return nil, err
	}

	if d.Locals == nil {
		d.Locals = NewLocals(nil)
	}

	e := &Environment{
		explainer: explainer{rootTypes: d.types(), operation: d.Operation},
		programs:  map[string]outcome{},
		locals:    d.Locals,
		schema:    d.Schema,
	}

	untyped := d
	untyped.Schema, untyped.Run, untyped.Item, untyped.Resources, untyped.Locals = nil, nil, nil, nil, &Locals{
		declared: d.Locals.loose,
	}
	e.loose = sync.OnceValues(func() (*cel.Env, error) { return extend(b, untyped.types()) })

	e.cel, err = extend(b, e.rootTypes)

	return e, err
}

// extend a CEL environment by roots that are objects, and by those that are
// maps.
func extend(base *cel.Env, t rootTypes) (*cel.Env, error) {
	types, err := t.provider.EnvOptions(base.CELTypeProvider())
	if err != nil {
		return nil, errors.Wrap(err, "cannot declare the types of expressions")
	}

	options := append(types, //nolint:gocritic // They are one list.
		cel.Variable(rootEnvironment, cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable(rootContext, cel.MapType(cel.StringType, cel.DynType)),
	)

	for name, root := range t.roots {
		options = append(options, cel.Variable(name, root.CelType()))
	}

	// What other steps compose may be anything, unless that is known.
	if t.roots[rootXR] != nil && t.roots[rootResources] == nil {
		options = append(options, cel.Variable(rootResources, cel.MapType(cel.StringType, cel.DynType)))
	}

	env, err := base.Extend(options...)

	return env, errors.Wrap(err, "cannot declare the roots of expressions")
}

// Runs that the expressions refer to that were compiled so far, by name.
func (e *Environment) Runs() map[string]bool {
	runs := map[string]bool{}

	for _, out := range e.programs {
		if out.program != nil {
			for name := range out.program.uses.names[rootRuns] { // Some of them they can do without.
				runs[name] = true
			}
		}
	}

	return runs
}
