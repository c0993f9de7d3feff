package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// A terminal in which kubectl runs with the plugin.
type terminal struct {
	t            *testing.T
	tmux, socket string
}

// inTmux starts kubectl with the plugin in a terminal, with a value of NO_COLOR. Its exit status is shown when it has ended.
func inTmux(t *testing.T, d data, noColor string, args ...string) *terminal {
	t.Helper()

	term := &terminal{t: t, tmux: needs.Program(t, "tmux"), socket: filepath.Join(t.TempDir(), "tmux")}
	kubectl := plugin(t, d, args...)

	// The shell outlives Ctrl-C, and then waits for what is never entered.
	shell := append([]string{"sh", "-c", `trap : INT; "$@"; echo "exit status $?"; cat`, "sh"}, kubectl.Args...)
	start := exec.CommandContext(t.Context(), term.tmux, append([]string{
		"-S", term.socket, "-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30", "--",
	}, shell...)...)
	start.Env = slices.Concat(kubectl.Env, []string{"LC_ALL=C.UTF-8", "NO_COLOR=" + noColor})

	if out, err := start.CombinedOutput(); err != nil {
		t.Fatalf("cannot start a terminal: %s\n%s", err, out)
	}

	t.Cleanup(func() { _ = exec.Command(term.tmux, "-S", term.socket, "kill-server").Run() })

	return term
}

// command of tmux, and what it prints.
func (term *terminal) command(args ...string) string {
	term.t.Helper()

	out, err := exec.CommandContext(term.t.Context(), term.tmux, append([]string{"-S", term.socket}, args...)...).CombinedOutput()
	if err != nil {
		term.t.Fatalf("tmux %s: %s\n%s", strings.Join(args, " "), err, out)
	}

	return string(out)
}

// waitFor texts on the screen, and return it with its colors.
func (term *terminal) waitFor(texts ...string) string {
	term.t.Helper()

	var screen string

	err := Await(term.t.Context(), func() bool {
		screen = term.command("capture-pane", "-p")
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}

		return true
	})
	if err != nil {
		term.t.Fatalf("waited for %q in the terminal: %s\n%s", texts, err, screen)
	}

	return term.command("capture-pane", "-p", "-e")
}

// send keys, as tmux calls them.
func (term *terminal) send(keys ...string) {
	term.t.Helper()
	term.command(append([]string{"send-keys"}, keys...)...)
}

// guardedComposition has two runs that have to be approved.
const guardedComposition = compositionOf + `
      defaults:
        providerConfigRef: {kind: ProviderConfig, name: default}
        vars: {directory: "${xr.spec.directory}"}
      runs:
      - name: network
        playbookInline: |
          - hosts: localhost
            gather_facts: false
            tasks:
            - name: Write the network
              ansible.builtin.copy: {dest: "{{ directory }}/network", content: "n\n"}
      - name: page
        playbookInline: |
          - hosts: localhost
            gather_facts: false
            tasks:
            - name: Write the page
              ansible.builtin.copy: {dest: "{{ directory }}/page", content: "p\n"}
`

// TestKubectlTerminal decides at a terminal about the runs of an XR.
func TestKubectlTerminal(t *testing.T) {
	t.Parallel()
	needs.Program(t, "tmux")

	d := data{Kind: "Guarded", Namespace: cp.Namespace(t), Composition: "guarded-sites", Title: "Hello", Directory: directory(t)}
	xr := siteWith(t, d, guardedComposition, "{approval: Required}")

	// The deletions at the end of the test are to need no approval.
	t.Cleanup(func() {
		out, err := cp.TryKubectl("--namespace="+d.Namespace, "patch", "providerconfigs.ansible.m.crossplane.io", "default",
			"--type=merge", `--patch={"spec": {"approval": null}}`)
		if err != nil {
			t.Errorf("cannot end the need of approvals: %s\n%s", err, out)
		}
	})

	const runs, selector = "ansibleruns.ansible.m.crossplane.io", "--selector=crossplane.io/composite=site"

	cp.WaitFor(t, xr, Reason("AnsibleRunsReady", "AwaitingApproval"), Message("AnsibleRunsReady", "network: "), Message("AnsibleRunsReady", "page: "))

	// The command waits for an approval until it is interrupted.
	term := inTmux(t, d, "", "run", "guardeds/site")
	if out := term.waitFor("AwaitingApproval", "awaits approval:", "kubectl ansible approve"); !strings.Contains(out, "\x1b[33mAwaitingApproval") {
		t.Errorf("There should be colors in a terminal:\n%q", out)
	}

	term.send("C-c")
	term.waitFor("interrupted: what was asked for goes on", "exit status 1")

	// The checks go on that were asked for. What is being checked awaits nothing.
	for _, o := range cp.Composed(t, xr) {
		if o.Kind != "AnsibleRun" {
			continue
		}

		cp.WaitFor(t, o, Field("status.atProvider.approval.state", "Awaiting"), That("the check that was asked for has ended", func(u *unstructured.Unstructured) bool {
			handled, _ := Value(u, "status.atProvider.handledRequest").(string)
			return handled == u.GetAnnotations()["crossplane.io/reconcile-requested-at"]
		}))
	}

	// An interrupt of the question decides nothing.
	term = inTmux(t, d, "", "approve", "guardeds/site")
	term.waitFor("Write the network on localhost", "Write the page on localhost", "approve this? [y/N]")
	term.send("C-c")
	term.waitFor("exit status 130")

	// Two runs are rejected by their label. Nothing follows from a request then.
	inOrder(t, ansible(t, 0, d, "reject", runs, selector, "--yes", "--reason=not today"), "rejected by", "rejected by")

	for _, o := range cp.Composed(t, xr) {
		if o.Kind == "AnsibleRun" {
			cp.WaitFor(t, o, Reason("Approved", "Rejected"))
		}
	}

	inOrder(t, ansible(t, 0, d, "status", "guardeds/site"), "network", "AwaitingApproval", "rejected by", "not today", "kubectl ansible approve", "page", "rejected by")
	inOrder(t, ansible(t, 2, d, "run", "guardeds/site"), "was rejected by", "was rejected by", "not all runs have succeeded")
	inOrder(t, ansible(t, 1, d, "approve", runs, "--selector=crossplane.io/composite=missing", "--yes"), "no objects found")

	if exists(filepath.Join(d.Directory, "network")) || exists(filepath.Join(d.Directory, "page")) {
		t.Error("Nothing should be applied that was rejected.")
	}

	// An answer approves both.
	term = inTmux(t, d, "", "approve", runs, selector)
	term.waitFor("Rejected by", "approve this? [y/N]")
	term.send("y", "Enter")
	term.waitFor("approved by", "exit status 0")

	cp.WaitFor(t, xr, Condition("Ready", "True"))

	if got := readFile(t, filepath.Join(d.Directory, "network")) + readFile(t, filepath.Join(d.Directory, "page")); got != "n\np\n" {
		t.Errorf("What was approved should be applied, got %q", got)
	}

	// A change is a line.
	term = inTmux(t, d, "1", "status", "guardeds/site", "--watch")
	if out := term.waitFor("network Ready", "page Ready"); strings.Contains(out, "\x1b[3") {
		t.Errorf("There should be no colors with NO_COLOR:\n%q", out)
	}

	term.send("C-c")
	term.waitFor("exit status 0")

	completes(t, d)
}

// completes checks that kubectl completes arguments of the plugin, as docs/kubectl.md installs it, and runs nothing.
func completes(t *testing.T, d data) {
	t.Helper()

	complete := func(args ...string) string {
		cmd := plugin(t, d, "status")

		bin := t.TempDir()
		needs.OK(t, os.Symlink(pluginPath(t), filepath.Join(bin, "kubectl_complete-ansible")))

		for i, v := range cmd.Env {
			if path, ok := strings.CutPrefix(v, "PATH="); ok {
				cmd.Env[i] = "PATH=" + bin + ":" + path
			}
		}

		cmd.Args = append([]string{cmd.Args[0], "__complete", "ansible"}, args...)

		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("kubectl __complete: %s\n%s", err, out)
		}

		return string(out)
	}

	inOrder(t, complete("st"), "status", "Show the runs")
	inOrder(t, complete("run", "guar"), "guardeds.e2e.example.org")
	inOrder(t, complete("run", "--namespace="+d.Namespace, "guardeds/"), "guardeds/site")
	inOrder(t, complete("run", "--namespace="+d.Namespace, "guardeds", ""), "site")

	before := ansible(t, 0, d, "status", "guardeds/site", "--output=yaml")
	inOrder(t, complete("run", "--namespace="+d.Namespace, "guardeds/si"), "guardeds/site")

	if after := ansible(t, 0, d, "status", "guardeds/site", "--output=yaml"); after != before {
		t.Errorf("What is completed should not run, got\n%s", after)
	}
}

// pluginPath is where make builds the plugin.
func pluginPath(t *testing.T) string {
	t.Helper()

	path, err := filepath.Abs("../../bin/kubectl-ansible")
	needs.OK(t, err)

	return path
}
