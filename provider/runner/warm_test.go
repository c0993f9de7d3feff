package runner

import (
	"flag"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// everyRunWarm is a parameter of all tests here: their runs start warm, or cold.
var everyRunWarm = flag.Bool("warm", false, "start the runs of all tests by forking a process that has imported Ansible")

// shared is a runner that keeps a process for all tests.
var shared = sync.OnceValues(func() (*Runner, error) {
	dir, err := os.MkdirTemp("", "warm")
	if err != nil {
		return nil, err
	}

	return New(dir, WithWarm(Warm{Memory: 1 << 30, Odd: func(err error) { panic(err) }}))
})

// warmUp has a runner start its runs warm, if its Ansible is that of the machine.
func warmUp(t *testing.T, r *Runner) {
	t.Helper()

	w, err := shared()
	if err != nil {
		t.Fatal(err)
	}

	if r.keeper != nil || !slices.Equal(r.python, w.python) || !slices.Equal(r.play, w.play) {
		return
	}

	if err := w.WarmUp(t.Context()); err != nil {
		t.Fatal(err)
	}

	r.keeper = w.keeper
}

// TestWarm tells warm starts from cold ones, which do not differ otherwise.
func TestWarm(t *testing.T) {
	needs.Ansible(t)

	for name, tc := range map[string]struct {
		env  map[string]string
		cold string
	}{
		"Warm":        {},
		"Settings":    {env: map[string]string{"ANSIBLE_TIMEOUT": "17", "ANSIBLE_PIPELINING": "1", "ANSIBLE_LIBRARY": "/nowhere"}},
		"ImportedSet": {env: map[string]string{"ANSIBLE_COLOR_OK": "blue"}, cold: "setting COLOR_OK"},
		"Locale":      {env: map[string]string{"LC_NUMERIC": "C.UTF-8"}, cold: "variable LC_NUMERIC"},
	} {
		t.Run(name, func(t *testing.T) {
			cold := "no start"
			r := newRunner(t)
			r.warm.Started = func(why string) { cold = why }
			warmUp(t, r)

			run := inline(`
- hosts: localhost
  gather_facts: false
  tasks:
  - ansible.builtin.debug: {msg: "{{ lookup('ansible.builtin.config', 'DEFAULT_TIMEOUT') }}"}
`)
			run.Inputs.Env = tc.env

			if res := must(t, r, run); res.Phase != common.PhaseSucceeded || cold != tc.cold {
				t.Errorf("Want a success and the start %q, got %v and %q", tc.cold, res, cold)
			}
		})
	}
}
