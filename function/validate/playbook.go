package validate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/yamltext"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// fieldPlaybook of runs holds the text of a playbook.
const fieldPlaybook = "playbookInline"

// A flaw of a playbook.
type flaw struct {
	// line of the playbook, from 1.
	line    int
	message string
}

// playbooks returns the mistakes in the inline playbooks of an input: those for which
// Ansible refuses a playbook before it runs any task.
func playbooks(d document, at string, in map[string]any) []Mistake {
	var mistakes []Mistake

	check := func(path *field.Path, object any) {
		o, _ := object.(map[string]any)
		s, _ := o[fieldPlaybook].(string)

		// What is empty the schema reports, and what is encrypted can be anything.
		if s == "" || strings.HasPrefix(s, "$ANSIBLE_VAULT;") {
			return
		}

		path = path.Child(fieldPlaybook)
		whole := strings.TrimPrefix(at+"."+path.String(), ".")

		for _, f := range flaws(s) {
			mistakes = append(mistakes, Mistake{
				File: d.file, Line: lineWithin(d.node, whole, f.line), Path: path.String(),
				Message: f.message,
			})
		}
	}

	both := func(path *field.Path, run any) {
		check(path, run)

		r, _ := run.(map[string]any)
		check(path.Child("onDelete"), r["onDelete"])
	}

	both(field.NewPath("defaults"), in["defaults"])

	runs, _ := in["runs"].([]any)
	for i := range runs {
		both(field.NewPath("runs").Index(i), runs[i])
	}

	return mistakes
}

// reaches is what an inline playbook has if it runs content that is elsewhere.
func reaches(playbook string) bool {
	return regexp.MustCompile(`\b(roles?|(import|include)_\w+)\b|\$ANSIBLE_VAULT;`).MatchString(playbook)
}

// ignorant returns warnings about runs with an inline playbook that is the whole content and does not look at the
// state: their deletion runs nothing, and does not say so.
func ignorant(d document, at string, in map[string]any) []Mistake {
	var warnings []Mistake

	runs, _ := input.Runs(in)
	for _, r := range runs {
		run := r.Object

		playbook, _ := run[fieldPlaybook].(string)
		if playbook == "" || reaches(playbook) || run["onDelete"] != nil || leaves(run) {
			continue
		}

		var state *common.StateVariable

		words := []string{common.ProviderVariable}
		if name, _ := manifest.Nested(run, "stateVariable", "name").(string); name != "" {
			state = &common.StateVariable{Name: name}
			words = append(words, name)
		}

		// Variables may be made of the state, or of what an XR says.
		texts, _ := json.Marshal([]any{run["vars"], run["unsafeVars"]}) //nolint:errchkjson // It was read from YAML.
		if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(playbook+string(texts), w) }) {
			continue
		}

		warnings = append(warnings, Mistake{
			File: d.file, Line: line(d.node, strings.TrimPrefix(at+"."+r.Path.String(), ".")), Path: r.Path.String(),
			Message: fmt.Sprintf("warning: %s: %s, so that deletion runs nothing, and what was made stays: have them look "+
				"at the state, or say in onDelete what deletion does", r.Name, common.IgnoresState(state)),
		})
	}

	return warnings
}

// leaves is true for a run if its target stays, or may stay, when its AnsibleRun is deleted.
func leaves(run map[string]any) bool {
	policies, literal := run["managementPolicies"].([]any)
	deletes := run["managementPolicies"] == nil ||
		literal && (slices.Contains(policies, any("*")) || slices.Contains(policies, any("Delete")))

	return !deletes
}

// lineWithin is the line of a file where a line is of the text at a path. Only a
// literal block has the lines of its text.
func lineWithin(root *yamlv3.Node, path string, line int) int {
	n, at, _ := find(root, root.Line, path)
	if n.Kind == yamlv3.ScalarNode && n.Style&yamlv3.LiteralStyle != 0 {
		return n.Line + line
	}

	return at
}

// flaws of a playbook, in the words of Ansible where it has any.
func flaws(playbook string) []flaw {
	root, err := yamltext.Parse(playbook)
	if err != nil && json.Valid([]byte(playbook)) {
		// Ansible reads JSON before it reads YAML.
		return nil
	}

	if err != nil {
		message := regexp.MustCompile(`^(yaml: )?(line \d+: )?`).ReplaceAllString(
			strings.Join(strings.Fields(err.Error()), " "), "")
		return []flaw{{line: cmp.Or(lineOf(err), 1), message: "the playbook is not YAML: " + message}}
	}

	if root == nil {
		root = &yamlv3.Node{Line: 1}
	}

	if root.Kind != yamlv3.SequenceNode {
		return []flaw{{line: root.Line, message: "a playbook must be a list of plays"}}
	}

	if len(root.Content) == 0 {
		return []flaw{{line: root.Line, message: "a playbook must contain at least one play"}}
	}

	var all []flaw

	for i, play := range root.Content {
		all = append(all, flawsOfPlay("play "+strconv.Itoa(i+1), play)...)
	}

	return all
}

func flawsOfPlay(name string, play *yamlv3.Node) []flaw {
	line := play.Line
	if play.Kind == yamlv3.AliasNode {
		play = play.Alias
	}

	if play.Kind != yamlv3.MappingNode {
		return []flaw{{line: line, message: name + " must be a map with hosts or import_playbook"}}
	}

	var (
		all    []flaw
		target bool
	)

	for i := 0; i+1 < len(play.Content); i += 2 {
		key, value := play.Content[i], play.Content[i+1]

		switch key.Value {
		case "import_playbook", "ansible.builtin.import_playbook", "ansible.legacy.import_playbook", "<<":
			// Of what is merged nothing is known.
			return nil
		case "hosts":
			target = true

			if value.ShortTag() == "!!null" || value.Kind == yamlv3.SequenceNode && len(value.Content) == 0 ||
				value.Kind == yamlv3.ScalarNode && value.Value == "" {
				all = append(all, flaw{line: key.Line, message: name + ": hosts must not be empty"})
			}
		case "tasks", "pre_tasks", "post_tasks", "handlers", "roles":
			if !slices.Contains([]yamlv3.Kind{yamlv3.SequenceNode, yamlv3.AliasNode}, value.Kind) &&
				value.ShortTag() != "!!null" {
				all = append(all, flaw{line: key.Line, message: name + ": " + key.Value + " must be a list"})
			}
		}
	}

	if !target {
		all = append(all, flaw{line: line, message: name + " has neither hosts nor import_playbook"})
	}

	return all
}
