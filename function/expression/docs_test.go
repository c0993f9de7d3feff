package expression

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// The page on expressions says what is true.
func TestDocs(t *testing.T) {
	b, err := os.ReadFile("../../docs/expressions.md")
	if err != nil {
		t.Fatal(err)
	}

	_, page, _ := strings.Cut(string(b), "With this XR\n\n```yaml\n")
	text, page, _ := strings.Cut(page, "```")

	xr := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &xr); err != nil {
		t.Fatal(err)
	}

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
			// What Jinja2 has, CEL has, too.
			source = second
		}

		tmpl, errs := e.Compile(field.NewPath("docs"), "${"+source+"}")
		if len(errs) > 0 {
			t.Errorf("Compile(%s): %v", source, errs)
			continue
		}

		if !isValue {
			continue
		}

		evaluated++

		got, _, problems := tmpl.Evaluate(context.Background(), Data{XR: xr})
		if len(problems) > 0 {
			t.Errorf("Evaluate(%s): %v", source, problems)
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Evaluate(%s): -want, +got:\n%s", source, diff)
		}
	}

	if evaluated < 20 {
		t.Errorf("want the examples of the page, got %d", evaluated)
	}
}
