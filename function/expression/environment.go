package expression

import (
	"maps"
	"slices"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/crossplane/function-sdk-go/errors"
)

// Names of the roots of expressions.
const (
	rootXR          = "xr"
	rootRuns        = "runs"
	rootRequired    = "required"
	rootResources   = "resources"
	rootEach        = "each"
	rootEnvironment = "environment"
	rootContext     = "context"
	rootLocals      = "locals"
)

// roots of expressions, those of which only members can be used first.
var roots = [...]string{rootRuns, rootRequired, rootResources, rootXR, rootEach, rootEnvironment, rootContext, rootLocals} //nolint:gochecknoglobals // Go has no constant arrays.

// Declarations are what an Environment's expressions see.
type Declarations struct {
	// Runs by name: true for those that are made by forEach, which are maps by
	// key.
	Runs map[string]bool
	// Required resources by name: true for those that are selected by labels,
	// which are lists.
	Required map[string]bool
	// Resources that other steps compose, with their OpenAPI v3 schemas as far as
	// they are known; nil when there may be any.
	Resources map[string]map[string]any
	// Each is true where each.key and each.value are there.
	Each bool
	// Item is what is known of each.value; nil for nothing.
	Item *Item
	// Details is true where runs have their connection details.
	Details bool
	// Operation is true where there is neither an XR nor anything observed of runs.
	Operation bool
	// Locals that expressions see; nil for none. Those of which nothing is compiled
	// yet may be anything.
	Locals *Locals
	// Schema of the XR, if it is known.
	Schema *Schema
	// Run is the OpenAPI v3 schema of an AnsibleRun; without it, fields of runs
	// may be anything.
	Run map[string]any
}

// Names of types.
const (
	prefix  = "ansible."
	nameRun = "Run"
)

// An Environment compiles expressions, those that are equal once. Its roots are
// closed: a field of xr, of each or of a run, a run, or a required resource that
// does not exist is an error. The environment and the context are maps of
// anything. It is not safe for concurrent use, unlike what it compiles.
type Environment struct {
	cel *cel.Env
	// loose is the same without schemas.
	loose func() (*cel.Env, error)
	// programs that were compiled, by their sources.
	programs map[string]outcome
	// meter of the functions.
	meter interpreter.InterpretableDecorator
	// roots that are objects, by name. In them a run is only named.
	roots map[string]*apiservercel.DeclType
	run   *apiservercel.DeclType
	// locals are those that are declared.
	locals *Locals
	// named is true while they are compiled.
	named bool
	// shape of the XR.
	shape *shape
	// operation is true where there is no XR.
	operation bool
	// patterns is the size of the regular expressions that are written in what
	// was compiled.
	patterns uint64
}

// base is the CEL environment that all others extend, with the meter of its
// functions.
var base = sync.OnceValues(func() (metered, error) { //nolint:gochecknoglobals // It is a constant that takes long to make.
	env, err := cel.NewEnv(libraries()...)
	if err != nil {
		return metered{}, errors.Wrap(err, "cannot make a CEL environment")
	}

	m, err := meter(env)

	return metered{Env: env, meter: m}, errors.Wrap(err, "cannot meter the functions of expressions")
})

// metered CEL environments know what their functions cost.
type metered struct {
	*cel.Env

	meter interpreter.InterpretableDecorator
}

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

	e := &Environment{locals: d.Locals, roots: d.roots(), run: d.runType(), meter: b.meter, operation: d.Operation, programs: map[string]outcome{}}

	untyped := d
	untyped.Schema, untyped.Run, untyped.Item, untyped.Resources, untyped.Locals = nil, nil, nil, nil, &Locals{declared: d.Locals.loose}
	e.loose = sync.OnceValues(func() (*cel.Env, error) { return extend(b.Env, untyped.roots(), untyped.runType()) })

	if d.Schema != nil {
		e.shape = d.Schema.shape
	}

	e.cel, err = extend(b.Env, e.roots, e.run)

	return e, err
}

// Runs that the expressions refer to that were compiled so far, by name.
func (e *Environment) Runs() map[string]bool {
	runs := map[string]bool{}

	for _, out := range e.programs {
		if out.program != nil {
			maps.Copy(runs, out.program.uses.runs)
		}
	}

	return runs
}

// extend a CEL environment by roots that are objects, and by those that are
// maps. The type of runs comes last, for it replaces their name.
func extend(base *cel.Env, roots map[string]*apiservercel.DeclType, run *apiservercel.DeclType) (*cel.Env, error) {
	declared := append(slices.Collect(maps.Values(roots)), run)

	types, err := apiservercel.NewDeclTypeProvider(declared...).EnvOptions(base.CELTypeProvider())
	if err != nil {
		return nil, errors.Wrap(err, "cannot declare the types of expressions")
	}

	options := append(types, //nolint:gocritic // They are one list.
		cel.Variable(rootEnvironment, cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable(rootContext, cel.MapType(cel.StringType, cel.DynType)),
	)

	for name, t := range roots {
		options = append(options, cel.Variable(name, t.CelType()))
	}

	// What other steps compose may be anything, unless that is known.
	if roots[rootXR] != nil && roots[rootResources] == nil {
		options = append(options, cel.Variable(rootResources, cel.MapType(cel.StringType, cel.DynType)))
	}

	env, err := base.Extend(options...)

	return env, errors.Wrap(err, "cannot declare the roots of expressions")
}

// roots that are objects, by name, with anything in the XR.
func (d Declarations) roots() map[string]*apiservercel.DeclType {
	xr := objectType("XR", apiservercel.DynType, "metadata", "spec", "status")
	xr.Fields["apiVersion"] = declare("apiVersion", apiservercel.StringType)
	xr.Fields["kind"] = declare("kind", apiservercel.StringType)

	if d.Schema != nil {
		xr = d.Schema.declared
	}

	// All fields of each of many runs would take long to declare.
	run := objectType(nameRun, apiservercel.DynType)

	roots := map[string]*apiservercel.DeclType{
		rootXR:       xr,
		rootRuns:     collection("Runs", run, apiservercel.NewMapType(apiservercel.StringType, run, -1), d.Runs),
		rootRequired: collection("Required", apiservercel.DynType, apiservercel.NewListType(apiservercel.DynType, -1), d.Required),
		rootLocals:   d.Locals.declared,
	}

	if d.Each {
		each := objectType("Each", apiservercel.DynType, "value")
		each.Fields["key"] = declare("key", apiservercel.StringType)
		if d.Item != nil {
			each.Fields["value"] = declare("value", d.Item.declared)
		}

		roots[rootEach] = each
	}

	if d.Resources != nil {
		resources := objectType("Resources", apiservercel.DynType)
		for name, schema := range d.Resources {
			resource := declaredResource(resources.TypeName()+"."+name, schema)
			if d.Details && resource.IsObject() {
				resource.Fields["connectionDetails"] = declareDetails()
			}

			resources.Fields[name] = declare(name, resource)
		}

		roots[rootResources] = resources
	}

	if d.Operation {
		delete(roots, rootXR)
		delete(roots, rootRuns)
		delete(roots, rootResources)
	}

	return roots
}

// runType declares a run by the schema of an AnsibleRun, if that is known.
func (d Declarations) runType() *apiservercel.DeclType {
	reported := []string{"outputs", "lastRun", "lastApply", "drift", "content"}

	run := objectType(nameRun, apiservercel.DynType, append(reported, "metadata", "spec", "status")...)
	run.Fields["ready"] = declare("ready", apiservercel.BoolType)

	if d.Details {
		run.Fields["connectionDetails"] = declareDetails()
	}

	if d.Run == nil {
		return run
	}

	run.Fields["metadata"] = declare("metadata", metadata())

	for _, f := range []string{"spec", "status"} {
		run.Fields[f] = declare(f, declaredType(prefix+nameRun+"."+f, below(d.Run, f)))
	}

	for _, f := range reported {
		run.Fields[f] = declare(f, declaredType(prefix+nameRun+"."+f, below(below(below(d.Run, "status"), "atProvider"), f)))
	}

	return run
}

// collection declares a root with these names, of one type or, where true, of
// another one.
func collection(name string, one, many *apiservercel.DeclType, names map[string]bool) *apiservercel.DeclType {
	t := objectType(name, one)

	for n, isMany := range names {
		t.Fields[n] = declare(n, one)
		if isMany {
			t.Fields[n] = declare(n, many)
		}
	}

	return t
}

func declare(name string, t *apiservercel.DeclType) *apiservercel.DeclField {
	return apiservercel.NewDeclField(name, t, true, nil, nil)
}

func declareDetails() *apiservercel.DeclField {
	return declare("connectionDetails", apiservercel.NewMapType(apiservercel.StringType, apiservercel.StringType, -1))
}

// objectType declares an object with fields of one type.
func objectType(name string, t *apiservercel.DeclType, fields ...string) *apiservercel.DeclType {
	decls := make(map[string]*apiservercel.DeclField, len(fields))
	for _, f := range fields {
		decls[f] = declare(f, t)
	}

	return apiservercel.NewObjectType(prefix+name, decls)
}

// libraries are those that Kubernetes has in its own expressions, apart from
// the one that asks its authorizer, with more of CEL's own, and those of this
// package. Unlike in Kubernetes, the values of a map literal
// may be of different types, for variables often are.
func libraries() []cel.EnvOption {
	return append(own(),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.OptionalTypes(),
		cel.ASTValidators(
			cel.ValidateDurationLiterals(),
			cel.ValidateTimestampLiterals(),
		),
		ext.Strings(ext.StringsVersion(2)),
		ext.Sets(),
		ext.Lists(ext.ListsVersion(3)),
		ext.TwoVarComprehensions(),
		ext.Math(ext.MathVersion(2)),
		ext.Encoders(),
		library.URLs(),
		library.Regex(),
		library.Lists(),
		library.Quantity(),
		library.IP(),
		library.CIDR(),
		library.Format(),
		library.SemverLib(library.SemverVersion(1)),
	)
}
