package runner

import (
	"regexp"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// What carries a run out is told before its play begins, and starts nothing if it is too old.
func TestRunVersions(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct {
		reason string
		// core and runner are the oldest versions that do.
		core, runner string
		// err is a regular expression.
		err string
	}{
		"Fit": {reason: "Numbers are compared, not texts.", core: "2.3", runner: "2.3.0rc1"},
		"Old": {
			reason: "An old ansible-core would be misunderstood. All that is too old is named.", core: "99.0", runner: "98.7",
			err: `ansible-core 2\.\d+\.\d+ is too old: 99\.0 or newer is needed; ansible-runner 2\.\d+\.\d+ is too old: 98\.7 or newer is needed`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r := newRunner(t)
			run := inline("- {hosts: localhost, gather_facts: false, tasks: [{ansible.builtin.debug: }]}")

			p, err := r.prepare(run)
			needs.OK(t, err)

			p.Args = append(p.Args[:len(p.Args)-2], tc.core, tc.runner)

			lock, err := workdir.Lock(workdir.LockFile(p.Dir))
			needs.OK(t, err)
			defer lock.Close()

			var seen []events.Summary

			res, err := r.run(t.Context(), run, p, lock, events.Watch{Progress: func(s events.Summary) { seen = append(seen, s) }})

			message := ""
			if err != nil {
				message = err.Error()
			}

			if !regexp.MustCompile("^" + tc.err + "$").MatchString(message) {
				t.Fatalf("%s\nrun(...): want error %q, got %v", tc.reason, tc.err, err)
			}

			if want := tc.err != ""; res.Untouched != want || seen[len(seen)-1].Started == want {
				t.Errorf("%s\nrun(...): want untouched %t, got %+v, %+v", tc.reason, want, res, seen)
			}

			versions := regexp.MustCompile(`^ansible-core 2\.\d+\.\S+, ansible-runner 2\.\d+\.\S+, Python 3\.\d+\.\S+$`)
			if v := seen[0].Versions; seen[0].Started || !versions.MatchString(v) {
				t.Errorf("%s\nrun(...): the versions should be told first, got %q", tc.reason, v)
			}
		})
	}
}
