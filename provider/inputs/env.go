package inputs

import (
	"maps"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/provider/environ"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
)

// A Variable of the environment of a play.
type Variable struct {
	// Name of the variable.
	Name string
	// Value of the variable.
	Value string
	// Secret is true for a value that must never be reported, and From says where that comes from.
	Secret bool
	From   redact.Source
	// OfConfig is true for a variable that the configuration sets.
	OfConfig bool
	// Index in the list that has it.
	Index int
}

// WithPlayEnv returns the inputs with variables that plays have, but not ansible-galaxy. Of several with the same
// name the last one counts.
func (in Inputs) WithPlayEnv(vars []Variable) Inputs {
	if len(vars) == 0 {
		return in
	}

	in.PlayEnv, in.InstallEnv = vars, maps.Clone(in.Env)
	if in.InstallEnv == nil {
		in.InstallEnv = map[string]string{}
	}

	in.Env = maps.Clone(in.InstallEnv)
	for _, v := range vars {
		in.Env[v.Name] = v.Value
	}

	return in
}

// ForInstall is the environment of ansible-galaxy.
func (in Inputs) ForInstall() map[string]string {
	if in.InstallEnv != nil {
		return in.InstallEnv
	}

	return in.Env
}

// validatePlayEnv reports variables that are not a play's to set, among those of the run, or of its configuration.
func validatePlayEnv(vars []Variable, ofConfig bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList

	for _, v := range vars {
		if v.OfConfig != ofConfig {
			continue
		}

		if err := environ.ValidatePlay(v.Name, v.Value); err != nil {
			errs = append(errs, field.Invalid(path.Index(v.Index).Child("name"), v.Name, err.Error()))
		}
	}

	return errs
}
