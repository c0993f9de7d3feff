package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestTutorial compares the tutorial with the files and the output of the commands.
func TestTutorial(t *testing.T) {
	var blocks, plain []string

	for _, m := range regexp.MustCompile("(?ms)^```(yaml)?\n(.*?)^```$").FindAllStringSubmatch(needs.Read(t, "../docs/tutorial.md"), -1) {
		if m[1] == "yaml" {
			blocks = append(blocks, m[2])
		} else {
			plain = append(plain, m[2])
		}
	}

	if len(blocks) != 5 || len(plain) != 7 {
		t.Fatalf("the tutorial has other blocks than this test knows: %d of YAML, %d others", len(blocks), len(plain))
	}

	t.Chdir(t.TempDir())

	role := filepath.Join("ansible_collections", "acme", "web", "roles", "page")
	needs.Write(t, "", map[string]string{role + "/meta/argument_specs.yml": blocks[0], "requirements.yml": blocks[1]})

	command(t, "scaffold", role, "-f", "requirements.yml", "-o", "page")

	xrd, composition := needs.Read(t, "page/xrd.yaml"), needs.Read(t, "page/composition.yaml")

	for _, excerpt := range []struct{ file, text string }{{xrd, blocks[2]}, {composition, blocks[3]}} {
		if !strings.Contains(excerpt.file, excerpt.text) {
			t.Errorf("scaffold should write what the tutorial shows: -tutorial, +file\n%s", cmp.Diff(excerpt.text, excerpt.file))
		}
	}

	// The Composition has the status that the tutorial adds.
	needs.Write(t, "page", map[string]string{"xrd.yaml": xrd + plain[2], "composition.yaml": composition + plain[1]})

	command(t, "validate", "page/composition.yaml", "page/xrd.yaml")
	needs.Write(t, "page", map[string]string{"composition.yaml": strings.Replace(composition, "xr.spec.pageTitle", "xr.spec.pagetitle", 1)})

	out, err := run(t, "", "validate", "page/composition.yaml", "page/xrd.yaml")
	if diff := cmp.Diff(plain[4], out); err == nil || diff != "" {
		t.Errorf("validate should say what the tutorial shows: -tutorial, +output\n%s", diff)
	}
}
