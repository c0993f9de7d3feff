package runner

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// parses tests whether a runner parses the YAML that Ansible ships.
func parses(t *testing.T, r *Runner, log string, want bool) {
	t.Helper()

	needs.OK(t, os.WriteFile(log, nil, 0o600))

	must(t, r, inline("- {hosts: localhost, gather_facts: false, tasks: [{ansible.builtin.debug: }]}"))

	parsed, err := os.ReadFile(log)
	needs.OK(t, err)

	for _, document := range []string{"# Copyright (c) 2020 Ansible Project", "base.yml", "name: ssh", "callback: awx_display"} {
		if got := strings.Contains(string(parsed), document); got != want {
			t.Errorf("parses %q: want %t, got %t", document, want, got)
		}
	}
}

// withShipped returns a runner with the ansible-playbook of the image. It writes the names of the documents that it
// parses to a log.
func withShipped(t *testing.T, log, line string) *Runner {
	t.Helper()

	dir, own := t.TempDir(), needs.Program(t, "ansible-playbook")

	for path, more := range map[string]string{
		"../warm/shipped_yaml.py": "",
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
		needs.OK(t, err)

		text = []byte(strings.Replace(string(text), "import sys\n", more+"import sys\n", 1))
		needs.OK(t, os.WriteFile(filepath.Join(dir, filepath.Base(path)), text, 0o700))
	}

	python, err := sandbox.Interpreter(own)
	needs.OK(t, err)

	build := exec.CommandContext(t.Context(), python[0], "-m", "shipped_yaml")
	build.Dir = dir

	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	r := newCold(t)
	r.environ = append(r.environ, "PATH="+dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	r.play[len(r.play)-1] = filepath.Join(dir, filepath.Base(own))

	return r
}
