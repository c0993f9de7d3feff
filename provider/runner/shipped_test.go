package runner

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestShipped runs random playbooks with the ansible-playbook of the image, which does not parse
// the YAML that Ansible ships. They display the same and report the same as with Ansible's own.
func TestShipped(t *testing.T) {
	cases := map[string]struct {
		reason string
		// line is one of the script, in Python.
		line string
		// parsed is true if the runs parse what Ansible ships.
		parsed bool
		// playbooks to compare.
		playbooks int
	}{
		"Shipped":        {reason: "All documents are found that each run needs.", playbooks: *playbooks},
		"AnotherAnsible": {reason: "Documents of another release are not used.", line: "shipped_yaml.__version__ = '0'", parsed: true},
	}

	plain := newRunner(t)
	plain.keeper = nil

	set := content.Set{Dir: write(t, alikeContent())}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "parsed")
			shipped := withShipped(t, log, tc.line)

			for n := range tc.playbooks {
				run := inline(alike{rand.New(rand.NewPCG(*seed, uint64(n)))}.playbook())
				run.Content, run.KeepOutput = set, true

				if diff := cmp.Diff(seen(t, plain, run), seen(t, shipped, run)); diff != "" {
					t.Errorf("%s\n--- Ansible's own, +++ the image's:\n%s\nof the playbook\n%s", tc.reason, diff, run.Inputs.Parameters.PlaybookInline)
				}
			}

			if err := os.WriteFile(log, nil, 0o600); err != nil {
				t.Fatal(err)
			}

			must(t, shipped, inline("- {hosts: localhost, gather_facts: false, tasks: [{ansible.builtin.debug: }]}"))

			parsed, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}

			for _, document := range []string{"# Copyright (c) 2020 Ansible Project", "base.yml", "name: ssh", "callback: awx_display"} {
				if got := strings.Contains(string(parsed), document); got != tc.parsed {
					t.Errorf("%s\nparses %q: want %t, got %t", tc.reason, document, tc.parsed, got)
				}
			}
		})
	}
}

// withShipped returns a runner with the ansible-playbook that the image has. It writes what it parses
// to a log.
func withShipped(t *testing.T, log, line string) *Runner {
	t.Helper()

	dir, own := t.TempDir(), needs.Program(t, "ansible-playbook")

	for path, more := range map[string]string{
		"../../package-provider/shipped_yaml.py": "",
		own: fmt.Sprintf(`import sys
sys.path.insert(0, %q)
import shipped_yaml
%s
def parse(stream, Loader, parse=shipped_yaml.parse):
    with open(%q, "a") as log:
        print(str(stream)[:200], getattr(stream, "name", ""), file=log)
    return parse(stream, Loader)
shipped_yaml.parse = parse
`, dir, line, log),
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}

		text = []byte(strings.Replace(string(text), "import sys\n", more+"import sys\n", 1))
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), text, 0o700); err != nil {
			t.Fatal(err)
		}
	}

	python, err := sandbox.Interpreter(own)
	if err != nil {
		t.Fatal(err)
	}

	build := exec.CommandContext(t.Context(), python[0], "-m", "shipped_yaml")
	build.Dir = dir

	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))

	r := newRunner(t)
	r.keeper = nil

	return r
}
