package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

const root = "../.."

// TestUpToDate compares the committed files with those that make generate writes.
func TestUpToDate(t *testing.T) {
	files, err := generate(root)
	needs.OK(t, err)

	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(root, filepath.Clean(name)))
		if err != nil {
			t.Error(err)
		}

		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s is not what make generate writes: -want, +got:\n%s", name, diff)
		}
	}

	pages, err := filepath.Glob(root + "/docs/api/*.md")
	needs.OK(t, err)

	for _, page := range pages {
		name := "docs/api/" + filepath.Base(page)
		if _, ok := files[name]; !ok {
			t.Errorf("No kind has the page %s.", name)
		}
	}
}
