package pool

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
)

// A counting executor counts the jobs in progress and those that have ended, by object.
type counting struct {
	t     *testing.T
	limit int

	mu      sync.Mutex
	running map[types.UID]int
	ended   map[types.UID]int
}

// Needs of a job, now and then, for some time.
func (c *counting) Forget(executor.Job) {}

func (c *counting) Needs(executor.Job) executor.Needs {
	if rand.IntN(3) > 0 {
		return executor.Needs{}
	}

	return executor.Needs{Key: strconv.Itoa(rand.IntN(2)), Get: func(ctx context.Context) error {
		select {
		case <-time.After(time.Duration(rand.IntN(10)) * time.Second):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
}

// Execute a job, for some time.
func (c *counting) Execute(ctx context.Context, j executor.Job, _ executor.Watch) executor.Report {
	c.begin(j)
	defer c.end(j)

	r := executor.NewReport(j)
	r.Run.Phase = common.PhaseSucceeded

	select {
	case <-time.After(time.Duration(rand.IntN(10)) * time.Second):
	case <-ctx.Done():
		r.Run.Phase = common.PhaseCanceled
	}

	return r
}

func (c *counting) begin(j executor.Job) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.running[j.UID()]++

	total := 0
	for uid, n := range c.running {
		total += n

		if n > 1 {
			c.t.Errorf("Runs of one object should not overlap: %d of %q", n, uid)
		}
	}

	if total > c.limit {
		c.t.Errorf("No more than %d jobs should run at a time, got %d", c.limit, total)
	}
}

func (c *counting) end(j executor.Job) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.running[j.UID()]--
	c.ended[j.UID()]++
}

// TestFairness submits jobs at random, most of them periodic, more than can be
// carried out.
func TestFairness(t *testing.T) {
	triggers := []common.RunTrigger{
		common.TriggerDrift, common.TriggerDrift, common.TriggerDrift, common.TriggerRetry,
		common.TriggerCreated, common.TriggerChanged, common.TriggerRequested, common.TriggerDeleted,
	}

	for limit := 1; limit <= 4; limit++ {
		t.Run(strconv.Itoa(limit), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &counting{t: t, limit: limit, running: map[types.UID]int{}, ended: map[types.UID]int{}}
				p := newPool(limit, limit, c)

				for i := range 2000 {
					j := newJob(strconv.Itoa(rand.IntN(50)), triggers[rand.IntN(len(triggers))])
					j.Object.Namespace = strconv.Itoa(i % 3)
					enter(p, j, func() { go p.Recorded(j.UID(), j.ID) })

					switch uid := strconv.Itoa(rand.IntN(50)); rand.IntN(20) {
					case 0:
						end(p, uid)
					case 1:
						nothing(p, uid)
					}

					time.Sleep(time.Duration(rand.IntN(2000/limit)) * time.Millisecond)
				}

				// Nothing new comes, and everything ends.
				time.Sleep(time.Hour)

				if n := p.Unrecorded(); n > 0 {
					t.Errorf("Every job should have had its turn, %d have not", n)
				}

				for _, uid := range []types.UID{"0", "25", "49"} {
					if c.ended[uid] == 0 {
						t.Errorf("%q was never carried out", uid)
					}
				}

				p.Stop(t.Context())
			})
		})
	}
}

// TestNobodyStarves keeps the urgent queue full, in front of one job that can
// wait.
func TestNobodyStarves(t *testing.T) {
	s := newScripted()
	p := newPool(1, 1, s)

	submit := func(uid string, trigger common.RunTrigger) {
		enter(p, newJob(uid, trigger), func() {})
	}

	submit("first", common.TriggerChanged)
	submit("patient", common.TriggerRetry)

	for i := range fairness + 1 {
		submit("urgent"+strconv.Itoa(i), common.TriggerChanged)

		j := <-s.began
		s.end <- common.PhaseSucceeded

		if j.UID() == "patient" {
			return
		}
	}

	t.Errorf("What can wait should begin after %d others at most, although there is always something urgent", fairness)
}

// order in which a pool with one place carries out jobs that wait together.
func order(t *testing.T, js ...executor.Job) []string {
	t.Helper()

	var got []string

	synctest.Test(t, func(*testing.T) {
		s := newScripted()
		p := newPool(1, 1, s)

		enter(p, newJob("first", common.TriggerCreated), func() {})
		<-s.began

		for _, j := range js {
			enter(p, j, func() {})
		}

		for range js {
			s.end <- common.PhaseSucceeded

			j := <-s.began
			got = append(got, string(j.UID()))
		}

		s.end <- common.PhaseSucceeded
	})

	return got
}

// TestNamespaces has one namespace fill the queue before another comes.
func TestNamespaces(t *testing.T) {
	of := func(namespace, uid string) executor.Job {
		j := newJob(uid, common.TriggerCreated)
		j.Object.Namespace = namespace

		return j
	}

	got := order(t, of("a", "a1"), of("a", "a2"), of("a", "a3"), of("b", "b1"), of("b", "b2"), of("a", "a4"))
	if diff := cmp.Diff([]string{"a1", "b1", "a2", "b2", "a3", "a4"}, got); diff != "" {
		t.Errorf("Namespaces should take turns: -want, +got:\n%s", diff)
	}
}

// TestNamespaceLimit has one namespace wait that has as many places as it may have.
func TestNamespaceLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		p := newPool(3, 1, s)

		for _, uid := range []string{"a1", "a2", "b1", "a3"} {
			j := newJob(uid, common.TriggerCreated)
			j.Object.Namespace = uid[:1]
			enter(p, j, func() {})
		}

		if a, b := <-s.began, <-s.began; a.UID()[:1] == b.UID()[:1] {
			t.Errorf("No namespace should have two places: %s, %s", a.UID(), b.UID())
		}

		if began(s) {
			t.Error("A namespace should have one place only.")
		}

		for range 4 {
			s.end <- common.PhaseSucceeded

			began(s)
		}
	})
}

// TestRetriesBeforePolls has retries wait behind urgent jobs, and not behind polls.
func TestRetriesBeforePolls(t *testing.T) {
	again := newJob("deletion", common.TriggerDeleted)
	again.Attempt = 2

	got := order(t, newJob("poll1", common.TriggerDrift), newJob("poll2", common.TriggerDrift), newJob("retry", common.TriggerRetry), again,
		newJob("urgent", common.TriggerChanged))
	if diff := cmp.Diff([]string{"urgent", "retry", "deletion", "poll1", "poll2"}, got); diff != "" {
		t.Errorf("-want order, +got:\n%s", diff)
	}
}

// TestUrgentPlace keeps the last place free of what can wait.
func TestUrgentPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		p := newPool(2, 2, s)

		enter(p, newJob("poll1", common.TriggerDrift), func() {})
		<-s.began
		enter(p, newJob("poll2", common.TriggerDrift), func() {})

		if began(s) {
			t.Error("The last place should be kept for something urgent.")
		}

		enter(p, newJob("urgent", common.TriggerDeleted), func() {})

		if j := <-s.began; j.UID() != "urgent" {
			t.Errorf("What is urgent should begin at once, not %s", j.UID())
		}

		s.end <- common.PhaseSucceeded
		s.end <- common.PhaseSucceeded

		<-s.began
		s.end <- common.PhaseSucceeded
	})
}

// TestTurn gives the place of an object that does not come for it to the next one.
func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		p := newPool(1, 1, s)

		if wait(p, newJob("a", common.TriggerCreated), func() {}).Run.StartTime == nil {
			t.Fatal("There should be a place.")
		}

		enter(p, newJob("b", common.TriggerCreated), func() {})

		if j := <-s.began; j.UID() != "b" {
			t.Errorf("The next one should have the place, not %s", j.UID())
		}

		if begin(p, newJob("a", common.TriggerCreated), func() {}) {
			t.Error("A place that was not taken in time should be somebody else's.")
		}

		s.end <- common.PhaseSucceeded
	})
}
