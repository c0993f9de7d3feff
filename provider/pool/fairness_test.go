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
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// A counting backend counts the runs in progress and those that have ended, by object.
type counting struct {
	t     *testing.T
	limit int

	mu      sync.Mutex
	running map[types.UID]int
	ended   map[types.UID]int
}

// Recorded does nothing.
func (c *counting) Recorded(types.UID, string) {}

// Needs of a run, now and then, for some time.
func (c *counting) Needs(runs.Run) runs.Needs {
	if rand.IntN(3) > 0 {
		return runs.Needs{}
	}

	return runs.Needs{Key: strconv.Itoa(rand.IntN(2)), Get: func(ctx context.Context) error {
		select {
		case <-time.After(time.Duration(rand.IntN(10)) * time.Second):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
}

// Execute a run, for some time.
func (c *counting) Execute(ctx context.Context, j runs.Run, _ runs.Watch) runs.Report {
	c.begin(j)
	defer c.end(j)

	r := j.Report()
	r.Run.Phase = common.PhaseSucceeded

	select {
	case <-time.After(time.Duration(rand.IntN(10)) * time.Second):
	case <-ctx.Done():
		r.Run.Phase = common.PhaseCanceled
	}

	return r
}

func (c *counting) begin(j runs.Run) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.running[j.Object.UID]++

	total := 0
	for uid, n := range c.running {
		total += n

		if n > 1 {
			c.t.Errorf("Runs of one object should not overlap: %d of %q", n, uid)
		}
	}

	if total > c.limit {
		c.t.Errorf("No more than %d runs should run at a time, got %d", c.limit, total)
	}
}

func (c *counting) end(j runs.Run) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.running[j.Object.UID]--
	c.ended[j.Object.UID]++
}

// TestFairness submits runs at random, most of them periodic, more than can be
// carried out.
func TestFairness(t *testing.T) {
	triggers := []common.RunTrigger{
		common.TriggerPoll, common.TriggerPoll, common.TriggerPoll, common.TriggerRetry,
		common.TriggerCreated, common.TriggerChanged, common.TriggerRequested, common.TriggerDeleted,
	}

	for limit := 1; limit <= 4; limit++ {
		t.Run(strconv.Itoa(limit), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &counting{t: t, limit: limit, running: map[types.UID]int{}, ended: map[types.UID]int{}}
				p := newPool(limit, limit, c)

				for i := range 2000 {
					j := newRun(strconv.Itoa(rand.IntN(50)), triggers[rand.IntN(len(triggers))])
					j.Object.Namespace = strconv.Itoa(i % 3)
					enter(p, j, func() { go p.Recorded(j.Object.UID, j.ID) })

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
					t.Errorf("Every run should have had its turn, %d have not", n)
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

// TestNobodyStarves keeps the urgent queue full, in front of one run that can
// wait.
func TestNobodyStarves(t *testing.T) {
	s := newScripted()
	p := newPool(1, 1, s)

	submit := func(uid string, trigger common.RunTrigger) {
		enter(p, newRun(uid, trigger), func() {})
	}

	submit("first", common.TriggerChanged)
	submit("patient", common.TriggerRetry)

	for i := range fairness + 1 {
		submit("urgent"+strconv.Itoa(i), common.TriggerChanged)

		j := <-s.began
		s.end <- common.PhaseSucceeded

		if j.Object.UID == "patient" {
			return
		}
	}

	t.Errorf("What can wait should begin after %d others at most, although there is always something urgent", fairness)
}

// order in which a pool with one place carries out runs that wait together.
func order(t *testing.T, js ...runs.Run) []string {
	t.Helper()

	var got []string

	synctest.Test(t, func(*testing.T) {
		s := newScripted()
		p := newPool(1, 1, s)

		enter(p, newRun("first", common.TriggerCreated), func() {})
		<-s.began

		for _, j := range js {
			enter(p, j, func() {})
		}

		for range js {
			s.end <- common.PhaseSucceeded

			j := <-s.began
			got = append(got, string(j.Object.UID))
		}

		s.end <- common.PhaseSucceeded
	})

	return got
}

// TestNamespaces has one namespace fill the queue before another comes.
func TestNamespaces(t *testing.T) {
	of := func(namespace, uid string) runs.Run {
		j := newRun(uid, common.TriggerCreated)
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
			j := newRun(uid, common.TriggerCreated)
			j.Object.Namespace = uid[:1]
			enter(p, j, func() {})
		}

		if a, b := <-s.began, <-s.began; a.Object.UID[:1] == b.Object.UID[:1] {
			t.Errorf("No namespace should have two places: %s, %s", a.Object.UID, b.Object.UID)
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

// TestRetriesBeforePolls has retries wait behind urgent runs, and not behind polls.
func TestRetriesBeforePolls(t *testing.T) {
	again := newRun("deletion", common.TriggerDeleted)
	again.Attempt = 2

	got := order(t, newRun("poll1", common.TriggerPoll), newRun("poll2", common.TriggerPoll), newRun("retry", common.TriggerRetry), again,
		newRun("urgent", common.TriggerChanged))
	if diff := cmp.Diff([]string{"urgent", "retry", "deletion", "poll1", "poll2"}, got); diff != "" {
		t.Errorf("-want order, +got:\n%s", diff)
	}
}

// TestUrgentPlace keeps the last place free of what can wait.
func TestUrgentPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		p := newPool(2, 2, s)

		enter(p, newRun("poll1", common.TriggerPoll), func() {})
		<-s.began
		enter(p, newRun("poll2", common.TriggerPoll), func() {})

		if began(s) {
			t.Error("The last place should be kept for something urgent.")
		}

		enter(p, newRun("urgent", common.TriggerDeleted), func() {})

		if j := <-s.began; j.Object.UID != "urgent" {
			t.Errorf("What is urgent should begin at once, not %s", j.Object.UID)
		}

		s.end <- common.PhaseSucceeded
		s.end <- common.PhaseSucceeded

		<-s.began
		s.end <- common.PhaseSucceeded
	})
}
