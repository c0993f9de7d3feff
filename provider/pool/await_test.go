package pool

import (
	"context"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
)

// installing is an installation for one object, which waits until it has ended.
type installing struct {
	ended bool
	err   error
	// wake wakes the waiting object; nil if none waits.
	wake func()
}

func (i *installing) await(_ types.UID, _ content.Request, wake func()) (bool, error) {
	i.wake = wake

	return i.ended, i.err
}

func newInstalling() (*Pool, *scripted, *installing) {
	s, c := newScripted(), &installing{}
	p := newPool(1, 1, s.execute)
	p.queues[common.PlaceProvider].Await = c.await

	return p, s, c
}

// TestAwait has an object that waits for its content before it takes a place, also if it had a place before. Its run
// has the error of the installation.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s, c := newInstalling()

		c.ended = true
		if wait(p, newRun("a", common.TriggerCreated), asleep).Run.StartTime == nil {
			t.Fatal("There should be a place.")
		}

		c.ended = false
		enter(p, newRun("a", common.TriggerCreated), asleep)

		if n := p.Stats()[common.PlaceProvider]; n.Installing != 1 || n.Running != 0 || began(s) {
			t.Errorf("An object that waits for its content should have no place: %+v", n)
		}

		c.ended, c.err = true, errors.New("boom")
		c.wake()

		if j := <-s.began; !errors.Is(j.Missing, c.err) || c.wake != nil {
			t.Errorf("The run should have the error, and its object should not wait any more: %v", j.Missing)
		}

		s.end <- common.PhaseFailed
	})
}

// TestAwaitNothing has an object that stops waiting for its content.
func TestAwaitNothing(t *testing.T) {
	for name, leave := range map[string]func(*Pool){
		"Withdrawn": func(p *Pool) { nothing(p, "a") },
		"Canceled":  func(p *Pool) { end(p, "a") },
		"Elsewhere": func(p *Pool) { wait(p, inPod("a"), asleep) },
		"Deleted":   func(p *Pool) { p.Want(Want{UID: "a", Gone: true}) },
		"Stopped":   func(p *Pool) { p.Stop(context.Background()) },
	} {
		p, _, c := newInstalling()
		p.queues[common.PlacePod] = newQueue(Place{Runs: 1, PerTenant: 1})

		if wait(p, newRun("a", common.TriggerCreated), asleep); c.wake == nil {
			t.Fatalf("%s: the object should wait", name)
		}

		if leave(p); c.wake != nil || p.Stats()[common.PlaceProvider].Installing > 0 {
			t.Errorf("%s: the object should not wait any more", name)
		}

		if p.Want(Want{UID: "a"}); len(p.entries) > 0 && name != "Canceled" {
			t.Errorf("%s: it should be forgotten", name)
		}
	}
}
