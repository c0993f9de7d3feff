package pool

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/job"
)

// A crowd of jobs, and what happens to them.
type crowd struct {
	t     *testing.T
	limit int

	mu      sync.Mutex
	begun   int
	running map[types.UID]int
	// latest is the number of jobs that may have begun when the job of an object
	// does, at most.
	latest map[types.UID]int
	ended  map[types.UID]int
}

// Execute a job, for some time.
func (c *crowd) Execute(ctx context.Context, j job.Job, _ job.Watch) job.Report {
	c.begin(j)
	defer c.end(j)

	r := job.NewReport(j)
	r.Run.Phase = common.PhaseSucceeded

	select {
	case <-time.After(time.Duration(rand.IntN(10)) * time.Second):
	case <-ctx.Done():
		r.Run.Phase = common.PhaseCanceled
	}

	return r
}

func (c *crowd) begin(j job.Job) {
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

	if c.begun > c.latest[j.UID()] {
		c.t.Errorf("%q, urgent %t, should have begun after %d others at most, not after %d", j.UID(), j.Urgent(), c.latest[j.UID()], c.begun)
	}

	c.begun++
}

func (c *crowd) end(j job.Job) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.running[j.UID()]--
	c.ended[j.UID()]++
}

// submit a job, and work out when it has to begin.
func (c *crowd) submit(p *Pool, j job.Job) {
	s := p.Stats()

	// Three of four are urgent, as long as there are any; one is patient.
	others := 4 * (s.Patient + 1)
	if j.Urgent() {
		others = (s.Urgent+1)*4/3 + 1
	}

	c.mu.Lock()
	was := c.latest[j.UID()]
	// Jobs that were taken at the same time begin in any order.
	c.latest[j.UID()] = c.begun + others + 2*c.limit
	c.mu.Unlock()

	uid, id := j.UID(), j.ID
	err := p.Submit(j, func() { go p.Forget(uid, id) })

	switch {
	case errors.Is(err, ErrBusy):
		c.mu.Lock()
		c.latest[j.UID()] = was
		c.mu.Unlock()
	case err != nil:
		c.t.Errorf("A job should be taken: %s", err)
	}
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
				c := &crowd{t: t, limit: limit, running: map[types.UID]int{}, latest: map[types.UID]int{}, ended: map[types.UID]int{}}
				p := New(limit, c)

				for i := range 2000 {
					j := newJob(strconv.Itoa(rand.IntN(50)), triggers[rand.IntN(len(triggers))])
					j.ID = strconv.Itoa(i)
					c.submit(p, j)

					switch uid := types.UID(strconv.Itoa(rand.IntN(50))); rand.IntN(20) {
					case 0:
						p.Cancel(uid)
					case 1:
						p.Withdraw(uid)
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
	p := New(1, s)

	submit := func(uid string, trigger common.RunTrigger) {
		if err := p.Submit(newJob(uid, trigger), func() {}); err != nil {
			t.Fatal(err)
		}
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
