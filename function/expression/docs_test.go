package expression

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// The examples of docs/expressions.md have the documented values.
func TestDocs(t *testing.T) {
	_, page, _ := strings.Cut(needs.Read(t, "../../docs/expressions.md"), "With this XR\n\n```yaml\n")
	text, page, _ := strings.Cut(page, "```")

	xr := map[string]any{}
	needs.OK(t, yaml.Unmarshal([]byte(text), &xr))

	e := environment(t)
	evaluated := 0

	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "` | `")
		if len(cells) != 2 {
			continue
		}

		first, second := strings.Trim(cells[0], " `"), strings.Trim(cells[1], " `")

		var want any

		source, isValue := first, json.Unmarshal([]byte(second), &want) == nil
		if !isValue {
			// A row of the table from Jinja2 to CEL has an expression in place of a value.
			source = second
		}

		got, problems := evaluateIn(t, e, source, Data{XR: xr})
		if !isValue {
			continue
		}

		evaluated++

		if diff := cmp.Diff(want, got); diff != "" || len(problems) > 0 {
			t.Errorf("Evaluate(%s): %v, -want, +got:\n%s", source, problems, diff)
		}
	}

	if evaluated < 20 {
		t.Errorf("want the examples of the page, got %d", evaluated)
	}
}
