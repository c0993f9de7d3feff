package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	test "github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestRunProject runs playbooks of a git repository without a cluster.
func TestRunProject(t *testing.T) {
	test.Ansible(t)

	play := func(word string) string {
		return `- hosts: localhost
  gather_facts: false
  tasks:
  - ansible.builtin.lineinfile: {path: "{{ ledger }}", line: "` + word + ` {{ greeting }}", create: true, mode: "0600"}
`
	}

	repo := t.TempDir()
	for name, text := range map[string]string{
		"web/site.yml":                     play("site"),
		"web/playbooks/report.yml":         play("report"),
		"web/group_vars/all.yml":           "greeting: of the project\n",
		"web/playbooks/group_vars/all.yml": "greeting: beside the playbook\n",
		"database/site.yml":                play("database"),
	} {
		file := filepath.Join(repo, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=acme", "-c", "user.email=acme@example.org", "commit", "-q", "-m", "first"}, {"tag", "v1.0.0"}} {
		cmd := exec.CommandContext(t.Context(), test.Program(t, "git"), args...)
		cmd.Dir = repo

		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}

	cases := map[string]struct {
		reason string
		// playbook of the manifest, or playbooks.
		playbook string
		args     []string
		want     string
		err      string
	}{
		"Playbook": {
			reason:   "A playbook runs with what is beside it.",
			playbook: "playbook: site.yml",
			want:     "site of the project\n",
		},
		"Playbooks": {
			reason:   "Several playbooks run in their order.",
			playbook: "playbooks: [playbooks/report.yml, site.yml]",
			want:     "report beside the playbook\nsite of the project\n",
		},
		"Check": {
			reason:   "A check changes nothing.",
			playbook: "playbooks: [playbooks/report.yml, site.yml]",
			args:     []string{"--check"},
		},
		"Missing": {
			reason:   "Nothing runs if one of the playbooks is not there.",
			playbook: "playbooks: [site.yml, other.yml]",
			err:      `spec.forProvider.playbooks[1]: the project has no "other.yml" (there is: site.yml)`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			ledger := filepath.Join(dir, "ledger")
			manifest := filepath.Join(t.TempDir(), "run.yaml")

			text := `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: default, name: default}
spec: {}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: default, name: site}
spec:
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    project: {src: "file://` + repo + `", version: v1.0.0, path: web}
    ` + tc.playbook + `
    vars: {ledger: "` + ledger + `"}
`
			if err := os.WriteFile(manifest, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}

			p, err := kong.New(&cli{}, kong.Vars{"state_dir": t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}

			args := append([]string{"run", "--file=" + manifest, "--confinement=BestEffort", "--read-path=" + repo, "--write-path=" + dir}, tc.args...)

			k, err := p.Parse(args)
			if err != nil {
				t.Fatal(err)
			}

			got := ""
			if err := k.Run(); err != nil {
				got = err.Error()
			}

			if !strings.Contains(got, tc.err) || (tc.err == "") != (got == "") {
				t.Errorf("\n%s\nRun(): want error %q, got %q", tc.reason, tc.err, got)
			}

			// It is not there if nothing was changed.
			done, err := os.ReadFile(ledger)
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}

			if diff := cmp.Diff(tc.want, string(done)); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
