package validate

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/yamltext"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// fieldPlaybook is the field of a run with the text of a playbook.
const fieldPlaybook = "playbookInline"

// playbooks returns the mistakes in the inline playbooks of an input.
func playbooks(d document, in step) []Mistake {
	var mistakes []Mistake

	check := func(path *field.Path, object map[string]any) {
		// The schema reports an empty text. An encrypted text cannot be checked.
		text := manifest.Text(object, fieldPlaybook)
		if text == "" || strings.HasPrefix(text, "$ANSIBLE_VAULT;") {
			return
		}

		if message := flaw(text); message != "" {
			mistakes = append(mistakes, d.mistake(in.path, path.Child(fieldPlaybook).String(), message))
		}
	}

	defaults, _ := in.input["defaults"].(map[string]any)
	runs, _ := input.Runs(in.input)

	for _, r := range append(runs, input.Run{Path: field.NewPath("defaults"), Own: defaults}) {
		check(r.Path, r.Own)

		onDelete, _ := r.Own["onDelete"].(map[string]any)
		check(r.Path.Child("onDelete"), onDelete)
	}

	return mistakes
}

// runsOther is true for an inline playbook that runs other content, or may: it imports or includes roles, tasks or
// playbooks, or is encrypted.
func runsOther(playbook string) bool {
	return regexp.MustCompile(`\b(roles?|(import|include)_\w+)\b|\$ANSIBLE_VAULT;`).MatchString(playbook)
}

// ignoringState returns warnings about runs with an inline playbook that is the whole content and does not use the
// state variable: their deletion removes nothing.
func ignoringState(d document, in step) []Mistake {
	var warnings []Mistake

	runs, _ := input.Runs(in.input)
	for _, r := range runs {
		run := r.Object

		playbook := manifest.Text(run, fieldPlaybook)
		_, computed := run["managementPolicies"].(string)

		if playbook == "" || runsOther(playbook) || run["onDelete"] != nil || computed ||
			!ansiblerun.DeletesContent(map[string]any{"spec": run}) {
			continue
		}

		var state *common.StateVariable

		words := []string{common.ProviderVariable}
		if name := manifest.NestedText(run, "stateVariable", "name"); name != "" {
			state = &common.StateVariable{Name: name}
			words = append(words, name)
		}

		// Values of variables may use the state, too.
		texts, _ := json.Marshal([]any{run["vars"], run["unsafeVars"]}) //nolint:errchkjson // It was read from YAML.
		if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(playbook+string(texts), w) }) {
			continue
		}

		warnings = append(warnings, d.mistake(in.path, r.Path.String(), "warning: "+r.Name+": "+common.IgnoresState(state)+
			", so that deletion runs nothing, and what was made stays: have them look at the state, or say in onDelete what "+
			"deletion does"))
	}

	return warnings
}

// flaw returns why a playbook is not a list of plays; empty if it is one.
func flaw(playbook string) string {
	root, err := yamltext.Parse(playbook)

	switch {
	case err != nil && json.Valid([]byte(playbook)):
		return "" // Ansible reads JSON before it reads YAML.
	case err != nil:
		return "the playbook is not YAML: " + strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " ")
	case root == nil, root.Kind != yamlv3.SequenceNode:
		return "a playbook must be a list of plays"
	case len(root.Content) == 0:
		return "a playbook must contain at least one play"
	}

	return ""
}
