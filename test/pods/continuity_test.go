package pods

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestContinuity ends the provider several times, and the API server once, with runs in progress. Each run ends once, and
// is recorded once. test/faults proves the cleanup after interrupted runs, which takes minutes.
func TestContinuity(t *testing.T) {
	const runs = 6

	s := newScene(t)
	objects := make([]Object, runs)
	for i := range runs {
		objects[i] = s.run()
		objects[i].Name = fmt.Sprintf("run-%02d", i)
		s.Names = append(s.Names, objects[i].Name)
	}
	s.apply(t, config+"[[range .Names]]"+waitingRun("[[.]]")+"---[[end]]")

	// The provider ends while it begins runs, and when all of them are in progress.
	for n := 1; n < runs; n += 4 {
		s.Await(t, n, "begin/")
		cp.Provider.Kill(t)
		cp.Provider.Start(t)
	}
	s.Await(t, runs, "begin/")
	cp.Provider.Stop(t)
	cp.Provider.Start(t)
	ids := map[string]string{}
	for _, o := range objects {
		u := cp.WaitFor(t, o, Field("status.atProvider.lastRun.phase", "Running"))
		ids[o.Name], _ = Value(u, "status.atProvider.lastRun.id").(string)
	}

	// All plays end while the API server is down.
	api, err := cp.Stack.APIServer(t.Context())
	needs.OK(t, err)
	needs.OK(t, api.Stop(t.Context()))
	s.Open("present")
	s.Await(t, runs, "end/")
	needs.OK(t, api.Start(t.Context()))
	cp.Provider.Kill(t)
	cp.Provider.Start(t)
	for i, o := range objects {
		cp.WaitFor(t, o, Condition("Ready", "True"), Condition("Synced", "True"), Field("status.atProvider.lastRun.phase", "Succeeded"),
			Field("status.atProvider.lastRun.id", ids[o.Name]), Field("status.atProvider.lastApply.attempts", 1))
		if i == runs/2 {
			cp.Provider.Stop(t)
			cp.Provider.Start(t)
		}
	}

	notes := s.Notes()
	slices.Sort(notes)
	var want []string
	for _, id := range slices.Sorted(maps.Values(ids)) {
		want = append(want, "begin/present/"+id, "end/present/"+id)
	}
	slices.Sort(want)
	if got, want := strings.Join(notes, "\n"), strings.Join(want, "\n"); got != want {
		t.Errorf("Each run should have begun and ended once: got\n%s\nwant\n%s", got, want)
	}
	if got := len(s.all(t)); got != runs {
		t.Errorf("There should have been a Pod for each run, there are %d", got)
	}
	for _, e := range cp.List(t, "v1", "Event", s.Namespace) {
		message := fmt.Sprint(Value(&e, "message"))
		// A provider that is killed between its note of a run and the Pod leaves a run that has not begun.
		if strings.Contains(fmt.Sprint(Value(&e, "reason")), "Interrupt") && !strings.Contains(message, "before it had made it") {
			t.Errorf("No run should have been interrupted: %s", message)
		}
	}
}

// TestNodeGone stops the kubelet of a run. The run stays in progress while its state is unknown. It is interrupted, and
// another run follows, when the node is marked as out of service.
func TestNodeGone(t *testing.T) {
	s := newScene(t)
	s.apply(t, waiting)
	first := Value(s.begun(t, 1), "status.atProvider.lastRun.id")

	kubelet, err := cp.Stack.Kubelet(t.Context())
	needs.OK(t, err)
	needs.OK(t, kubelet.Stop(t.Context()))
	cp.WaitFor(t, s.run(), last("phase", "Running"), lastSays("the node "+controlplane.NodeName+" of the Pod does not answer"))

	cp.Kubectl(t, "taint", "node", controlplane.NodeName, "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute")
	cp.WaitFor(t, s.run(), last("phase", "Queued"))
	cp.Kubectl(t, "taint", "node", controlplane.NodeName, "node.kubernetes.io/out-of-service-")
	needs.OK(t, kubelet.Start(t.Context()))
	s.Await(t, 2, "begin/present/")
	s.Open("present")
	s.ready(t, Field("status.atProvider.lastApply.attempts", 1))

	s.interrupted(t, first, "")
	s.nothingLeft(t)
}
