package expression

import (
	"sync"

	"github.com/google/cel-go/cel"

	"github.com/crossplane/function-sdk-go/errors"
)

// An Environment compiles expressions, those that are equal once. Its roots are closed: a field of xr, of each or of a
// run, a run, or a required resource that does not exist is an error. The environment and the context are maps of
// anything. It is not safe for concurrent use, unlike what it compiles.
type Environment struct {
	declared

	// operation is true where there is no XR, and inLocals while locals are compiled.
	operation, inLocals bool

	cel *cel.Env
	// programs that were compiled, by their sources.
	programs map[string]outcome
	// locals that are declared.
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

// loose is an environment in which roots may be anything.
var loose = sync.OnceValues(func() (*cel.Env, error) { //nolint:gochecknoglobals // It is a constant that takes long to make.
	b, err := base()
	if err != nil {
		return nil, err
	}

	var variables []cel.EnvOption
	for name := range roots {
		variables = append(variables, cel.Variable(name, cel.DynType))
	}

	return b.Extend(variables...)
})

// NewEnvironment returns an Environment of expressions that see these, and always the environment and the context.
func NewEnvironment(d Declarations) (*Environment, error) {
	b, err := base()
	if err != nil {
		return nil, err
	}

	if d.Locals == nil {
		d.Locals = NewLocals(nil)
	}

	e := &Environment{
		declared: d.types(), operation: d.Operation, programs: map[string]outcome{}, locals: d.Locals, schema: d.Schema,
	}

	options := []cel.EnvOption{cel.CustomTypeProvider(provider{Provider: b.CELTypeProvider(), objects: e.objects})}
	for name, t := range e.roots {
		options = append(options, cel.Variable(name, t))
	}

	e.cel, err = b.Extend(options...)

	return e, errors.Wrap(err, "cannot declare the roots of expressions")
}
