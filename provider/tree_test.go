package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	test "github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// workTree is a directory as the author of its roles has it: nothing of it is committed, and the role and the
// collection that it uses are beside the playbook. Each task leaves a line in a ledger.
func workTree(t *testing.T) string {
	t.Helper()

	note := func(word string) string {
		return "ansible.builtin.lineinfile: {path: \"{{ ledger }}\", line: \"" + word + "\", create: true, mode: \"0600\"}\n"
	}
	dir := filepath.Join(t.TempDir(), "site")

	for name, text := range map[string]string{
		"site.yml": "- hosts: web\n  gather_facts: false\n  roles: [page, acme.site.box]\n  tasks:\n  - " +
			note("{{ inventory_hostname }} {{ stage }} {{ word | default('none') }}") + "    tags: [web]\n",
		"roles/page/tasks/main.yml": "- " + note("page {{ inventory_hostname }}") + "  tags: [page]\n",
		"collections/ansible_collections/acme/site/roles/box/tasks/main.yml": "- " + note("box {{ inventory_hostname }}") + "  tags: [box]\n",
		"inventories/stage/hosts":              "[web]\nweb1\nweb2\n",
		"inventories/stage/group_vars/all.yml": "stage: staging\nansible_connection: local\nansible_python_interpreter: '{{ ansible_playbook_python }}'\n",
		"vars.yml":                             "word: of a file\n",
		"ansible.cfg":                          "[defaults]\nforks = 1\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}

		write(t, file, text)
	}

	// What a program beside the roles listens on is no content.
	if err := unix.Mkfifo(filepath.Join(dir, "roles", "page", "agent"), 0o600); err != nil {
		t.Fatal(err)
	}

	git(t, dir, "init", "-q")

	return dir
}

// TestRunTree runs a directory, and compares what was done with what ansible-playbook does in it.
func TestRunTree(t *testing.T) {
	test.Ansible(t)

	dir := workTree(t)

	cases := map[string]struct {
		reason string
		args   []string
		want   string
	}{
		"All": {
			reason: "Roles and collections beside the playbook are found.",
			args:   []string{"-i", "inventories/stage", "site.yml"},
			want:   "page web1\npage web2\nbox web1\nbox web2\nweb1 staging none\nweb2 staging none\n",
		},
		"Chosen": {
			reason: "Hosts, tags and variables are chosen, and later variables win.",
			args:   []string{"-i", "inventories/stage", "-l", "web2", "--tags", "web,page", "--skip-tags", "page", "-e", "word=first", "-e", "@vars.yml", "site.yml"},
			want:   "web2 staging of a file\n",
		},
		"YAML": {
			reason: "Variables may be YAML.",
			args:   []string{"-i", "inventories/stage", "-l", "web1", "--tags", "web", "-e", "@vars.yml", "-e", `{"word": "of two"}`, "site.yml"},
			want:   "web1 staging of two\n",
		},
		"Check": {
			reason: "A check changes nothing.",
			args:   []string{"-i", "inventories/stage", "--check", "site.yml"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, tool := range []string{"run", "ansible-playbook"} {
				out := t.TempDir()
				ledger := filepath.Join(out, "ledger")
				args := append([]string{"-e", "ledger=" + ledger}, tc.args...)

				if tool == "run" {
					runtime.GC() // The lock of the state directory is that of a process.

					if err := runCLI(t, t.TempDir(), append([]string{"--project=" + dir, "--write-path=" + out}, args...)...); err != "" {
						t.Fatalf("\n%s\nRun(): %s", tc.reason, err)
					}
				} else {
					cmd := exec.CommandContext(t.Context(), test.Program(t, tool), args...)
					cmd.Dir = dir

					if said, err := cmd.CombinedOutput(); err != nil {
						t.Fatalf("%s %v: %v\n%s", tool, args, err, said)
					}
				}

				done, err := os.ReadFile(ledger)
				if err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}

				if diff := cmp.Diff(tc.want, string(done)); diff != "" {
					t.Errorf("\n%s\n%s: -want, +got:\n%s", tc.reason, tool, diff)
				}
			}
		})
	}
}

// TestRunFlags refuses flags that contradict one another.
func TestRunFlags(t *testing.T) {
	cases := map[string]struct {
		args []string
		want string
	}{
		"Nothing":  {nil, "give the manifest of an AnsibleRun with --file, or a directory with --project"},
		"Both":     {[]string{"--file=a", "--project=."}, "--project is in place of manifests"},
		"Tags":     {[]string{"--file=a", "--tags=web"}, "need --project"},
		"Playbook": {[]string{"--project=.", "--role=a", "site.yml"}, "--role is in place of a playbook"},
		"Output":   {[]string{"--file=a", "--output=yaml"}, "--output=yaml prints what --project runs"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := kong.New(&cli{}, kong.Vars{"state_dir": t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}

			if _, err := p.Parse(append([]string{"run"}, tc.args...)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Parse(%v): want %q, got %v", tc.args, tc.want, err)
			}
		})
	}
}
