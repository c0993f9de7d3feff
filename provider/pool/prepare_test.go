package pool

import (
	"context"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// preparing carries out runs that need something first.
type preparing struct {
	*scripted

	// needs of objects.
	needs map[types.UID]runs.Needs
}

func (s preparing) pool(limit, perTenant int) *Pool {
	p := newPool(limit, perTenant, s.execute)
	p.queues[common.PlaceProvider].Needs = func(r runs.Run) runs.Needs { return s.needs[r.Object.UID] }

	return p
}

// something that is got once it is given, or fails when that is an error.
func something(key string) (n runs.Needs, give chan error, ended chan struct{}) {
	give, ended = make(chan error), make(chan struct{})

	return runs.Needs{Key: key, Get: func(ctx context.Context) error {
		defer close(ended)

		select {
		case err := <-give:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}}, give, ended
}

// TestNeedsShared has objects that need the same get it once.
func TestNeedsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, give, ended := something("shared")
		s := preparing{newScripted(), map[types.UID]runs.Needs{"a": n, "b": n, "c": n}}
		p := s.pool(2, 2)

		for _, uid := range []string{"a", "b", "c"} {
			enter(p, newRun(uid, common.TriggerCreated), asleep)
		}

		if got := p.Stats()[common.PlaceProvider].Installing; got != 3 {
			t.Errorf("Three should wait for it, got %d", got)
		}

		// What others wait for goes on.
		nothing(p, "a")

		select {
		case <-ended:
			t.Fatal("What others need should not be given up.")
		default:
		}

		give <- nil

		if a, b := <-s.began, <-s.began; a.Object.UID == "a" || b.Object.UID == "a" {
			t.Error("An object that does not wait any more should not run.")
		}

		s.end <- common.PhaseSucceeded
		s.end <- common.PhaseSucceeded

		if len(p.preparations) > 0 {
			t.Errorf("Nothing should be kept: %v", p.preparations)
		}
	})
}

// TestNeedsMissing has a run say what could not be got for it.
func TestNeedsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("boom")
		failing, give, _ := something("failing")
		s := preparing{newScripted(), map[types.UID]runs.Needs{"a": failing}}
		p := s.pool(1, 1)

		enter(p, newRun("a", common.TriggerCreated), asleep)
		give <- boom

		if j := <-s.began; !errors.Is(j.Missing, boom) {
			t.Errorf("The run should know what is missing: %v", j.Missing)
		}

		s.end <- common.PhaseFailed
	})
}

// TestNeedsChange has an object need something else, or nothing any more.
func TestNeedsChange(t *testing.T) {
	gone := map[string]func(*Pool, preparing){
		"Another": func(p *Pool, s preparing) {
			s.needs["a"], _, _ = something("another")
			enter(p, newRun("a", common.TriggerCreated), asleep)
		},
		"Nothing": func(p *Pool, s preparing) {
			delete(s.needs, "a")
			wait(p, newRun("a", common.TriggerCreated), asleep)
		},
		"Withdrawn": func(p *Pool, _ preparing) { nothing(p, "a") },
		"Deleted":   func(p *Pool, _ preparing) { p.Want(Want{UID: "a", Gone: true}) },
		"Stopped":   func(p *Pool, _ preparing) { p.Stop(context.Background()) },
	}

	for name, change := range gone {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				old, _, ended := something("old")
				s := preparing{newScripted(), map[types.UID]runs.Needs{"a": old}}
				p := s.pool(1, 1)

				wait(p, newRun("a", common.TriggerCreated), asleep)
				change(p, s)
				<-ended
				synctest.Wait()

				if name == "Withdrawn" {
					p.Want(Want{UID: "a"})

					if _, known := p.Report("a"); known {
						t.Error("An object that does not wait any more should be forgotten.")
					}
				}

				p.Stop(t.Context())

				if n := p.Stats()[common.PlaceProvider]; n.Installing != 0 || n.Running != 0 {
					t.Errorf("Nothing should go on: %+v", n)
				}
			})
		})
	}
}

// TestNeedsKeptPlace takes a place back that was kept for an object that needs
// something by now.
func TestNeedsKeptPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := preparing{newScripted(), map[types.UID]runs.Needs{}}
		p := s.pool(1, 1)

		if wait(p, newRun("a", common.TriggerCreated), asleep).Run.StartTime == nil {
			t.Fatal("There should be a place.")
		}

		var give chan error

		s.needs["a"], give, _ = something("new")
		if enter(p, newRun("a", common.TriggerCreated), asleep); p.Stats()[common.PlaceProvider].Running != 0 {
			t.Error("An object that waits for something else should have no place.")
		}

		give <- nil

		<-s.began
		s.end <- common.PhaseSucceeded
	})
}
