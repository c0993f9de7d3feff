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

// ForPlay is the environment that the configuration and the run set for the play. Of several variables with the same
// name the last one counts.
func (in Inputs) ForPlay() map[string]string {
	env := maps.Collect(maps.All(in.Env))
	for _, v := range in.PlayEnv {
		env[v.Name] = v.Value
	}

	return env
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
