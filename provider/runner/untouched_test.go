package runner

import (
	"path/filepath"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// Whether content may have changed something decides whether an object whose
// runs have all failed may go without a run with state absent.
func TestRunUntouched(t *testing.T) {
	const play = "- hosts: localhost\n  gather_facts: false\n  tasks:\n  - ansible.builtin.debug:\n"

	cases := map[string]struct {
		reason   string
		playbook string
		want     bool
	}{
		"Syntax": {
			reason:   "A playbook that cannot be parsed has no tasks.",
			playbook: play + "  - a: b\n    c: d\n",
			want:     true,
		},
		"SecondPlay": {
			reason:   "All plays are loaded before the first one begins.",
			playbook: play + "- hosts: localhost\n  roles: [nothing]\n",
			want:     true,
		},
		"Collection": {
			reason:   "A module that is missing is missed when it is its turn: there were tasks before.",
			playbook: play + "  - include_role: {name: nothing}\n",
		},
		"Undefined": {
			reason:   "A play whose variables cannot be templated ends Ansible after the plays before it.",
			playbook: play + "- hosts: '{{ nothing }}'\n  tasks: []\n",
		},
		"Failed": {
			reason:   "A task that fails may have changed something.",
			playbook: "- hosts: localhost\n  gather_facts: false\n  tasks:\n  - ansible.builtin.fail:\n",
		},
		"Succeeded": {
			reason:   "So has one that succeeds.",
			playbook: play,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			run := inline(tc.playbook)
			run.Timeout = patience

			got := must(t, newRunner(t), run)
			if got.Untouched != tc.want {
				t.Errorf("%s\nRun(...): want untouched %t, got %t: %s: %s", tc.reason, tc.want, got.Untouched, got.Reason, got.Message)
			}
		})
	}
}

// A run that has told nothing of its tasks may have carried some out: where the
// disk is full, events are lost.
func TestUntouchedWithoutEvents(t *testing.T) {
	const missing = "the role 'nothing' was not found (installed: nothing)"

	later := func(keyword string) string {
		return "- hosts: localhost\n  gather_facts: false\n  tasks:\n  - ansible.builtin.debug:\n- hosts: localhost\n  " + keyword + ": '{{ nothing }}'\n  tasks: []\n"
	}
	broken := "- hosts: localhost\n  roles: [nothing]\n"
	sound := "- hosts: localhost\n  tasks: []\n"

	cases := map[string]struct {
		reason   string
		playbook string
		ending   ending
		want     bool
	}{
		"Broken":  {reason: "A playbook that cannot be loaded was not executed.", playbook: broken, ending: ending{code: 1, text: "SAME"}, want: true},
		"Text":    {reason: "Another error may have come later.", playbook: broken, ending: ending{code: 1, text: "No space left on device"}},
		"Code":    {reason: "So may another exit status.", playbook: broken, ending: ending{code: 250, text: "SAME"}},
		"Silence": {reason: "Who says nothing has proven nothing.", playbook: broken, ending: ending{code: 1}},
		"Sound":   {reason: "A playbook that can be loaded may have been executed.", playbook: sound, ending: ending{code: 1, text: missing}},
		"Later":   {reason: "A play is templated when it is its turn: others may have been executed before.", playbook: later("serial"), ending: ending{code: 4, text: "SAME"}},
		"Hosts":   {reason: "So are the hosts of a play.", playbook: later("hosts"), ending: ending{code: 4, text: "SAME"}},
		"Play":    {reason: "A play that has begun was loaded.", playbook: broken, ending: ending{code: 1, text: "SAME", summary: events.Summary{Play: "p"}}},
		"Began":   {reason: "A task that has begun may have changed something.", playbook: broken, ending: ending{code: 1, text: "SAME", summary: events.Summary{Started: true}}},
		"Ended":   {reason: "A run that was ended is not known to have stayed where it was.", playbook: broken, ending: ending{code: 1, text: "SAME", cause: errTimedOut}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r := newRunner(t)
			run := inline(tc.playbook)

			plan, err := r.prepare(run)
			if err != nil {
				t.Fatal(err)
			}

			lock, err := workdir.Lock(workdir.LockFile(plan.Dir))
			if err != nil {
				t.Fatal(err)
			}

			defer lock.Close()

			if err := plan.write(); err != nil {
				t.Fatal(err)
			}

			// What Ansible really says.
			rec := plan.recorder(run, events.Watch{}, false)
			code, _, err := r.execute(t.Context(), plan, lock, rec)
			if err != nil {
				t.Fatal(err)
			}

			if tc.ending.text == "SAME" {
				tc.ending.text = rec.Text()
			}

			if tc.want && code != tc.ending.code {
				t.Fatalf("%s\nAnsible should have ended with exit status %d, not %d: %s", tc.reason, tc.ending.code, code, rec.Text())
			}

			if got := r.untouched(t.Context(), run, tc.ending); got != tc.want {
				t.Errorf("%s\nuntouched(...): want %t, got %t; Ansible said %q in %s", tc.reason, tc.want, got, rec.Text(), filepath.Base(plan.Dir))
			}
		})
	}
}
