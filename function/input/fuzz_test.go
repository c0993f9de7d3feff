package input

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
)

// Whatever is written as an input, reading it ends with an input or with
// mistakes, the same each time.
func FuzzRead(f *testing.F) {
	const head = `"apiVersion": "ansible.fn.crossplane.io/v1alpha1", "kind": "AnsibleRuns"`

	for _, s := range []string{
		`{}`, `{` + head + `}`, `{` + head + `, "runs": [{"name": "a", "role": "a.b.c", "vars": {"x": "${xr.spec.x}", "n": 9007199254740994}}]}`,
		`{` + head + `, "runs": [5, {"name": 5, "vars": [], "when": {}}], "defaults": 1, "status": null}`,
		`{` + head + `, "runs": [{"name": "a", "role": "$${x}", "limit": "${x}", "forks": 1e300, "timeout": "x", "varFiles": [{"source": "SecretKey"}]}]}`,
		`{` + head + `, "runs": [{"name": "a", "forEach": "${x}", "varsFrom": [{}], "inventories": [{"yaml": {"all": null}}], "roles": [{"name": {"x": []}}]}], "unknown": {}}`,
		`{` + head + `, "requiredResources": {"a": {"matchLabels": {"x": "${xr.spec.x}"}}}, "connectionDetails": [{"name": 1}]}`,
	} {
		f.Add(s)
	}

	r, err := NewReader()
	if err != nil {
		f.Fatal(err)
	}

	f.Fuzz(func(t *testing.T, text string) {
		read := func() (map[string]any, []string) {
			s := &structpb.Struct{}
			if err := protojson.Unmarshal([]byte(text), s); err != nil {
				t.Skip(err)
			}

			in, errs := r.Read(s)
			messages := make([]string, len(errs))

			for i := range errs {
				messages[i] = errs[i].Error()
			}

			return in, messages
		}

		in, errs := read()
		again, errsAgain := read()

		if in == nil && len(errs) == 0 {
			t.Errorf("Read(%s): want an input or a mistake", text)
		}

		if diff := cmp.Diff([]any{in, errs}, []any{again, errsAgain}); diff != "" {
			t.Errorf("Read(%s): -once, +again:\n%s", text, diff)
		}
	})
}
