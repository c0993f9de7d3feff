package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	test "github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
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
	test.Write(t, repo, map[string]string{
		"web/site.yml":                     play("site"),
		"web/playbooks/report.yml":         play("report"),
		"web/group_vars/all.yml":           "greeting: of the project\n",
		"web/playbooks/group_vars/all.yml": "greeting: beside the playbook\n",
	})
	sources.Commit(t, repo, "v1.0.0")

	for name, tc := range map[string]struct {
		reason string
		// playbook of the manifest.
		playbook string
		args     []string
		want     string
		err      string
		// deleted is additional metadata in the manifest.
		deleted string
	}{
		"Keep": {
			reason:   "A deletion with the policy Keep is an error.",
			playbook: "playbook: site.yml\n    onDelete: {policy: Keep, playbook: playbooks/report.yml}",
			args:     []string{"--state=absent"},
			err:      "spec.forProvider.onDelete.policy is Keep",
		},
		"Removed": {
			reason:   "A deletion runs onDelete, also for an object with a deletion timestamp.",
			playbook: "playbook: site.yml\n    onDelete: {playbook: playbooks/report.yml}",
			args:     []string{"--state=absent"},
			deleted:  `deletionTimestamp: "2026-01-02T03:04:05Z"`,
			want:     "report beside the playbook\n",
		},
		"Deleted": {
			reason:   "For an object with a deletion timestamp, the flag --state still counts.",
			playbook: "playbook: site.yml\n    onDelete: {playbook: playbooks/report.yml}",
			deleted:  `deletionTimestamp: "2026-01-02T03:04:05Z"`,
			want:     "site of the project\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			dir := t.TempDir()
			ledger := filepath.Join(dir, "ledger")
			file := manifest(t, "", `
    project: {src: "file://`+repo+`", version: v1.0.0, path: web}
    vars: {ledger: "`+ledger+`"}
    `+tc.playbook, tc.deleted)

			got := runCLI(t, t.TempDir(), append([]string{"--file=" + file, "--read-path=" + repo, "--write-path=" + dir}, tc.args...)...)

			if !strings.Contains(got, tc.err) || (tc.err == "") != (got == "") {
				t.Errorf("\n%s\nRun(): want error %q, got %q", tc.reason, tc.err, got)
			}

			if diff := cmp.Diff(tc.want, written(t, ledger)); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// manifest writes a configuration and an AnsibleRun into a file, with their specs, and with additional metadata of the
// AnsibleRun.
func manifest(t *testing.T, config, run, metadata string) string {
	t.Helper()

	dir := t.TempDir()
	test.Write(t, dir, map[string]string{"run.yaml": `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {name: default}
spec: {` + config + `}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {name: site, ` + metadata + `}
spec:
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
` + run})

	return filepath.Join(dir, "run.yaml")
}

// written returns the text of a file that a play has written; empty if it does not exist.
func written(t *testing.T, file string) string {
	t.Helper()

	text, err := os.ReadFile(file)
	if !os.IsNotExist(err) {
		test.OK(t, err)
	}

	return string(text)
}

// runCLI runs provider-ansible run, and returns its error.
func runCLI(t *testing.T, stateDir string, args ...string) string {
	t.Helper()

	p, _ := parser(t, stateDir)

	k, err := p.Parse(append([]string{"run", "--confinement=BestEffort"}, args...))
	test.OK(t, err)

	if err := k.Run(); err != nil {
		return err.Error()
	}

	return ""
}

// TestRunGrants has manifests that grant rights on this machine, which flags must confirm.
func TestRunGrants(t *testing.T) {
	test.Ansible(t)

	home := t.TempDir()
	file := filepath.Join(home, "run.yaml")

	test.Write(t, home, map[string]string{"key": "mine", "run.yaml": `
apiVersion: v1
kind: Namespace
metadata: {name: a}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: a, name: hello}
spec:
  providerConfigRef: {kind: ClusterProviderConfig, name: mine}
  forProvider:
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - ansible.builtin.copy: {src: ` + home + `/key, dest: ` + home + `/copy, mode: "0600"}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ClusterProviderConfig
metadata: {name: mine}
spec:
  confinement: {readPaths: [/usr/share], writePaths: [` + home + `/copy, ` + home + `]}
`})

	for name, tc := range map[string]struct {
		reason string
		args   []string
		want   string
		copied bool
	}{
		"Manifest": {
			reason: "A manifest cannot grant rights by itself: the error has the flags for that.",
			want: `ClusterProviderConfig "mine": spec.confinement grants nothing on this machine: to allow it, add ` +
				"--read-path=/usr/share --write-path=" + home + "/copy --write-path=" + home,
		},
		"Some": {
			reason: "Each right needs a flag, and a path to read must not be written.",
			args:   []string{"--read-path=/usr", "--read-path=" + home},
			want: `ClusterProviderConfig "mine": spec.confinement grants nothing on this machine: to allow it, add ` +
				"--write-path=" + home + "/copy --write-path=" + home,
		},
		"Flags": {
			reason: "Flags grant their paths, and paths below them.",
			args:   []string{"--read-path=/usr/share", "--write-path=" + home},
			copied: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.OK(t, os.RemoveAll(filepath.Join(home, "copy")))

			got := runCLI(t, t.TempDir(), append([]string{"--file=" + file}, tc.args...)...)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nRun(): -want error, +got:\n%s", tc.reason, diff)
			}

			if _, err := os.Stat(filepath.Join(home, "copy")); (err == nil) != tc.copied {
				t.Errorf("\n%s\nwant copied %t, got %v", tc.reason, tc.copied, err)
			}
		})
	}
}

// TestRunLocalContent runs the present content of a repository on this machine.
func TestRunLocalContent(t *testing.T) {
	test.Ansible(t)

	dir, repo, state := t.TempDir(), t.TempDir(), t.TempDir()
	ledger := filepath.Join(dir, "ledger")
	file := manifest(t, "", `
    project: {src: "file://`+repo+`", version: v1.0.0}
    playbook: site.yml
    vars: {ledger: "`+ledger+`"}
`, "")

	play := func(word string) {
		test.Write(t, repo, map[string]string{"site.yml": `- hosts: localhost
  gather_facts: false
  tasks:
  - ansible.builtin.copy: {dest: "{{ ledger }}", content: ` + word + `, mode: "0600"}
`})
		sources.Commit(t, repo)
		sources.InGit(t, repo, "tag", "--force", "v1.0.0")
	}

	for _, word := range []string{"first", "second"} {
		play(word)

		runtime.GC() // The end of a process would release the lock of the state directory.

		if err := runCLI(t, state, "--file="+file, "--read-path="+repo, "--write-path="+dir); err != "" {
			t.Fatal(err)
		}

		if diff := cmp.Diff(word, written(t, ledger)); diff != "" {
			t.Errorf("The present version should run, and not the one that was installed before.\n-want, +got:\n%s", diff)
		}
	}

	runtime.GC()

	got := runCLI(t, state, "--file="+file, "--write-path="+dir)
	if !strings.Contains(got, "'"+repo+"' does not appear") || !strings.Contains(got, "--read-path") {
		t.Errorf("Without a right to the repository, the error should name the flag: got %q", got)
	}

	left, err := filepath.Glob(filepath.Join(state, "*", "*", "sets"))
	if err != nil || len(left) > 0 {
		t.Errorf("Content of this machine should not be kept, got %v, %v", left, err)
	}
}

// TestRunVariables has variables in Secrets and ConfigMaps of other applications.
func TestRunVariables(t *testing.T) {
	test.Ansible(t)

	dir := t.TempDir()
	others := filepath.Join(dir, "others.yaml")

	test.Write(t, dir, map[string]string{"others.yaml": `
apiVersion: v1
kind: Secret
metadata: {name: connection}
stringData: {username: app, password: "p@ss: {{ word }} #1", port: "5432", sure: "yes", tls.crt: "one\ntwo\n", 1st-key: "null", pass: "", crypt: "$ANSIBLE_VAULT;1.1;AES256\n3132\n"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: site}
data: {region: eu-central-1, username: other, text: "{% raw %}\u2028\U0001f600"}
`})

	file := manifest(t, `varFiles: [
  {source: ConfigMap, configMapRef: {name: site}},
  {source: SecretKey, secretKeyRef: {name: connection, key: password}, variable: of_config},
  {source: SecretKey, secretKeyRef: {name: connection, key: port}, variable: stronger}]`, `
    varFiles:
    - {source: Secret, secretRef: {name: connection}}
    - {source: ConfigMapKey, configMapKeyRef: {name: site, key: text}, variable: stronger}
    - {source: Secret, secretRef: {name: none}, optional: true}
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - ansible.builtin.copy:
            dest: `+dir+`/out
            mode: "0600"
            content: "{{ [username, password, port, sure, tls_crt, _1st_key, pass, crypt, region, of_config, stronger] | to_json }}"
`, "")

	if err := runCLI(t, t.TempDir(), "--file="+others, "--file="+file, "--write-path="+dir); err != "" {
		t.Fatal(err)
	}

	var got []any
	test.OK(t, json.Unmarshal([]byte(written(t, filepath.Join(dir, "out"))), &got))

	want := []any{
		"app", "p@ss: {{ word }} #1", "5432", "yes", "one\ntwo\n", "null", "", "$ANSIBLE_VAULT;1.1;AES256\n3132\n",
		"eu-central-1", "p@ss: {{ word }} #1", "{% raw %}\u2028\U0001f600",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Values should be unchanged text, and those of the run should override those of its configuration.\n-want, +got:\n%s",
			diff)
	}
}

// TestRunSettings has common settings from other environments.
func TestRunSettings(t *testing.T) {
	test.Ansible(t)

	outside, repo := t.TempDir(), t.TempDir()

	test.Write(t, repo, map[string]string{
		"ansible.cfg": "[defaults]\ncallback_plugins = plugins\ncallbacks_enabled = told\n",
		"site.yml":    "- hosts: localhost\n  gather_facts: false\n  tasks: [ansible.builtin.ping: ]\n",
		"plugins/told.py": `
DOCUMENTATION = "name: told\ntype: notification\nshort_description: x\ndescription: [x]\n"
from ansible.plugins.callback import CallbackBase
class CallbackModule(CallbackBase):
    CALLBACK_VERSION, CALLBACK_NAME, CALLBACK_NEEDS_ENABLED = 2.0, "told", True
    def v2_playbook_on_stats(self, stats):
        open("` + outside + `/told", "w").write("told")
`,
	})
	sources.Commit(t, repo)

	// logs sets the log of a run to a directory.
	logs := func(dir string) string {
		return manifest(t, "credentials: [{filename: ansible.cfg, source: ConfigMapKey, configMapKeyRef: {name: cfg, key: cfg}}]", `
    playbookInline: "- {hosts: localhost, gather_facts: false, tasks: [ansible.builtin.ping: ]}"
---
apiVersion: v1
kind: ConfigMap
metadata: {name: cfg}
data: {cfg: "[defaults]\nlog_path = `+dir+`/ansible.log\n"}
`, "")
	}

	for name, tc := range map[string]struct {
		reason, manifest string
		args             []string
		file             string
	}{
		"LogPath": {
			reason:   "A log that the run must not write is left out, and the run goes on.",
			manifest: logs(t.TempDir()),
		},
		"LogPathGranted": {
			reason:   "A log in a granted path is written.",
			manifest: logs(outside),
			args:     []string{"--write-path=" + outside},
			file:     "ansible.log",
		},
		"CallbackPlugins": {
			reason:   "The callback plugins of a project's ansible.cfg are loaded.",
			manifest: manifest(t, "", "    project: {src: 'file://"+repo+"'}\n    playbook: site.yml\n", ""),
			args:     []string{"--read-path=" + repo, "--write-path=" + outside},
			file:     "told",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := runCLI(t, t.TempDir(), append([]string{"--file=" + tc.manifest}, tc.args...)...); err != "" {
				t.Errorf("\n%s\nRun(): %s", tc.reason, err)
			}

			if _, err := os.Stat(filepath.Join(outside, tc.file)); err != nil {
				t.Errorf("\n%s\n%v", tc.reason, err)
			}
		})
	}
}
