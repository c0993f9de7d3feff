package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestArguments(t *testing.T) {
	cases := map[string]struct {
		reason       string
		called, want []string
	}{
		"Plugin":   {reason: "kubectl runs the plugin with its arguments.", called: []string{"/usr/local/bin/kubectl-ansible", "cancel", "site/x"}, want: []string{"cancel", "site/x"}},
		"Complete": {reason: "For a completion, the command is not executed.", called: []string{"/usr/local/bin/kubectl_complete-ansible", "cancel", "site/x"}, want: []string{"__complete", "cancel", "site/x"}},
		"Empty":    {reason: "An empty word is completed.", called: []string{"kubectl_complete-ansible.exe", ""}, want: []string{"__complete", ""}},
		"None":     {reason: "The arguments may be empty.", called: []string{"kubectl-ansible"}, want: []string{}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, arguments(tc.called)); diff != "" {
				t.Errorf("\n%s\narguments(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestInNamespaces(t *testing.T) {
	cases := map[string]struct {
		reason     string
		args, want []string
	}{
		"Type":       {reason: "The first argument is a type.", args: []string{"ansiblerun", "ansibleruns"}, want: []string{"ansibleruns.ansible.m.crossplane.io", "ansibleruns"}},
		"Names":      {reason: "Each argument is a type with a name.", args: []string{"AnsibleRun/x", "ansibleruns/y"}, want: []string{"ansibleruns.ansible.m.crossplane.io/x", "ansibleruns.ansible.m.crossplane.io/y"}},
		"Group":      {reason: "A type with a group is not changed.", args: []string{"ansibleruns.ansible.crossplane.io", "x"}, want: []string{"ansibleruns.ansible.crossplane.io", "x"}},
		"AnotherOne": {reason: "Other types are not changed.", args: []string{"site/ansiblerun"}, want: []string{"site/ansiblerun"}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, inNamespaces(tc.args)); diff != "" {
				t.Errorf("\n%s\ninNamespaces(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRun tests commands without a cluster; test/e2e tests the others.
func TestRun(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   []string
		status int
		out    string
		err    string
	}{
		"Help":      {reason: "Without a command, help is shown.", out: "kubectl ansible [command]"},
		"Version":   {reason: "A flag shows the version.", args: []string{"--version"}, out: "kubectl-ansible dev"},
		"NoObjects": {reason: "An object has to be named.", args: []string{"status"}, status: exitError, err: "error: name an object as TYPE NAME or TYPE/NAME"},
		"Unknown":   {reason: "A command must exist.", args: []string{"stop", "site/x"}, status: exitError, err: `unknown command "stop"`},
		"Flag":      {reason: "A flag must exist.", args: []string{"status", "site/x", "--al"}, status: exitError, err: "unknown flag: --al"},
		"NoServer":  {reason: "An error of the API server is not reported as a missing object.", args: []string{"status", "-A", "--kubeconfig=/dev/null", "--server=http://127.0.0.1:1"}, status: exitError, err: "error: Get \"http://127.0.0.1:1/"},
		"Timeout":   {reason: "The value of a flag must have its type.", args: []string{"run", "site/x", "--timeout=soon"}, status: exitError, err: `invalid argument "soon"`},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer

			status := run(tc.args, &out, &errs)
			if status != tc.status || !strings.Contains(out.String(), tc.out) || !strings.Contains(errs.String(), tc.err) {
				t.Errorf("\n%s\nrun(...): want %d, %q, %q, got %d\n%s\n%s", tc.reason, tc.status, tc.out, tc.err, status, out.String(), errs.String())
			}
		})
	}
}
