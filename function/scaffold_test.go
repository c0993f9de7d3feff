package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const siteRole = "scaffold/testdata/acme.web/roles/site"

// What is scaffolded is right, whichever way it is written.
func TestScaffold(t *testing.T) {
	out := &bytes.Buffer{}
	if err := run(t, nil, out, "scaffold", siteRole); err != nil {
		t.Fatal(err)
	}

	dir := filepath.Join(t.TempDir(), "site")
	if err := run(t, nil, &bytes.Buffer{}, "scaffold", siteRole, "-o", dir); err != nil {
		t.Fatal(err)
	}

	var files []byte

	for i, name := range []string{"xrd.yaml", "composition.yaml"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}

		if i > 0 {
			files = append(files, "---\n"...)
		}

		files = append(files, b...)
	}

	if diff := cmp.Diff(string(files), out.String()); diff != "" {
		t.Errorf("files and standard output differ: -files, +output:\n%s", diff)
	}

	got := &bytes.Buffer{}
	if err := run(t, nil, got, "validate", filepath.Join(dir, "xrd.yaml"), filepath.Join(dir, "composition.yaml")); err != nil {
		t.Errorf("validate: %v\n%s", err, got)
	}

	if err := run(t, nil, &bytes.Buffer{}, "scaffold", siteRole, "-o", dir); err == nil {
		t.Error("files that are there should not be overwritten")
	}
}

// What is scaffolded for an operator is right, too.
func TestScaffoldOperator(t *testing.T) {
	const operator = "scaffold/testdata/cache-operator"

	out := &bytes.Buffer{}
	if err := run(t, nil, out, "scaffold", "--operator", operator, "--watches", operator+"/watches.yaml"); err != nil {
		t.Fatal(err)
	}

	dir := filepath.Join(t.TempDir(), "apis")
	if err := run(t, nil, &bytes.Buffer{}, "scaffold", "--operator", operator, "-o", dir); err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"caches/xrd.yaml", "caches/composition.yaml", "caches/providerconfig.yaml", "secrets/watchoperation.yaml"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}

		if !bytes.Contains(out.Bytes(), b) {
			t.Errorf("the standard output lacks what is in %s:\n%s", name, b)
		}
	}

	got := &bytes.Buffer{}
	if err := run(t, nil, got, "validate", dir); err != nil {
		t.Errorf("validate: %v\n%s", err, got)
	}
}

func TestScaffoldUsage(t *testing.T) {
	parser, err := newParser(nil, nil, os.Exit)
	if err != nil {
		t.Fatal(err)
	}

	cases := map[string]struct {
		reason string
		args   []string
		want   string
	}{
		"Role": {
			reason: "A name alone brings no role.",
			args:   []string{"--role", "a.b.c"},
			want:   "give the directory of a role, or --role together with --requirements",
		},
		"OperatorAndRole": {
			reason: "An operator has several kinds, with names of their own.",
			args:   []string{"--operator", ".", "--kind", "Site"},
			want:   "--operator is in place of a role, and says itself what its kinds are called and what it requires",
		},
		"SourceOfRole": {
			reason: "Only an operator has a source.",
			args:   []string{siteRole, "--source", "https://git.example.org/site.git"},
			want:   "--watches and --source are of an --operator",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := parser.Parse(append([]string{"scaffold"}, tc.args...)); message(err) != "scaffold: "+tc.want {
				t.Errorf("\n%s\nwant %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}
