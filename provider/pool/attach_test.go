package pool

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// outliving is a backend like that of Pods: it leaves runs when the provider ends.
type outliving struct {
	scripted

	forgotten chan string
	// told has the calls of the Observer.
	told []string
	// plans has the plans that the run of object a reports.
	plans chan string
}

func (o *outliving) Started(r runs.Run) { o.told = append(o.told, "started "+r.ID) }

func (o *outliving) Ended(r runs.Run, _ runs.Report, _ time.Duration) {
	o.told = append(o.told, "ended "+r.ID)
}

func (o *outliving) recorded(_ types.UID, id string) { o.forgotten <- id }

func (o *outliving) execute(ctx context.Context, j runs.Run, w runs.Watch) runs.Report {
	r := j.Report()
	r.Run.Phase = common.PhaseRunning
	o.began <- j

	plans := o.plans
	if j.Object.UID != "a" {
		plans = nil
	}

	for {
		select {
		case r.Plan = <-plans:
			w.Progress(r)
			continue
		case r.Run.Phase = <-o.end:
		case <-w.Wanted.Done():
			r.Run.Phase = common.PhaseCanceled
		case <-w.Provider.Done():
		case <-ctx.Done():
			// The end of the run takes some time.
			<-w.Provider.Done()
		}

		return r
	}
}

// places returns a place with limits.
func (o *outliving) places(all, perTenant int) Place {
	return Place{Execute: o.execute, Recorded: o.recorded, Runs: all, PerTenant: perTenant}
}

func inPod(uid string) runs.Run {
	j := newRun(uid, common.TriggerCreated)
	j.Mode, j.Inputs.Execution = common.ModeApply, common.Execution{Place: common.PlacePod, Namespace: "ns"}

	return j
}

// begun returns a run that the predecessor has begun in its Pod.
func begun(j runs.Run) runs.Run {
	r := j.Report().Run
	r.Phase, r.Pod, r.StartTime = common.PhaseRunning, j.Pod(), new(metav1.Now())
	j.Begun = &r

	return j
}

func newPlaces(t *testing.T) (*Pool, *outliving) {
	t.Helper()

	x := &outliving{scripted: *newScripted(), forgotten: make(chan string, 10)}

	return New(map[common.Place]Place{common.PlaceProvider: x.places(1, 1), common.PlacePod: x.places(1, 1)}, leading, x), x
}

// TestPlaces has runs in Pods and in the provider, which have different places.
func TestPlaces(t *testing.T) {
	p, _ := newPlaces(t)
	_, wake := wakes()

	turn := func(j runs.Run) bool { return wait(p, j, wake).Run.StartTime != nil }

	if !turn(newRun("a", common.TriggerCreated)) || !turn(inPod("b")) {
		t.Fatal("A run should begin in each place.")
	}

	if turn(inPod("c")) || turn(newRun("d", common.TriggerCreated)) {
		t.Error("A place should not have more runs than its limit.")
	}

	// While it waits, the configuration of c is changed to the provider.
	nothing(p, "a")

	if c := newRun("c", common.TriggerCreated); p.Stats()[common.PlacePod].Urgent != 1 || turn(c) || p.Stats()[common.PlacePod].Urgent != 0 {
		t.Error("An object should wait for the place in its configuration.")
	}
}

// TestDetachCanceled has a provider that ends while the Pod of a canceled run has not ended. It does not wait for the
// Pod, since it must end before another provider leads.
func TestDetachCanceled(t *testing.T) {
	p, x := newPlaces(t)
	_, wake := wakes()

	j := inPod("a")
	if !begin(p, j, wake) {
		t.Fatal("There should be a place.")
	}

	<-x.began
	end(p, "a")
	p.Stop(t.Context())

	if _, known := p.Report("a"); known || p.Unrecorded() > 0 {
		t.Error("The run should be left to the next provider.")
	}
}

// TestFollowAndCancel has a provider that finds a run in progress of a deleted object, and cancels it at once. The
// run stays in progress until its backend ends it.
func TestFollowAndCancel(t *testing.T) {
	for range 100 {
		p, x := newPlaces(t)
		_, wake := wakes()

		j := inPod("a")
		j = begun(j)
		p.Follow(j, wake)
		end(p, "a")

		if report, known := p.Report("a"); !known || report.Run.Phase.Finished() {
			t.Fatalf("The run should be in progress: %+v", report.Run)
		}

		<-x.began
		p.Stop(t.Context())
	}
}

// TestDetachAndFollow has a provider that ends and leaves runs in Pods. The next provider follows them.
func TestDetachAndFollow(t *testing.T) {
	p, x := newPlaces(t)
	_, wake := wakes()

	j := inPod("a")
	if !begin(p, j, wake) {
		t.Fatal("There should be a place.")
	}

	<-x.began

	r, _ := p.Report("a")
	if r.Run.Pod == nil || r.Run.Pod.Name != "ansiblerun-"+j.ID {
		t.Errorf("The status should name the Pod before there is one: %+v", r.Run)
	}

	p.Stop(t.Context())

	if _, known := p.Report("a"); known || p.Unrecorded() > 0 || len(x.forgotten) > 0 {
		t.Error("A run that goes on should be neither recorded nor forgotten.")
	}

	if !slices.Equal(x.told, []string{"started " + j.ID}) {
		t.Errorf("The observer of the next provider should get the end: %q", x.told)
	}

	p, x = newPlaces(t)
	j = begun(j)

	woken, wake := wakes()

	p.Follow(j, wake)
	p.Follow(j, wake)

	if got := <-x.began; got.Begun == nil {
		t.Error("The report should say that the run has begun.")
	}

	if r, known := p.Report("a"); !known || !r.Attaching || r.Run.Phase != common.PhaseRunning || begin(p, inPod("b"), wake) {
		t.Errorf("A followed run should have a place and the report in the status: %+v", r)
	}

	x.end <- common.PhaseSucceeded
	await(t, p, "a", woken, common.PhaseSucceeded)
	p.Recorded("a", j.ID)

	if !slices.Equal(x.told, []string{"ended " + j.ID}) {
		t.Errorf("The observer should not get its start again: %q", x.told)
	}

	if id := <-x.forgotten; id != j.ID {
		t.Errorf("The backend should clean up the recorded run, not %q", id)
	}
}

// TestFollowShare has forged statuses with runs in progress, which must not take the places of other tenants.
func TestFollowShare(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		// attached is the number of runs that are found, for each of two tenants.
		attached int
		running  int
	}{
		"One":  {"A run that the provider has begun has a place.", 1, 2},
		"Many": {"A tenant does not have more places than its share.", 5, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := &outliving{scripted: *newScripted(), forgotten: make(chan string, 10), plans: make(chan string)}
				p := New(map[common.Place]Place{common.PlacePod: x.places(3, 1)}, leading, silent{})

				for n := range tc.attached {
					for _, tenant := range []string{"a", "b"} {
						j := inPod(fmt.Sprint(tenant, n))
						j.Object.Namespace = tenant
						j = begun(j)
						p.Follow(j, asleep)
						<-x.began
					}
				}

				j := inPod("c")
				j.Object.Namespace = "c"

				if wait(p, j, asleep).Run.StartTime == nil {
					t.Errorf("%s\nThere should be a place for another tenant.", tc.reason)
				}

				nothing(p, "c")

				if got := p.Stats()[common.PlacePod].Running; got != tc.running {
					t.Errorf("%s\nPlaces in use: want %d, got %d", tc.reason, tc.running, got)
				}

				p.Stop(t.Context())

				if got := p.Stats()[common.PlacePod].Running; got != 0 {
					t.Errorf("%s\nPlaces in use in the end: %d", tc.reason, got)
				}
			})
		})
	}
}

// TestFollowLate has a new leader with an old version of an object in its cache: it decides on a run of the object
// although its predecessor has just begun another, or it follows a run that has ended since, and then sees the run that
// was begun after it. Only one of the two runs is executed.
func TestFollowLate(t *testing.T) {
	follow := func(p *Pool, id string) {
		j := inPod("a")
		j.ID = id
		p.Follow(begun(j), asleep)
	}

	for name, tc := range map[string]struct {
		reason string
		// before acts on the pool before the run is found.
		before func(p *Pool, x *outliving)
		want   string
		// forgotten is the number of runs that the backend has cleaned up.
		forgotten int
	}{
		"Turn":  {"A run that no status shows is dropped.", func(p *Pool, _ *outliving) { wait(p, inPod("a"), asleep) }, "former", 0},
		"Begun": {"A run that a status has shown may have begun, and is kept.", func(p *Pool, _ *outliving) { begin(p, inPod("a"), asleep) }, "run-of-a", 0},
		"Followed": {"A followed run is over.", func(p *Pool, x *outliving) {
			follow(p, "before")
			<-x.began
		}, "former", 0},
		"Ended": {"A followed run with a known end, which was not recorded, is over.", func(p *Pool, x *outliving) {
			follow(p, "before")
			<-x.began
			x.end <- common.PhaseSucceeded
		}, "former", 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := &outliving{scripted: *newScripted(), forgotten: make(chan string, 10)}
				p := New(map[common.Place]Place{common.PlacePod: x.places(2, 2)}, leading, silent{})

				tc.before(p, x)
				synctest.Wait()
				follow(p, "former")
				synctest.Wait()

				if r, _ := p.Report("a"); r.Run.ID != tc.want {
					t.Errorf("%s\nwant the run %q, got %+v", tc.reason, tc.want, r.Run)
				}

				if got := len(x.forgotten); got != tc.forgotten {
					t.Errorf("%s\nwant %d runs to be forgotten, got %d", tc.reason, tc.forgotten, got)
				}

				if got := <-x.began; got.ID != tc.want || began(&x.scripted) {
					t.Errorf("%s\nwant only %q to be executed, got %q", tc.reason, tc.want, got.ID)
				}

				p.Stop(t.Context())

				if got := p.Stats()[common.PlacePod].Running; got != 0 {
					t.Errorf("%s\nPlaces in use in the end: %d", tc.reason, got)
				}
			})
		})
	}
}

// TestGivesWay has a waiting run that is revoked because another run is due.
func TestGivesWay(t *testing.T) {
	p, x := newPlaces(t)
	x.plans = make(chan string)
	woken, wake := wakes()

	if !begin(p, inPod("a"), wake) {
		t.Fatal("There should be a place.")
	}

	<-x.began
	nothing(p, "a") // A run that does not wait goes on.

	x.plans <- "waits"

	for r, _ := p.Report("a"); r.Plan == ""; r, _ = p.Report("a") {
		runtime.Gosched()
	}

	nothing(p, "a")
	await(t, p, "a", woken, common.PhaseCanceled)
}

// TestLend has a run that waits in its Pod. It does not take a place from another run, and can begin at any time.
func TestLend(t *testing.T) {
	for name, tc := range map[string]struct {
		reason    string
		trigger   common.RunTrigger
		perTenant int
		want      bool
	}{
		"Urgent":   {"The place of a waiting run does not count.", common.TriggerCreated, 2, true},
		"Periodic": {"The place of a waiting run does not count as one for patient runs.", common.TriggerPoll, 2, true},
		"Tenant":   {"A waiting run counts for its tenant.", common.TriggerCreated, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := &outliving{scripted: *newScripted(), forgotten: make(chan string, 10), plans: make(chan string)}
				p := New(map[common.Place]Place{common.PlacePod: x.places(1, tc.perTenant)}, leading, silent{})
				begin := func(uid string) bool {
					j := inPod(uid)
					j.Trigger = tc.trigger

					begun := begin(p, j, asleep)
					if begun {
						<-x.began
					}

					return begun
				}

				if !begin("a") || begin("b") {
					t.Fatal("There should be a free place.")
				}

				x.plans <- "waits"

				synctest.Wait()

				if got := begin("b"); got != tc.want {
					t.Fatalf("%s\nThere is a free place: %t", tc.reason, got)
				}

				x.plans <- ""

				synctest.Wait()

				if begin("c") || p.Stats()[common.PlacePod].Running > 1 != tc.want {
					t.Errorf("%s\nIts place should count again once it has begun: %+v", tc.reason, p.Stats())
				}

				p.Stop(t.Context())

				if got := p.Stats()[common.PlacePod].Running; got != 0 {
					t.Errorf("%s\nPlaces in use in the end: %d", tc.reason, got)
				}
			})
		})
	}
}
