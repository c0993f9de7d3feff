package runner

import (
	"regexp"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestRunVersions has tools that are too old. The driver reports them before the play begins. Versions are compared as
// numbers, not as text.
func TestRunVersions(t *testing.T) {
	t.Parallel()

	r := newRunner(t)
	run := inline("- {hosts: localhost, gather_facts: false, tasks: [{ansible.builtin.debug: }]}")

	p, err := r.prepare(run)
	needs.OK(t, err)

	p.Args[2], p.Args[3] = "2.3", "98.7"

	var seen []events.Summary

	res, err := r.run(t.Context(), run, p, events.Watch{Progress: func(s events.Summary) { seen = append(seen, s) }})

	if err == nil || !regexp.MustCompile(`^ansible-runner 2\.\d+\.\d+ is too old: 98\.7 or newer is needed$`).MatchString(err.Error()) {
		t.Errorf("run(...): want an error that names what is too old, got %v", err)
	}

	versions := regexp.MustCompile(`^ansible-core 2\.\d+\.\S+, ansible-runner 2\.\d+\.\S+, Python 3\.\d+\.\S+$`)
	if len(seen) != 1 || !res.Untouched || seen[0].Started || !versions.MatchString(seen[0].Versions) {
		t.Errorf("run(...): want the versions, and nothing run, got %+v, %+v", seen, res)
	}
}
