package compile

import (
	"regexp"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/package-provider/crds"
)

// When an AnsibleRun is validated ahead, stand-ins take the place of computed values. A rule that looked at one would
// judge the stand-in.
func TestRulesOfComputed(t *testing.T) {
	looks := regexp.MustCompile(`self(\.\w+)*\.(vars|unsafeVars|name|inventoryInline)\b`)

	for _, crd := range [][]byte{crds.AnsibleRuns, crds.ClusterAnsibleRuns} {
		rules := regexp.MustCompile(`(?m)^ *(?:- )?rule: (.*(?:\n +[^-:]*$)*)`).FindAllSubmatch(crd, -1)
		if len(rules) == 0 {
			t.Fatal("there should be rules")
		}

		for _, m := range rules {
			// Whether there is an inventory is known.
			rule := regexp.MustCompile(`has\(self\.inventoryInline\)`).ReplaceAll(m[1], nil)
			if looks.Match(rule) {
				t.Errorf("this rule looks at what may be computed: %s", rule)
			}
		}
	}
}
