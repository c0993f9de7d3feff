package pool

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// A counting backend counts the runs in progress and the ended runs, by object.
type counting struct {
	t                *testing.T
	limit, perTenant int

	mu      sync.Mutex
	running map[types.UID]int
	tenants map[string]int
	ended   map[types.UID]int
}

// await lets some runs wait for their content for some time.
func (c *counting) await(_ types.UID, _ content.Request, wake func()) (ended bool, err error) {
	if wake == nil || rand.IntN(3) > 0 {
		return true, nil
	}

	time.AfterFunc(time.Duration(rand.IntN(10))*time.Second, wake)

	return false, nil
}

// execute executes a run for some time.
func (c *counting) execute(ctx context.Context, j runs.Run, _ runs.Watch) runs.Report {
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
	c.tenants[j.Object.Namespace]++

	total := 0
	for uid, n := range c.running {
		total += n

		if n > 1 {
			c.t.Errorf("Runs of one object should not overlap: %d of %q", n, uid)
		}
	}

	if tenant := c.tenants[j.Object.Namespace]; total > c.limit || tenant > c.perTenant {
		c.t.Errorf("No more than %d runs should run at a time, and %d of a namespace, got %d and %d", c.limit, c.perTenant, total, tenant)
	}
}

func (c *counting) end(j runs.Run) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.running[j.Object.UID]--
	c.tenants[j.Object.Namespace]--
	c.ended[j.Object.UID]++
}

// TestFairness submits random runs, most of them periodic, more than the pool can
// execute.
func TestFairness(t *testing.T) {
	triggers := []common.RunTrigger{
		common.TriggerPoll, common.TriggerPoll, common.TriggerPoll, common.TriggerRetry,
		common.TriggerCreated, common.TriggerChanged, common.TriggerRequested, common.TriggerDeleted,
	}

	for limit := 1; limit <= 4; limit++ {
		t.Run(strconv.Itoa(limit), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &counting{t: t, limit: limit, perTenant: 5 - limit, running: map[types.UID]int{}, tenants: map[string]int{}, ended: map[types.UID]int{}}
				p := newPool(limit, c.perTenant, c.execute)
				p.queues[common.PlaceProvider].Await = c.await

				for range 2000 {
					n := rand.IntN(50)
					j := newRun(strconv.Itoa(n), triggers[rand.IntN(len(triggers))])
					j.Object.Namespace = strconv.Itoa(n % 3)
					enter(p, j, func(time.Duration) { go p.Recorded(j.Object.UID, j.ID) })

					switch uid := strconv.Itoa(rand.IntN(50)); rand.IntN(20) {
					case 0:
						end(p, uid)
					case 1:
						nothing(p, uid)
					}

					time.Sleep(time.Duration(rand.IntN(2000/limit)) * time.Millisecond)
				}

				// Without new runs, all runs end.
				time.Sleep(time.Hour)

				if n := p.Unrecorded(); n > 0 {
					t.Errorf("Every run should have had its turn, %d have not", n)
				}

				for _, uid := range []types.UID{"0", "25", "49"} {
					if c.ended[uid] == 0 {
						t.Errorf("no run of %q was executed", uid)
					}
				}

				p.Stop(t.Context())
			})
		})
	}
}

// TestOrder has several runs that wait in a pool with one place.
func TestOrder(t *testing.T) {
	of := func(namespace, uid string, trigger common.RunTrigger) runs.Run {
		j := newRun(uid, trigger)
		j.Object.Namespace = namespace

		return j
	}
	urgent := func(uid string) runs.Run { return of("", uid, common.TriggerDeleted) }
	created := func(uid string) runs.Run { return of(uid[:1], uid, common.TriggerCreated) }
	poll := func(uid string) runs.Run { return of("", uid, common.TriggerPoll) }
	again := urgent("deletion")
	again.Attempt = 2

	for name, tc := range map[string]struct {
		reason string
		waits  []runs.Run
		want   string
	}{
		"Urgent": {
			"Every fourth place is for patient runs, so that they do not wait for ever.",
			[]runs.Run{poll("p1"), poll("p2"), urgent("u1"), urgent("u2"), urgent("u3"), urgent("u4"), urgent("u5")},
			"u1 u2 p1 u3 u4 u5 p2",
		},
		"Namespaces": {
			"Namespaces take turns.",
			[]runs.Run{created("a1"), created("a2"), created("a3"), created("b1"), created("b2"), created("a4")},
			"a1 b1 a2 b2 a3 a4",
		},
		"Retries": {
			"Retries wait behind urgent runs, and not behind polls.",
			[]runs.Run{poll("p1"), poll("p2"), of("", "retry", common.TriggerRetry), again, urgent("u1")},
			"u1 retry deletion p1 p2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScripted()
				p := newPool(1, 1, s.execute)

				enter(p, newRun("first", common.TriggerCreated), asleep)
				<-s.began

				for _, j := range tc.waits {
					enter(p, j, asleep)
				}

				var got []string

				for range tc.waits {
					s.end <- common.PhaseSucceeded

					j := <-s.began
					got = append(got, string(j.Object.UID))
				}

				s.end <- common.PhaseSucceeded

				if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
					t.Errorf("%s\n-want order, +got:\n%s", tc.reason, diff)
				}
			})
		})
	}
}

// TestUrgentPlace has patient runs, which do not get the last place.
func TestUrgentPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		p := newPool(2, 2, s.execute)

		enter(p, newRun("poll1", common.TriggerPoll), asleep)
		<-s.began
		enter(p, newRun("poll2", common.TriggerPoll), asleep)

		if began(s) {
			t.Error("The last place should be kept for an urgent run.")
		}

		enter(p, newRun("urgent", common.TriggerDeleted), asleep)

		if j := <-s.began; j.Object.UID != "urgent" {
			t.Errorf("An urgent run should begin at once, not %s", j.Object.UID)
		}

		s.end <- common.PhaseSucceeded
		s.end <- common.PhaseSucceeded

		<-s.began
		s.end <- common.PhaseSucceeded
	})
}
