package expression

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/ext"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/crossplane/function-sdk-go/errors"
)

// Names of the roots of expressions.
const (
	rootXR   = "xr"
	rootRuns = "runs"
)

// An Environment compiles expressions. Its roots are closed: a field of xr or
// of a run that does not exist, and a run that does not exist, are errors.
type Environment struct {
	cel *cel.Env
}

// NewEnvironment returns an Environment of expressions that see an XR and these
// runs.
func NewEnvironment(runs []string) (*Environment, error) {
	xr := object("XR", apiservercel.DynType, "metadata", "spec", "status")
	xr.Fields["apiVersion"] = apiservercel.NewDeclField("apiVersion", apiservercel.StringType, true, nil, nil)
	xr.Fields["kind"] = apiservercel.NewDeclField("kind", apiservercel.StringType, true, nil, nil)

	run := object("Run", apiservercel.DynType, "outputs", "lastRun", "lastApply", "drift", "content", "metadata", "spec", "status")
	run.Fields["ready"] = apiservercel.NewDeclField("ready", apiservercel.BoolType, true, nil, nil)

	all := object("Runs", run, runs...)

	env, err := cel.NewEnv(libraries()...)
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a CEL environment")
	}

	types, err := apiservercel.NewDeclTypeProvider(xr, all).EnvOptions(env.CELTypeProvider())
	if err != nil {
		return nil, errors.Wrap(err, "cannot declare the types of expressions")
	}

	env, err = env.Extend(append(types, cel.Variable(rootXR, xr.CelType()), cel.Variable(rootRuns, all.CelType()))...)

	return &Environment{cel: env}, errors.Wrap(err, "cannot declare the roots of expressions")
}

func object(name string, t *apiservercel.DeclType, fields ...string) *apiservercel.DeclType {
	decls := make(map[string]*apiservercel.DeclField, len(fields))
	for _, f := range fields {
		decls[f] = apiservercel.NewDeclField(f, t, false, nil, nil)
	}

	return apiservercel.NewObjectType("ansible."+name, decls)
}

// libraries are those that Kubernetes has in its own expressions, apart from
// the one that asks its authorizer. Unlike there, the values of a map literal
// may be of different types, for variables often are.
func libraries() []cel.EnvOption {
	return []cel.EnvOption{
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.OptionalTypes(),
		cel.CostEstimatorOptions(checker.PresenceTestHasCost(false)),
		cel.ASTValidators(
			cel.ValidateDurationLiterals(),
			cel.ValidateTimestampLiterals(),
			cel.ValidateRegexLiterals(),
		),
		ext.Strings(ext.StringsVersion(2)),
		ext.Sets(),
		ext.Lists(ext.ListsVersion(3)),
		ext.TwoVarComprehensions(),
		library.URLs(),
		library.Regex(),
		library.Lists(),
		library.Quantity(),
		library.IP(),
		library.CIDR(),
		library.Format(),
		library.SemverLib(library.SemverVersion(1)),
	}
}
