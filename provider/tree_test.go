package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	test "github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
)

// workTree is the directory of an author of roles: its files are not committed, and the role and the
// collection that it uses are beside the playbook. Each task writes a line into a ledger.
func workTree(t *testing.T) string {
	t.Helper()

	note := func(word string) string {
		return "ansible.builtin.lineinfile: {path: \"{{ ledger }}\", line: \"" + word + "\", create: true, mode: \"0600\"}\n"
	}
	dir := filepath.Join(t.TempDir(), "site")

	test.Write(t, dir, map[string]string{
		"site.yml": "- hosts: web\n  gather_facts: false\n  roles: [page, acme.site.box]\n  tasks:\n  - " +
			note("{{ inventory_hostname }} {{ stage }} {{ word | default('none') }}") + "    tags: [web]\n",
		"roles/page/tasks/main.yml": "- " + note("page {{ inventory_hostname }}") + "  tags: [page]\n",
		"collections/ansible_collections/acme/site/roles/box/tasks/main.yml": "- " + note("box {{ inventory_hostname }}") + "  tags: [box]\n",
		"inventories/stage/hosts":              "[web]\nweb1\nweb2\n",
		"inventories/stage/group_vars/all.yml": "stage: staging\nansible_connection: local\nansible_python_interpreter: '{{ ansible_playbook_python }}'\n",
		"vars.yml":                             "word: of a file\n",
		"ansible.cfg":                          "[defaults]\nforks = 1\n",
	})

	// The socket of a program beside the roles is not content.
	test.OK(t, unix.Mkfifo(filepath.Join(dir, "roles", "page", "agent"), 0o600))

	sources.InGit(t, dir, "init", "-q")

	return dir
}

// TestRunTree runs a directory, and compares the ledger with that of ansible-playbook in the directory.
func TestRunTree(t *testing.T) {
	test.Ansible(t)

	dir := workTree(t)

	for name, tc := range map[string]struct {
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
			reason: "Flags select hosts, tags and variables. Later variables take precedence.",
			args:   []string{"-i", "inventories/stage", "-l", "web2", "--tags", "web,page", "--skip-tags", "page", "-e", "word=first", "-e", "@vars.yml", "site.yml"},
			want:   "web2 staging of a file\n",
		},
		"YAML": {
			reason: "Variables may be YAML.",
			args:   []string{"-i", "inventories/stage", "-l", "web1", "--tags", "web", "-e", "@vars.yml", "-e", `{"word": "of two"}`, "site.yml"},
			want:   "web1 staging of two\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			for _, tool := range []string{"run", "ansible-playbook"} {
				out := t.TempDir()
				ledger := filepath.Join(out, "ledger")
				args := append([]string{"-e", "ledger=" + ledger}, tc.args...)

				if tool == "run" {
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

				if diff := cmp.Diff(tc.want, written(t, ledger)); diff != "" {
					t.Errorf("\n%s\n%s: -want, +got:\n%s", tc.reason, tool, diff)
				}
			}
		})
	}
}

// TestRunShows compares the display with that of ansible-playbook in the same directory.
func TestRunShows(t *testing.T) {
	test.Ansible(t)

	dir := workTree(t)
	test.Write(t, dir, map[string]string{"wrong.yml": "- hosts: web\n  taskz: []\n"})

	for name, tc := range map[string]struct {
		reason string
		args   []string
		// shown is a part of the display, and done is the ledger.
		shown, done, err string
	}{
		"Diff": {
			reason: "The differences of an apply are shown.",
			args:   []string{"--diff", "site.yml"},
			shown:  "+page web1", done: "page web1\n",
		},
		"CheckDiff": {
			reason: "The differences of a check are shown.",
			args:   []string{"--check", "--diff", "site.yml"},
			shown:  "+page web1",
		},
		"ListTasks": {
			reason: "Tasks are listed, and none runs.",
			args:   []string{"--list-tasks", "--check", "site.yml"},
			shown:  "ansible.builtin.lineinfile\tTAGS: [page]",
		},
		"SyntaxCheck": {
			reason: "The syntax is checked, and no task runs.",
			args:   []string{"--syntax-check", "site.yml"},
			shown:  "playbook: site.yml",
		},
		"Wrong": {
			reason: "A syntax error is shown, and the command fails.",
			args:   []string{"--syntax-check", "wrong.yml"},
			shown:  "'taskz' is not a valid attribute for a Play",
			err:    "PlaybookError: 'taskz' is not a valid attribute for a Play",
		},
	} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			ledger := filepath.Join(out, "ledger")
			args := append([]string{"-i", "inventories/stage", "-l", "web1", "--tags", "page", "-e", "ledger=" + ledger}, tc.args...)

			// Files of runs are readable only for their user.
			sh := []string{"-c", `umask 077; exec "$@"`, "sh", test.Program(t, "ansible-playbook")}
			cmd := exec.CommandContext(t.Context(), "sh", append(sh, args...)...)
			cmd.Dir = dir

			want, err := cmd.Output()
			if (err != nil) != (tc.err != "") {
				t.Fatalf("\n%s\nansible-playbook: %v\n%s", tc.reason, err, want)
			}

			test.OK(t, os.RemoveAll(ledger))

			var said string

			got := stdout(t, func() {
				said = runCLI(t, t.TempDir(), append([]string{"--project=" + dir, "--write-path=" + out}, args...)...)
			})

			if (said != "") != (tc.err != "") || !strings.HasPrefix(said, tc.err) {
				t.Errorf("\n%s\nRun(): want error %q, got %q", tc.reason, tc.err, said)
			}

			// The first line is about the installation of content.
			_, got, _ = strings.Cut(got, "\n")

			if !strings.Contains(got, tc.shown) {
				t.Errorf("\n%s\nwant %q, got:\n%s", tc.reason, tc.shown, got)
			}

			// ansible-runner drops spaces at ends.
			if diff := cmp.Diff(strings.Fields(string(want)), strings.Fields(got)); tc.err == "" && diff != "" {
				t.Errorf("\n%s\n-ansible-playbook, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.done, written(t, ledger)); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// stdout returns the text that a function writes to standard output.
func stdout(t *testing.T, f func()) string {
	t.Helper()

	to, err := os.Create(filepath.Join(t.TempDir(), "stdout"))
	test.OK(t, err)
	defer to.Close()

	was := os.Stdout
	os.Stdout = to

	defer func() { os.Stdout = was }()

	f()

	text, err := os.ReadFile(to.Name())
	test.OK(t, err)

	return string(text)
}
