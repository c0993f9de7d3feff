package pods

import (
	"testing"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
)

// request a run, and wait for its answer.
func (s *scene) request(t *testing.T, token string) {
	t.Helper()
	cp.Kubectl(t, "annotate", "--overwrite", "--namespace="+s.Namespace, "ansiblerun.ansible.m.crossplane.io", "run", "crossplane.io/reconcile-requested-at="+token)
	s.ready(t, Field("status.atProvider.handledRequest", token), Field("status.atProvider.lastRun.trigger", "Requested"))
}

// TestPlaceChanges moves the runs of a configuration from one place to the other and back. The next run happens at the
// new place, and the move itself causes no run: each request is answered by exactly one.
func TestPlaceChanges(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	pod := s.Execution
	s.Open("present")
	s.Execution = "{place: Provider}"
	s.apply(t, waiting)
	s.ready(t, Field("status.atProvider.lastRun.pod", nil), Field("status.atProvider.lastRun.trigger", "Created"))

	s.Execution = pod
	s.apply(t, config)
	s.request(t, "1")
	s.pod(t)

	s.Execution = "{place: Provider}"
	s.apply(t, config)
	s.request(t, "2")
	s.ready(t, Field("status.atProvider.lastRun.pod", nil))

	if got := s.Count("begin/"); got != 3 {
		t.Errorf("Only requests should have started runs after the first: got %v", s.Notes())
	}
}
