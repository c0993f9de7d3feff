package pool

import (
	"context"

	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// A preparation gets what runs need before their objects wait for a place, once for all
// objects that need the same. The pool keeps nothing else of these runs.
type preparation struct {
	// key of what is needed.
	key    string
	cancel context.CancelFunc
	// waiting are the objects that need it.
	waiting map[*entry]bool
	// done is true once it has ended, with err.
	done bool
	err  error
}

// prepared is true when the run of an object may have a place. After a preparation that
// failed it may have one, too: it says so when it is carried out. The pool is locked.
func (p *Pool) prepared(e *entry, n runs.Needs) bool {
	if pr := e.preparation; pr != nil && pr.key == n.Key {
		return pr.done
	}

	p.unprepare(e)

	if n.Get == nil {
		return true
	}

	pr, known := p.preparations[n.Key]
	if !known {
		pr = p.prepare(n)
	}

	pr.waiting[e] = true
	e.preparation = pr

	return false
}

// prepare what is needed, in the background.
func (p *Pool) prepare(n runs.Needs) *preparation {
	ctx, cancel := context.WithCancel(context.Background())
	pr := &preparation{key: n.Key, cancel: cancel, waiting: map[*entry]bool{}}
	p.preparations[n.Key] = pr

	p.work.Go(func() {
		err := n.Get(ctx)

		p.mu.Lock()
		defer p.mu.Unlock()

		pr.done, pr.err = true, err
		p.end(pr)

		for e := range pr.waiting {
			e.wake(0)
		}
	})

	return pr
}

// unprepare takes an object off its preparation.
func (p *Pool) unprepare(e *entry) {
	pr := e.preparation
	if pr == nil {
		return
	}

	e.preparation = nil

	if delete(pr.waiting, e); len(pr.waiting) == 0 {
		p.end(pr)
	}
}

// end a preparation that is done, or that no object needs any more.
func (p *Pool) end(pr *preparation) {
	pr.cancel()

	if p.preparations[pr.key] == pr {
		delete(p.preparations, pr.key)
	}
}
