package scaffold

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/validate"
)

// A file is a file to write.
type file struct {
	name    string
	content *mapping
}

// documentsOf returns files as YAML. It returns an error if package validate finds a mistake in them.
func documentsOf(files []file) ([]validate.File, error) {
	var out []validate.File

	for _, f := range files {
		out = append(out, validate.File{Name: f.name, Content: []byte(textOf(f.content))})
	}

	result := validate.Files(out...)
	if len(result.Mistakes) == 0 {
		return out, nil
	}

	lines := make([]string, len(result.Mistakes))
	for i, m := range result.Mistakes {
		lines[i] = m.String()
	}

	return nil, errors.Errorf("what would be written has mistakes:\n%s", strings.Join(lines, "\n"))
}

// objectOf returns an object of a kind.
func objectOf(apiVersion, kind, name string, spec *mapping, comments ...string) *mapping {
	return newMapping().
		set("apiVersion", apiVersion, comments...).
		set("kind", kind).
		set("metadata", newMapping().set("name", name)).
		set("spec", spec)
}

// definitionOf returns an XRD.
func definitionOf(name string, spec *mapping, comment string) *mapping {
	return objectOf("apiextensions.crossplane.io/v2", "CompositeResourceDefinition", name, spec, comment)
}

// compositionOf returns a Composition for a kind, with an input for its only step.
func compositionOf(name string, of schema.GroupVersionKind, in *mapping, comments ...string) *mapping {
	spec := newMapping().
		set("compositeTypeRef", newMapping().set("apiVersion", of.GroupVersion().String()).set("kind", of.Kind))

	return objectOf("apiextensions.crossplane.io/v1", "Composition", name, pipelineOf(spec, in), comments...)
}

// pipelineOf adds a pipeline of one step with an input to the spec of a Composition or an Operation.
func pipelineOf(spec, in *mapping) *mapping {
	return spec.
		set("mode", "Pipeline").
		set("pipeline", []*mapping{newMapping().
			set("step", "ansible").
			set("functionRef", newMapping().set("name", "function-ansible")).
			set("input", in)})
}

// inputOf returns an input of the function with one run.
func inputOf(run *mapping, comments ...string) *mapping {
	return newMapping().
		set("apiVersion", v1alpha1.APIVersion).
		set("kind", v1alpha1.KindAnsibleRuns).
		set("runs", []*mapping{run}, comments...)
}

// statusColumn returns the printer column with the reason of AnsibleRunsReady.
func statusColumn() *mapping {
	return newMapping().
		set("name", "Status").
		set("type", "string").
		set("jsonPath", `.status.conditions[?(@.type=="AnsibleRunsReady")].reason`)
}

// refer sets the reference of a run to its configuration.
func refer(run *mapping, cluster bool, name string) {
	run.set("providerConfigRef", newMapping().set("kind", configKind(cluster)).set("name", name))
}

// configOf returns the configuration for runs: a cluster-scoped ProviderConfig, or a ClusterProviderConfig for
// namespaced runs.
func configOf(cluster bool, name string, spec *mapping, comments ...string) *mapping {
	group := common.GroupNamespaced
	if cluster {
		group = common.GroupCluster
	}

	return objectOf(group+"/"+common.Version, configKind(cluster), name, spec, comments...)
}

func configKind(cluster bool) string {
	if cluster {
		return "ProviderConfig"
	}

	return "ClusterProviderConfig"
}

// Fields of a run with its content.
const (
	fieldRole     = "role"
	fieldPlaybook = "playbook"
)

// A part is a role or a playbook.
type part struct {
	// field is the field of a run for it, and name its full name.
	field, name string
	// tasks is the entry point of a role; empty for the main one.
	tasks string
	// dir is its directory in the project; empty for a role from the requirements.
	dir string
}

// set sets the content of a run, or of onDelete, with variables.
func (p part) set(in *mapping, vars map[string]any, comments ...string) {
	play := newMapping()

	switch {
	case len(vars) == 0 && p.tasks == "":
		in.set(p.field, p.name, comments...)
		return
	case p.field == fieldRole:
		task := newMapping().
			set("ansible.builtin.include_role", newMapping().set("name", p.name).some("tasks_from", p.tasks)).
			some("vars", vars)
		play.set("hosts", "localhost").set("tasks", []*mapping{task})
	default:
		play.set("ansible.builtin.import_playbook", p.name).set("vars", vars)
	}

	in.set("playbookInline", textOf([]*mapping{play}), comments...)
}

// setState sets the state variable of a run.
func setState(run *mapping, name string, present, absent any, comment string) {
	run.set("stateVariable", newMapping().set("name", name).set("present", present).set("absent", absent), comment)
}

// keep sets onDelete of a run to Keep.
func keep(run *mapping, comment string) {
	run.set("onDelete", newMapping().set("policy", "Keep"), comment)
}
