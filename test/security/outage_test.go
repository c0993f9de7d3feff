package security

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/collection"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// TestPlayOutage has a play take away the modes of the provider's own directories, as any process of
// the same user may. The next run, and the next provider, must restore them.
func TestPlayOutage(t *testing.T) {
	if asUser(t) {
		return
	}

	state, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)

	p := sandbox.Policy{Mode: sandbox.Required, State: state, System: system(t, state)}
	runs, store, collections, lock := filepath.Join(state, "runs"), filepath.Join(state, "content"), filepath.Join(state, "collections"), filepath.Join(state, "lock")

	// t.TempDir cannot remove directories without their modes.
	t.Cleanup(func() { must(t, workdir.Remove(state)) })

	// What a provider does when it starts.
	start := func() *runner.Runner {
		must(t, os.MkdirAll(state, 0o700))

		f, err := workdir.Lock(lock)
		must(t, err)
		must(t, f.Close())

		shipped := collection.At(collections)

		r, err := runner.New(runs, runner.WithPolicy(p), runner.WithShipped(shipped))
		must(t, err)
		must(t, r.Sweep(t.Context(), nil, func(name string, err error) { t.Errorf("Sweep(...): %s: %v", name, err) }))
		must(t, shipped.Repair())

		_, err = content.NewStore(content.Config{Dir: store})
		must(t, err)

		return r
	}

	temp, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)

	domain, err := p.Domain(nil, []string{temp}, sandbox.Grant{})
	must(t, err)

	// wantBarred fails the test unless the paths cannot be used with the rights of a run.
	wantBarred := func(want ...string) {
		t.Helper()

		var out bytes.Buffer

		_, err := supervisor.Command{
			Self: self, Argv: append([]string{"/bin/sh", "-c", `for p; do test -r "$p" || echo "$p"; done`, "sh"}, lock, store, collections, runs),
			Env: []string{"PATH=/usr/bin:/bin"}, Dir: temp, Domain: domain, Stdout: &out, Stderr: &out,
		}.Run(t.Context())
		must(t, err)

		if diff := cmp.Diff(want, strings.Fields(out.String()), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("What runs cannot use: -want, +got:\n%s", diff)
		}
	}

	const works = "\n  - ansible.builtin.set_stats: {data: {works: true}}\n"

	attack := func(r *runner.Runner) {
		// It cannot reach its own directory any more, and so may fail.
		_, err := r.Run(t.Context(), runner.Spec{
			ID: "attack", Mode: common.ModeApply, State: common.StatePresent, Trigger: common.TriggerCreated, Attempt: 1,
			Inputs: inputs.Inputs{Parameters: common.AnsibleRunParameters{PlaybookInline: "- hosts: localhost\n  gather_facts: false\n  tasks:\n" +
				"  - ansible.builtin.command: chmod 0 " + lock + " " + filepath.Join(store, "sets") + " " + store + " " + collections + " " + runs + "\n"}},
		}, events.Watch{})
		must(t, err)

		// The directory of the runs is needed to remove this one.
		wantBarred(lock, store, collections)
	}

	r := start()
	wantBarred()

	attack(r)
	play(t, r, works)
	wantBarred(lock, store)

	attack(r)
	must(t, os.Chmod(runs, 0))
	must(t, os.Chmod(state, 0))
	wantBarred(lock, store, collections, runs)

	play(t, start(), works)
}
