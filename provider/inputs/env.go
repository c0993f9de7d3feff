package inputs

import (
	"maps"

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
