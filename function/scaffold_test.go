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

func TestScaffoldUsage(t *testing.T) {
	parser, err := newParser(nil, nil, os.Exit)
	if err != nil {
		t.Fatal(err)
	}

	const want = "scaffold: give the directory of a role, or --role together with --requirements"
	if _, err := parser.Parse([]string{"scaffold", "--role", "a.b.c"}); message(err) != want {
		t.Errorf("want %q, got %v", want, err)
	}
}
