package content

import "time"

// Processes on many nodes may share a store, and each of them may end, or stand still, at any moment. Nothing
// is locked: a set is installed in a workspace, and gets its place by one rename, by which the first of those
// wins that install the same. The times of sets and workspaces say what is in use, and may be a run's for as
// long as the lease.
const (
	// clocks is how far the clocks of nodes may differ.
	clocks = 10 * time.Minute
	// longestInstall is how long an installation may take at most in a store that is shared.
	longestInstall = 24 * time.Hour
)

// leased is true for what was used, or made, at a time, and may be in use for some time by another process.
func (s *Store) leased(since time.Time, most time.Duration) bool {
	return s.config.Lease > 0 && s.config.now().Before(since.Add(min(s.config.Lease, most)+clocks))
}

// inUse is true for a set that a run uses, as far as is known. The store is locked.
func (s *Store) inUse(e *entry) bool {
	return e.uses > 0 || s.leased(marked(e.dir, markUsed), s.config.Lease)
}

// use a set. The store is locked.
func (s *Store) use(e *entry) {
	e.used = s.config.now()
	mark(e.dir, markUsed, e.used)
}
