package validate

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// FuzzFiles checks that the mistakes in any file have lines of the file.
func FuzzFiles(f *testing.F) {
	seeds, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("there are no seeds: %v", err)
	}

	for _, path := range seeds {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}

		f.Add(b)
	}

	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("apiVersion: ansible.fn.crossplane.io/v1alpha1\nkind: AnsibleRuns\nruns: [&a {name: a, vars: {<<: *a, x: '${'}}]\n"))
	f.Add([]byte("? [a]\n: b\n"))

	f.Fuzz(func(t *testing.T, content []byte) {
		result := Files(File{Name: "f", Content: content})
		lines := bytes.Count(content, []byte("\n")) + bytes.Count(content, []byte("\r")) + 2

		for _, m := range result.Mistakes {
			if m.Line < 0 || m.Line > lines || m.Message == "" {
				t.Errorf("line %d of %d: %s", m.Line, lines, m)
			}
		}
	})
}
