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
		"Complete": {reason: "Arguments that are completed are not acted on.", called: []string{"/usr/local/bin/kubectl_complete-ansible", "cancel", "site/x"}, want: []string{"__complete", "cancel", "site/x"}},
		"Empty":    {reason: "A word that has not begun is completed, too.", called: []string{"kubectl_complete-ansible.exe", ""}, want: []string{"__complete", ""}},
		"None":     {reason: "Without arguments there are none.", called: []string{"kubectl-ansible"}, want: []string{}},
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
		"Type":       {reason: "A type comes first.", args: []string{"ansiblerun", "ansibleruns"}, want: []string{"ansibleruns.ansible.m.crossplane.io", "ansibleruns"}},
		"Names":      {reason: "Or each name has one.", args: []string{"AnsibleRun/x", "ansibleruns/y"}, want: []string{"ansibleruns.ansible.m.crossplane.io/x", "ansibleruns.ansible.m.crossplane.io/y"}},
		"Group":      {reason: "A group that is named is meant.", args: []string{"ansibleruns.ansible.crossplane.io", "x"}, want: []string{"ansibleruns.ansible.crossplane.io", "x"}},
		"AnotherOne": {reason: "Other types are left alone.", args: []string{"site/ansiblerun"}, want: []string{"site/ansiblerun"}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, inNamespaces(tc.args)); diff != "" {
				t.Errorf("\n%s\ninNamespaces(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// What needs no cluster: test/e2e has the rest.
func TestRun(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   []string
		status int
		out    string
		err    string
	}{
		"Help":      {reason: "Without a command there is help.", out: "kubectl ansible [command]"},
		"Version":   {reason: "The version can be asked for.", args: []string{"--version"}, out: "kubectl-ansible dev"},
		"NoObjects": {reason: "An object has to be named.", args: []string{"status"}, status: exitError, err: "error: name an object as TYPE NAME or TYPE/NAME"},
		"Unknown":   {reason: "A command has to be there.", args: []string{"stop", "site/x"}, status: exitError, err: `unknown command "stop"`},
		"Flag":      {reason: "A flag has to be there.", args: []string{"status", "site/x", "--al"}, status: exitError, err: "unknown flag: --al"},
		"NoServer":  {reason: "What is not known is not said to be missing.", args: []string{"status", "-A", "--kubeconfig=/dev/null", "--server=http://127.0.0.1:1"}, status: exitError, err: "error: Get \"http://127.0.0.1:1/"},
		"Timeout":   {reason: "A flag has to have a value of its kind.", args: []string{"run", "site/x", "--timeout=soon"}, status: exitError, err: `invalid argument "soon"`},
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
