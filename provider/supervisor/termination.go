package supervisor

import (
	"time"

	"golang.org/x/sys/unix"
)

// killPatience is how long a process may take to end after SIGKILL. A process that is
// still there then does nothing any more: the kernel keeps it, often since it waits for a
// disk (state D), and ends it as soon as possible.
const killPatience = 5 * time.Second

// A termination ends processes: with SIGTERM, and with SIGKILL when the grace is over.
type termination struct {
	// killFrom is the end of the grace.
	killFrom time.Time
	// asked are the processes that have got SIGTERM.
	asked map[process]bool
	// killed are the processes that were there at the last look and have got SIGKILL, with
	// the time of the first one.
	killed map[process]time.Time
}

func newTermination(grace time.Duration) *termination {
	return &termination{killFrom: time.Now().Add(grace), asked: map[process]bool{}}
}

// signal the processes that were found. It is true if some of them are new: a new process
// may fork and be gone before the next look, so that this should come at once.
func (t *termination) signal(found []process) bool {
	now, news := time.Now(), false

	if now.Before(t.killFrom) {
		for _, p := range found {
			if !t.asked[p] {
				t.asked[p], news = true, true
				_ = unix.Kill(p.pid, unix.SIGTERM)
			}
		}

		return news
	}

	killed := make(map[process]time.Time, len(found))

	for _, p := range found {
		since, known := t.killed[p]
		if !known {
			since, news = now, true
		}

		killed[p] = since
		_ = unix.Kill(p.pid, unix.SIGKILL)
	}

	t.killed = killed

	return news
}

// stuck is true when processes are left, and all of them have had SIGKILL long ago.
func (t *termination) stuck() bool {
	for _, since := range t.killed {
		if time.Since(since) < killPatience {
			return false
		}
	}

	return len(t.killed) > 0
}
