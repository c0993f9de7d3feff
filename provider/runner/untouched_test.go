package runner

import (
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// A run that has told nothing of its tasks may have carried some out: where the
// disk is full, events are lost.
func TestUntouchedWithoutEvents(t *testing.T) {
	const missing = "the role 'nothing' was not found (installed: nothing)"

	later := func(keyword string) string {
		return "- hosts: localhost\n  gather_facts: false\n  tasks:\n  - ansible.builtin.debug:\n- hosts: localhost\n  " + keyword + ": '{{ nothing }}'\n  tasks: []\n"
	}
	broken := "- hosts: localhost\n  roles: [nothing]\n"
	sound := "- hosts: localhost\n  tasks: []\n"

	type claim struct {
		reason string
		ending ending
		want   bool
	}

	began := func(s events.Summary) ending { return ending{code: 1, text: "SAME", summary: s} }

	cases := map[string]struct {
		playbook string
		claims   []claim
	}{
		"Broken": {broken, []claim{
			{"A playbook that cannot be loaded was not executed.", ending{code: 1, text: "SAME"}, true},
			{"Another error may have come later.", ending{code: 1, text: "No space left on device"}, false},
			{"So may another exit status.", ending{code: 250, text: "SAME"}, false},
			{"Silence has proven nothing.", ending{code: 1}, false},
			{"A play that has begun was loaded.", began(events.Summary{Play: "p"}), false},
			{"A task that has begun may have changed something.", began(events.Summary{Started: true}), false},
			{"A run that was ended is not known to have stayed where it was.", ending{code: 1, text: "SAME", cause: errTimedOut}, false},
		}},
		"Sound":  {sound, []claim{{"A playbook that can be loaded may have been executed.", ending{code: 1, text: missing}, false}}},
		"Serial": {later("serial"), []claim{{"A play is templated when it is its turn: others may have been executed before.", ending{code: 4, text: "SAME"}, false}}},
		"Hosts":  {later("hosts"), []claim{{"So are the hosts of a play.", ending{code: 4, text: "SAME"}, false}}},
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

			for _, c := range tc.claims {
				if c.ending.text == "SAME" {
					c.ending.text = rec.Text()
				}

				if c.want && code != c.ending.code {
					t.Fatalf("%s\nAnsible should have ended with exit status %d, not %d: %s", c.reason, c.ending.code, code, rec.Text())
				}

				if got := r.untouched(t.Context(), run, c.ending); got != c.want {
					t.Errorf("%s\nuntouched(...): want %t, got %t; Ansible said %q", c.reason, c.want, got, rec.Text())
				}
			}
		})
	}
}
