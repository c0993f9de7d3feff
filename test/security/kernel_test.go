package security

import (
	"bufio"
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"golang.org/x/sys/unix"

	"github.com/crossplane-ansible/crossplane-ansible/provider/config"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/sshd"
)

// kernels that this one imitates, and the system calls that they refuse.
var kernels = map[string]seccomp.SyscallGroup{
	// It reports version 6, by the flag, and lacks the scope of signals. A filter sees no more of a ruleset than its size:
	// 24 bytes have scopes in them.
	"RHEL9": {
		NamesWithCondtions: []seccomp.NameWithConditions{{Name: "landlock_create_ruleset", Conditions: seccomp.ArgumentConditions{
			{Argument: 1, Operation: seccomp.GreaterOrEqual, Value: 24}, {Argument: 2, Operation: seccomp.Equal},
		}}},
		Action: seccomp.ActionErrno | seccomp.Action(unix.EINVAL),
	},
	"NoLandlock": {
		Names:  []string{"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"},
		Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS),
	},
}

// onKernel executes a program on another kernel.
func onKernel(name string, argv []string) error {
	runtime.LockOSThread()

	filter := seccomp.Filter{NoNewPrivs: true, Policy: seccomp.Policy{
		DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{kernels[name]},
	}}
	if err := seccomp.LoadFilter(filter); err != nil {
		return err
	}

	return unix.Exec(argv[0], argv, os.Environ())
}

// A world is a kernel and a command for the program, with the expected result.
type world struct {
	reason string
	// kernel that is imitated.
	kernel string
	// start the controllers, instead of a play.
	start bool
	// cluster is true for an AnsibleRun of the platform team.
	cluster bool
	flags   []string
	// never is a text that the output must lack; empty for none.
	never string
	// want is a part of the output: the reason if a play is refused.
	want    string
	refused bool
}

// reaching are tasks that tell what a run may do on its own machine.
const reaching = `
  - {ansible.builtin.file: {path: "{{ playbook_dir }}/made", state: touch, mode: "600"}, register: made}
  - {ansible.builtin.command: cat SECRET, register: secret, ignore_errors: true}
  - ansible.builtin.debug: {msg: "made={{ made.changed }} secret={{ secret is succeeded }}"}
`

// TestWorlds has the program play, and start, where its users have it: on other kernels than that of the tests.
func TestWorlds(t *testing.T) {
	const (
		confined   = "made=True secret=False"
		unconfined = "made=True secret=True"
		started    = `"msg":"Starting"`
	)

	cases := map[string]world{
		"RHEL9":           {reason: "A kernel that lacks a scope keeps runs from files.", kernel: "RHEL9", want: confined},
		"StartRHEL9":      {reason: "The provider starts on a kernel that lacks a scope.", kernel: "RHEL9", start: true, want: started},
		"Tenant":          {reason: "Without Landlock a tenant's run is refused, and the message names the flag.", kernel: "NoLandlock", want: "--confinement=BestEffort", refused: true},
		"Platform":        {reason: "Without Landlock a run of the platform team is allowed.", kernel: "NoLandlock", cluster: true, want: unconfined},
		"PlatformWarned":  {reason: "A run without confinement causes a warning.", kernel: "NoLandlock", cluster: true, want: "Runs are NOT confined"},
		"BestEffort":      {reason: "BestEffort allows the run of a tenant without Landlock.", kernel: "NoLandlock", flags: []string{"--confinement=BestEffort"}, want: unconfined},
		"StartNoLandlock": {reason: "The provider starts on every kernel.", kernel: "NoLandlock", start: true, want: started},
		"StartWarned":     {reason: "The provider warns on a kernel without Landlock.", kernel: "NoLandlock", start: true, want: "Runs are NOT confined"},
		"StartPods": {
			reason: "A provider for Pods alone needs no Landlock.", kernel: "NoLandlock", start: true,
			flags: []string{"--place=PodsOnly"}, want: started, never: "Runs are NOT confined",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needLandlock(t)

			if err := tc.visit(t); err != nil {
				t.Errorf("%s\n%v", tc.reason, err)
			}
		})
	}
}

// visit a world, and return an error if the result differs from the expected one.
func (w world) visit(t *testing.T) error {
	t.Helper()

	program, err := filepath.Abs("../../bin/provider-ansible")
	needs.OK(t, err)
	needs.Built(t, "test-e2e", program)

	dir := t.TempDir()
	write := func(name, text string) string {
		needs.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))

		return filepath.Join(dir, name)
	}

	argv := []string{program, "start", "--metrics-bind-address=0", "--health-probe-bind-address=0"}
	if !w.start {
		tasks := strings.ReplaceAll(reaching, "SECRET", write("secret", "of another run"))
		argv = []string{program, "run", "--file=" + write("run.yaml", manifests(w.cluster, tasks))}
	}

	argv = append(argv, "--state-dir="+filepath.Join(dir, "state"))
	argv = append(argv, w.flags...)

	cmd := exec.CommandContext(t.Context(), os.Args[0], slices.Concat([]string{"on-kernel", w.kernel}, argv)...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + write("kubeconfig", kubeconfig(t))}

	pipe, err := cmd.StdoutPipe()
	needs.OK(t, err)

	cmd.Stderr = cmd.Stdout
	needs.OK(t, cmd.Start())

	var out strings.Builder

	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		out.WriteString(lines.Text() + "\n")

		if w.start && strings.Contains(lines.Text(), w.want) {
			needs.OK(t, cmd.Process.Signal(syscall.SIGTERM))
		}
	}

	err = cmd.Wait()
	shown := strings.Contains(out.String(), w.want) && (w.never == "" || !strings.Contains(out.String(), w.never))

	if shown && (w.start || w.refused == (err != nil)) {
		return nil
	}

	return fmt.Errorf("%w\n%s", err, &out)
}

// manifests of an AnsibleRun with tasks, which is cluster scoped or not.
func manifests(cluster bool, tasks string) string {
	group, kind := "ansible.m.crossplane.io", "kind: ProviderConfig,"
	if cluster {
		group, kind = "ansible.crossplane.io", ""
	}

	playbook := strings.ReplaceAll("- hosts: localhost\n  gather_facts: false\n  tasks:"+tasks, "\n", "\n      ")

	return strings.NewReplacer("GROUP", group, "KIND", kind, "PLAYBOOK", playbook).Replace(`
apiVersion: GROUP/v1alpha1
kind: ProviderConfig
metadata: {namespace: default, name: default}
spec: {}
---
apiVersion: GROUP/v1alpha1
kind: AnsibleRun
metadata: {namespace: default, name: run}
spec:
  providerConfigRef: {KIND name: default}
  forProvider:
    playbookInline: |
      PLAYBOOK
`)
}

// overSSH are tasks that reach a host.
func overSSH(t *testing.T) string {
	t.Helper()

	server := sshd.Start(t, t.TempDir(), sshd.Options{})

	return fmt.Sprintf(`
  - {ansible.builtin.copy: {dest: key, mode: "600", content: %q}}
  - ansible.builtin.add_host: {name: target, ansible_host: %q, ansible_port: %d, ansible_user: %q, ansible_ssh_private_key_file: key}
  - {ansible.builtin.raw: "true", delegate_to: target, register: reached}
  - ansible.builtin.debug: {msg: "reached={{ reached is succeeded }}"}
`, server.Key, server.Host, server.Port, server.User)
}

// kubeconfig of an API server that knows what a provider asks it until its controllers start.
func kubeconfig(t *testing.T) string {
	t.Helper()

	answers := map[string]string{
		"/api": `{"kind": "APIVersions", "versions": ["v1"]}`,
		"/api/v1": `{"kind": "APIResourceList", "groupVersion": "v1", "resources": [
			{"name": "configmaps", "kind": "ConfigMap", "namespaced": true}, {"name": "secrets", "kind": "Secret", "namespaced": true}]}`,
		"/apis": `{"kind": "APIGroupList", "groups": [
			{"name": "apiextensions.k8s.io", "versions": [{"groupVersion": "apiextensions.k8s.io/v1", "version": "v1"}]},
			{"name": "authorization.k8s.io", "versions": [{"groupVersion": "authorization.k8s.io/v1", "version": "v1"}]}]}`,
		"/apis/apiextensions.k8s.io/v1": `{"kind": "APIResourceList", "groupVersion": "apiextensions.k8s.io/v1", "resources": [
			{"name": "customresourcedefinitions", "kind": "CustomResourceDefinition"}]}`,
		"/apis/authorization.k8s.io/v1": `{"kind": "APIResourceList", "groupVersion": "authorization.k8s.io/v1", "resources": [
			{"name": "selfsubjectaccessreviews", "kind": "SelfSubjectAccessReview"}]}`,
		"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": `{
			"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "status": {"allowed": true}}`,
		"/api/v1/namespaces/crossplane-system/secrets/" + config.KeySecret: `{"kind": "Secret", "apiVersion": "v1", "data": {"key": "` +
			base64.StdEncoding.EncodeToString(make([]byte, config.KeySize)) + `"}}`,
	}

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")

		if answers[r.URL.Path] == "" {
			w.WriteHeader(http.StatusNotFound)
		}

		fmt.Fprint(w, cmp.Or(answers[r.URL.Path], `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`))
	}))
	t.Cleanup(server.Close)

	return fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: x,
		contexts: [{name: x, context: {cluster: x}}], clusters: [{name: x, cluster: {server: %q}}]}`, server.URL)
}
