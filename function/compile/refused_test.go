package compile

import (
	"regexp"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/package-provider/crds"
)

// When an AnsibleRun is validated ahead, stand-ins take the place of computed values. A rule that looked at one would
// judge the stand-in.
func TestRulesOfComputed(t *testing.T) {
	looks := regexp.MustCompile(`\b[a-z]\w*\.(vars|unsafeVars|name|value|inventoryInline|playbooks?|version|path)\b`)

	// What follows is no such rule, or is true of the stand-in; then the value is checked when there is one.
	known := regexp.MustCompile(strings.Join([]string{
		`has\([\w.]+\)`,              // Whether there is a value is known.
		`e\.name\.matches\(`,         // A variable of the environment has a literal name.
		`self\.path\.(matches|ends)`, // The directory of a project is literal.
		`self\.onDelete\.playbook`,   // So is the content of onDelete.
		`self\.playbooks?\.(matches\(|exists\(p, p\.matches\()'\[\.\]ya\?ml\$'`, // compiler.text.
	}, "|"))

	for _, crd := range [][]byte{crds.AnsibleRuns, crds.ClusterAnsibleRuns} {
		rules := regexp.MustCompile(`(?m)^ *(?:- )?rule: (.*(?:\n +[^-:]*$)*)`).FindAllSubmatch(crd, -1)
		if len(rules) == 0 {
			t.Fatal("there should be rules")
		}

		for _, m := range rules {
			rule := strings.ReplaceAll(strings.Join(strings.Fields(string(m[1])), " "), "''", "'")
			if looks.MatchString(known.ReplaceAllString(rule, "")) {
				t.Errorf("this rule looks at what may be computed: %s", rule)
			}
		}
	}
}
