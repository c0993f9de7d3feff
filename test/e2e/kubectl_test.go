package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// teamComposition has a run that fails while there is no file gate, one that waits for
// it, and one that another one comes after.
const teamComposition = compositionOf + `
      defaults:
        providerConfigRef: {kind: ProviderConfig, name: default}
        vars: {directory: "${xr.spec.directory}"}
      runs:
      - name: network
        playbookInline: |
          - hosts: localhost
            gather_facts: false
            tasks:
            - name: Count the runs of the network
              ansible.builtin.shell: "echo network >> {{ directory }}/ledger"
      - name: database
        dependsOn: [network]
        playbookInline: |
          - hosts: localhost
            gather_facts: false
            tasks:
            - name: Count the runs of the database
              ansible.builtin.shell: "echo database >> {{ directory }}/ledger"
            - name: Pass the gate
              ansible.builtin.command: "test -e {{ directory }}/gate"
        retryLimit: 1
      - name: app
        dependsOn: [database]
        playbookInline: |
          - hosts: localhost
            gather_facts: false
            tasks:
            - name: Count the runs of the app
              ansible.builtin.shell: "echo app >> {{ directory }}/ledger"
`

// TestKubectlPlugin looks after an XR of several runs with kubectl ansible, as a person does.
func TestKubectlPlugin(t *testing.T) {
	t.Parallel()

	d := data{Kind: "Site", Namespace: cp.Namespace(t), Composition: "team-sites", Title: "Hello", Directory: directory(t)}
	xr := siteWith(t, d, teamComposition, "{}")
	ledger := filepath.Join(d.Directory, "ledger")

	cp.WaitFor(t, xr, Message("AnsibleRunsReady", "Pass the gate"), Message("AnsibleRunsReady", "app: waiting for database"))

	// The tree has the runs in their order, with what failed and what waits, and no colors
	// in a pipe.
	out := ansible(t, 0, d, "status", "site", "site")
	inOrder(t, out, "Site "+d.Namespace+"/site", "1 of 3 ready", "network", "Ready", "ok=1 changed=1",
		"database", "Failed", `task "Pass the gate" failed on host "localhost"`, "gave up after 1 attempt", "app", "Waiting", "waiting for database")

	inOrder(t, ansible(t, 0, d, "status", "-A"), "AnsibleRuns: ", " Failed", "\n\nNAME", "AnsibleRun "+d.Namespace+"/", "Failed",
		`task "Pass the gate" failed on host "localhost"`)

	if strings.Contains(out, "\x1b") {
		t.Errorf("There should be no colors in a pipe:\n%q", out)
	}

	// A program reads the same.
	var node struct {
		Runs []struct {
			State string `json:"state"`
		} `json:"runs"`
	}
	if err := json.Unmarshal([]byte(ansible(t, 0, d, "status", "site/site", "-o", "json")), &node); err != nil || len(node.Runs) != 3 || node.Runs[1].State != "Failed" {
		t.Errorf("status -o json: got %+v, %v", node, err)
	}

	inOrder(t, ansible(t, 0, d, "why", "site/site"), "Site "+d.Namespace+"/site: Failed, 1 of 3 ready", "Run database (", "): Failed", `task "Pass the gate" failed on host "localhost"`,
		"not tried again by itself", "To try it now: kubectl ansible retry ansiblerun.ansible.m.crossplane.io/", "Run app: Waiting", "waiting for database")

	// What fails again is an exit status. Then what was missing is there.
	out = ansible(t, 2, d, "retry", "site/site")
	inOrder(t, out, "requested", "database", "Failed", "gave up after 2 attempts", "not all runs have succeeded")

	touch(t, filepath.Join(d.Directory, "gate"))
	inOrder(t, ansible(t, 0, d, "retry", "site/site"), "requested", "database", "Ready")
	cp.WaitFor(t, xr, Condition("Ready", "True"))

	if got := ansible(t, 0, d, "retry", "site/site"); got != "nothing has failed\n" {
		t.Errorf("There should be nothing to retry, got %q", got)
	}

	// A run of the XR is one of each of its runs, in their order.
	before := readFile(t, ledger)
	ansible(t, 0, d, "run", "site/site", "--timeout=10m")

	if got := strings.TrimPrefix(readFile(t, ledger), before); got != "network\ndatabase\napp\n" {
		t.Errorf("The runs should run once each, in their order, got %q", got)
	}

	inOrder(t, ansible(t, 0, d, "why", "site/site"), "Ready, 3 of 3 ready")

	// What is paused refuses to run, and goes on when it is resumed.
	inOrder(t, ansible(t, 0, d, "pause", "sites", "--all"), "site.e2e.example.org/site paused", "ansiblerun.ansible.m.crossplane.io/")
	cp.WaitFor(t, xr, Reason("Synced", "ReconcilePaused"))

	for _, run := range cp.Composed(t, xr) {
		if run.Kind == "AnsibleRun" {
			cp.WaitFor(t, run, Reason("Synced", "ReconcilePaused"))
		}
	}

	inOrder(t, ansible(t, 1, d, "run", "site/site"), "is paused: resume it first")
	inOrder(t, ansible(t, 0, d, "why", "site/site"), "Paused", "kubectl ansible resume site.e2e.example.org/site")
	inOrder(t, ansible(t, 0, d, "resume", "site", "-l", "!missing"), "resumed")
	cp.WaitResumed(t, xr)
	cp.WaitFor(t, xr, Condition("Synced", "True"), Condition("Ready", "True"))

	// An XR at which Crossplane has not looked yet is one, too.
	cp.Apply(t, `
apiVersion: e2e.example.org/v1
kind: Site
metadata: {namespace: [[.Namespace]], name: new, annotations: {crossplane.io/paused: "true"}}
spec: {title: New, directory: "[[.Directory]]", size: 1}
`, d)
	inOrder(t, ansible(t, 0, d, "status", "site/new"), "Site "+d.Namespace+"/new", "Paused")

	// Objects that have no runs, and objects that there are not.
	inOrder(t, ansible(t, 1, d, "status", "providerconfigs.ansible.m.crossplane.io/default"), "is no XR, claim or AnsibleRun")
	inOrder(t, ansible(t, 1, d, "status", "site/nowhere"), "not found")
	inOrder(t, ansible(t, 1, d, "run", "site"), "no name was specified")
}

// slowly shows a password, and ends when there is a file gate.
const slowly = `
apiVersion: v1
kind: Secret
metadata: {namespace: [[.Namespace]], name: slowly}
stringData: {vars: "password: correct-horse-battery"}
---` + emptyConfig + theRun + `
    varFiles: [{source: SecretKey, secretKeyRef: {name: slowly, key: vars}}]
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - name: Show the password
          ansible.builtin.debug: {msg: "It is {{ password }}, ok"}
        - name: Wait for the gate
          ansible.builtin.wait_for: {path: "[[.Directory]]/gate", sleep: 1}
        - name: Show the rest
          ansible.builtin.debug: {msg: The gate is open}
`

// TestKubectlLogs watches a run in progress. Nothing is kept of it afterwards.
func TestKubectlLogs(t *testing.T) {
	t.Parallel()

	d := data{Namespace: cp.Namespace(t), Directory: directory(t)}
	run := cp.Apply(t, slowly, d)[2]
	cp.WaitFor(t, run, Field("status.atProvider.lastRun.currentTask", "Wait for the gate"), Field("status.atProvider.lastRun.progress", "task 2"))

	// Without -f, logs shows the output so far.
	inOrder(t, ansible(t, 0, d, "logs", "ansibleruns.ansible.m.crossplane.io/run"), "PLAY [localhost]", "It is ********, ok", "TASK [Wait for the gate]")

	cmd := plugin(t, d, "logs", "-f", "ansibleruns.ansible.m.crossplane.io/run")
	cmd.Stderr = os.Stderr

	out, err := cmd.StdoutPipe()
	needs.OK(t, err)

	needs.OK(t, cmd.Start())

	var all strings.Builder

	for lines := bufio.NewScanner(out); lines.Scan(); {
		all.WriteString(lines.Text() + "\n")

		if strings.Contains(lines.Text(), "Wait for the gate") {
			touch(t, filepath.Join(d.Directory, "gate"))
		}
	}

	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}

	inOrder(t, all.String(), "PLAY [localhost]", "It is ********, ok", "TASK [Wait for the gate]", "The gate is open", "PLAY RECAP", "ok=3")

	if n := strings.Count(all.String(), "PLAY [localhost]"); n != 1 || strings.Contains(all.String(), "horse") {
		t.Errorf("Each line should be shown once, and no secret, got:\n%s", all.String())
	}

	// The output is not watched any more, and is not to be kept.
	u := cp.WaitFor(t, run, Condition("Ready", "True"), Field("status.atProvider.keptOutput", nil))
	if a := u.GetAnnotations()["ansible.crossplane.io/watch"]; a != "" {
		t.Errorf("The plugin should withdraw its request, got %q", a)
	}

	for _, m := range cp.List(t, "v1", "ConfigMap", d.Namespace) {
		for _, o := range m.GetOwnerReferences() {
			if o.UID == u.GetUID() {
				cp.WaitGone(t, ObjectOf(&m))
			}
		}
	}

	inOrder(t, ansible(t, 0, d, "logs", "ansibleruns.ansible.m.crossplane.io/run"), "Its output was not kept", "ok=3", "keepOutput=true")
}

// gated writes a file, and ends when there is a file gate.
const gated = emptyConfig + theRun + `
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - name: Write the message
          ansible.builtin.copy: {dest: "[[.Directory]]/message", content: "be:\n  kind\n"}
        - name: Wait for the gate
          ansible.builtin.wait_for: {path: "[[.Directory]]/gate", sleep: 1}
`

// TestKubectlCheck looks at what an apply would change, and ends one.
func TestKubectlCheck(t *testing.T) {
	t.Parallel()

	const name = "ansibleruns.ansible.m.crossplane.io/run"

	d := data{Namespace: cp.Namespace(t), Directory: directory(t)}
	run := cp.Apply(t, gated, d)[1]
	message := filepath.Join(d.Directory, "message")

	// What is canceled is not tried again by itself.
	cp.WaitFor(t, run, Field("status.atProvider.lastRun.currentTask", "Wait for the gate"))
	inOrder(t, ansible(t, 0, d, "cancel", name), "is asked to end its run")
	cp.WaitFor(t, run, Field("status.atProvider.lastRun.phase", "Canceled"), Reason("Ready", "RetriesExhausted"), Message("Ready", "canceled by the annotation"))
	inOrder(t, ansible(t, 0, d, "why", name), "Failed", "canceled by the annotation", "kubectl ansible retry")
	inOrder(t, ansible(t, 0, d, "cancel", name), "no run is in progress")

	touch(t, filepath.Join(d.Directory, "gate"))
	ansible(t, 0, d, "retry", name)

	before := cp.WaitFor(t, run, Condition("Ready", "True"))

	inOrder(t, ansible(t, 0, d, "check", name), "requested", "AnsibleRun "+d.Namespace+"/run", "The check predicts no change.")

	// A check shows a change from outside, and leaves it.
	needs.OK(t, os.WriteFile(message, []byte("be:\n  quick\n"), 0o600))

	inOrder(t, ansible(t, 0, d, "check", name), "Write the message on localhost", " be:\n", "-  quick\n", "+  kind\n")

	if got := readFile(t, message); got != "be:\n  quick\n" {
		t.Errorf("A check should change nothing, got %q", got)
	}

	after := cp.WaitFor(t, run, Condition("Ready", "True"), Field("status.atProvider.preview.drift.changed", int64(1)), Field("status.atProvider.drift", nil))
	for _, field := range []string{"lastRun", "lastApply", "appliedDigest", "history"} {
		was, _, _ := unstructured.NestedFieldNoCopy(before.Object, "status", "atProvider", field)
		is, _, _ := unstructured.NestedFieldNoCopy(after.Object, "status", "atProvider", field)

		if diff := cmp.Diff(was, is); diff != "" {
			t.Errorf("A check should leave status.atProvider.%s as it is: -want, +got:\n%s", field, diff)
		}
	}

	ansible(t, 0, d, "run", name)

	if got := readFile(t, message); got != "be:\n  kind\n" {
		t.Errorf("A run should put it right, got %q", got)
	}
}

// ansible runs kubectl with the plugin, which is to end with an exit status.
func ansible(t *testing.T, status int, d data, args ...string) string {
	t.Helper()

	cmd := plugin(t, d, args...)

	out, err := cmd.CombinedOutput()

	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == status || err == nil && status == 0 {
		return string(out)
	}

	t.Fatalf("kubectl ansible %s: want exit status %d, got %v\n%s", strings.Join(args, " "), status, err, out)

	return ""
}

// plugin is kubectl with the plugin in its PATH.
func plugin(t *testing.T, d data, args ...string) *exec.Cmd {
	t.Helper()

	args = append(append([]string{"ansible"}, args[0], "--namespace="+d.Namespace), args[1:]...)
	cmd := exec.CommandContext(t.Context(), cp.Stack.Tool("kubectl"), args...)
	cmd.Env = newShell(t, "NO_COLOR=").Env

	return cmd
}

// inOrder checks that a text has parts, in their order.
func inOrder(t *testing.T, text string, parts ...string) {
	t.Helper()

	rest := text

	for _, p := range parts {
		_, after, ok := strings.Cut(rest, p)
		if !ok {
			t.Errorf("The text should have %q, in this order:\n%s", p, text)
			return
		}

		rest = after
	}
}
