package docs

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestPackages compares the packages of the programs with those that CONTRIBUTING.md names in its
// table of what a package knows. A new package needs a row, or a place in one.
func TestPackages(t *testing.T) {
	root := os.DirFS("../..")

	_, table, _ := strings.Cut(needs.Read(t, "../../CONTRIBUTING.md"), "\n| it needs to know | package |\n")
	table, _, _ = strings.Cut(table, "\n\n")

	var named []string
	for _, m := range regexp.MustCompile("`((?:apis|function|provider|plugin)[a-z0-9/]*)`").FindAllStringSubmatch(table, -1) {
		named = append(named, m[1])
	}

	packages := packagesIn(t, root, "apis", "function", "provider", "plugin")

	for _, p := range packages {
		if !slices.Contains(named, p) {
			t.Errorf("CONTRIBUTING.md should name the package %s in the table of what a package knows.", p)
		}
	}

	for _, name := range named {
		if !slices.Contains(packages, name) {
			t.Errorf("CONTRIBUTING.md names %s, which is not a package.", name)
		}
	}
}

// packagesIn directories of the repository, each by its path. The versions of an API are one
// package.
func packagesIn(t *testing.T, root fs.FS, dirs ...string) []string {
	t.Helper()

	var packages []string

	for _, dir := range dirs {
		needs.OK(t, fs.WalkDir(root, dir, func(file string, d fs.DirEntry, err error) error {
			if err == nil && d.Name() == "testdata" {
				return fs.SkipDir
			}

			if path.Ext(file) == ".go" && !strings.HasSuffix(file, "_test.go") {
				packages = append(packages, regexp.MustCompile(`/v\d\w*$`).ReplaceAllString(path.Dir(file), ""))
			}

			return err
		}))
	}

	slices.Sort(packages)

	return slices.Compact(packages)
}
