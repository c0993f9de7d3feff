package supervisor

import (
	"time"

	"golang.org/x/sys/unix"
)

// killPatience is how long a process may take to end that was killed. One that is
// still there does nothing any more: the kernel keeps it, often since it waits for a
// disk (state D), and ends it as soon as it can.
const killPatience = 5 * time.Second

// A hunt for processes that are to end. They are asked to, and killed when the grace
// is over.
type hunt struct {
	polite time.Time
	asked  map[process]bool
	// killed are those that were there at the last look, and since when they are to
	// be dead.
	killed map[process]time.Time
}

func newHunt(grace time.Duration) *hunt {
	return &hunt{polite: time.Now().Add(grace), asked: map[process]bool{}}
}

// signal all that were found. It is true if some were not known yet: what appeared
// since the last look may fork and be gone before the next one.
func (h *hunt) signal(found []process) bool {
	now, news := time.Now(), false

	if now.Before(h.polite) {
		for _, p := range found {
			if !h.asked[p] {
				h.asked[p], news = true, true
				_ = unix.Kill(p.pid, unix.SIGTERM)
			}
		}

		return news
	}

	killed := make(map[process]time.Time, len(found))

	for _, p := range found {
		since, known := h.killed[p]
		if !known {
			since, news = now, true
		}

		killed[p] = since
		_ = unix.Kill(p.pid, unix.SIGKILL)
	}

	h.killed = killed

	return news
}

// stuck is true when some are there, and all of them were killed long ago.
func (h *hunt) stuck() bool {
	for _, since := range h.killed {
		if time.Since(since) < killPatience {
			return false
		}
	}

	return len(h.killed) > 0
}
