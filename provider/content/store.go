package content

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/utils/lru"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/share"
)

// A Store has content sets, each in a directory of its own. A set is installed once and never
// changes. A request that is not pinned may later resolve to other versions, which are another
// set. The new set is then the current one of the request; the old one is removed when the last
// run that uses it has ended.
type Store struct {
	config Config

	// background is done when the store is stopped.
	background context.Context //nolint:containedctx // Refreshes outlive the callers that start them.
	stop       context.CancelFunc
	refreshing sync.WaitGroup
	// refreshPlaces are for refreshes, installPlaces for installations that callers of
	// Ensure wait for.
	refreshPlaces, installPlaces *share.Gate

	mu        sync.Mutex
	entries   map[string]*entry
	flights   map[string]*flight
	histories *lru.Cache
	resolved  *lru.Cache
	// refreshes in progress, by digest. Each has the functions that wake its callers.
	refreshes map[string]map[string]func()
}

// A Config of a store.
type Config struct {
	// Dir of the store, which is made if need be.
	Dir string
	// Private is a directory for the files of installations that are not content, credentials
	// among them. By default it is in Dir.
	Private string
	// Lease is how long a run may use a set after Ensure has returned it. With a lease any
	// number of processes on any number of nodes may share the store, and each of them may be
	// gone while its run uses a set. 0 means that the store is that of one process.
	Lease time.Duration
	// Installer of sets.
	Installer galaxy.Installer
	// Key of digests, so that they do not let the credentials that went into them be
	// guessed. Another key installs everything again.
	Key []byte
	// Tools is the version of the tools. Another version installs everything again.
	Tools string
	// TTL is the time after which a request that is not pinned is resolved again; 0 means
	// never.
	TTL time.Duration
	// MaxSize is how much the sets may take on disk, in bytes; 0 means no limit. Above it,
	// sets that no run uses are removed, the least recently used first.
	MaxSize int64
	// MaxInstalls is how many sets are installed at a time for callers of Ensure,
	// beside those that are resolved again; at least 1. If that is more than
	// one, one tenant has all but one of the places at most.
	MaxInstalls int
	// Observer of what the store does; nil for none.
	Observer Observer

	// now tells the time; nil means time.Now.
	now func() time.Time
}

// NewStore returns a store in a directory. Without a lease one process may use it at a time. Sets
// that are there go on serving, installations that were not finished are removed.
func NewStore(c Config) (*Store, error) {
	var err error
	if c.Dir, err = filepath.Abs(c.Dir); err != nil {
		return nil, errors.Wrap(err, "cannot tell where the content store is")
	}

	if c.Private == "" {
		c.Private = tempIn(c.Dir)
	}

	if c.Observer == nil {
		c.Observer = nopObserver{}
	}

	if c.now == nil {
		c.now = time.Now
	}

	s := &Store{
		config: c, refreshPlaces: share.NewGate(maxRefreshes), installPlaces: share.NewGate(c.MaxInstalls),
		entries: map[string]*entry{}, flights: map[string]*flight{},
		histories: lru.New(maxHistories), resolved: lru.New(maxResolved), refreshes: map[string]map[string]func(){},
	}
	s.background, s.stop = context.WithCancel(context.Background())

	if err := s.own(); err != nil {
		return nil, err
	}

	if err := s.removeLeftovers(); err != nil {
		return nil, err
	}

	s.mu.Lock()
	err = s.load()
	dirs := s.tidy()
	s.mu.Unlock()
	remove(dirs)

	return s, err
}

// own makes the directories of the store.
func (s *Store) own() error {
	for _, dir := range []string{s.config.Dir, s.sets(), s.temp(), s.config.Private} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return errors.Wrap(err, "cannot use the content store")
		}
	}

	return nil
}

// load the sets that are there and not known. The store is locked.
func (s *Store) load() error {
	names, err := os.ReadDir(s.sets())
	if err != nil {
		return errors.Wrap(err, "cannot read the content store")
	}

	for _, n := range names {
		dir := filepath.Join(s.sets(), n.Name())
		if s.entries[dir] != nil {
			continue
		}

		e := loadEntry(dir)
		e.resolved = s.past(marked(dir, markResolved))
		s.entries[dir] = e
	}

	return nil
}

// past returns a time if it is over, and otherwise the zero time. A time in the future was
// written by a clock that was wrong.
func (s *Store) past(t time.Time) time.Time {
	if t.After(s.config.now()) {
		return time.Time{}
	}

	return t
}

// Stop ends all refreshes and waits for their end. Installations for callers of Ensure go on.
func (s *Store) Stop() {
	s.stop()
	s.refreshing.Wait()
}

// Installed returns the digest of a request, and whether Ensure would find its set without an
// installation. That is true for a request that requires nothing.
func (s *Store) Installed(req Request) (digest string, ok bool) {
	digest = s.Digest(req)

	s.mu.Lock()
	defer s.mu.Unlock()

	return digest, digest == "" || s.current(digest) != nil
}

// Ensure returns the set that is requested. It installs the set if need be, once for all
// callers. The set is in use until release is called. The
// error is a galaxy.InstallError when ansible-galaxy failed, and a DiskFullError when there is
// not enough space. For some time after that the error is a BackoffError, and nothing is tried,
// unless a user has asked for it.
//
// A caller waits until its context is done, or the timeout of the request is over. The
// installation ends when no caller waits any more.
func (s *Store) Ensure(ctx context.Context, req Request) (set Set, release func(), err error) {
	digest := s.Digest(req)
	if digest == "" {
		return Set{}, func() {}, nil
	}

	if err := s.own(); err != nil {
		return Set{}, nil, err
	}

	for {
		var err error

		e := s.find(digest)
		if e == nil {
			e, err = s.await(ctx, digest, req)
		}

		switch {
		case err != nil:
			return Set{}, nil, err
		case e != nil:
			return s.setOf(req, e), sync.OnceFunc(func() { s.release(e) }), nil
		}
	}
}

// find the set of a request in the store, which is in use then; nil when there is none.
func (s *Store) find(digest string) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()

	e := s.current(digest)
	if e == nil {
		return nil
	}

	e.uses++

	if e.there() {
		s.use(e)
		s.config.Observer.Found()

		return e
	}

	e.uses--
	e.damaged = true

	return nil
}

// await the set that an installation in progress, or a new one, results in. It is nil when
// the installation was being ended already: then await has waited for its end.
func (s *Store) await(ctx context.Context, digest string, req Request) (*entry, error) {
	if ctx.Err() != nil {
		return nil, gaveUp(ctx)
	}

	f, joined, err := s.join(ctx, digest, req, false)
	if err != nil {
		return nil, err
	}

	return s.wait(ctx, f, joined, req.Timeout)
}

// setOf returns the set of an entry that is in use, as an answer to this request.
func (s *Store) setOf(req Request, e *entry) Set {
	s.mu.Lock()
	defer s.mu.Unlock()

	set := e.set()
	set.Resolved = e.resolved

	return s.remember(req, set)
}

// release a set after a run.
func (s *Store) release(e *entry) {
	s.mu.Lock()
	s.use(e)
	s.mu.Unlock()

	s.drop(e)
}

// drop a use of a set. The set counts as used only after release.
func (s *Store) drop(e *entry) {
	s.mu.Lock()
	e.uses--
	dirs := s.tidy()
	s.mu.Unlock()

	remove(dirs)
}

// current is the set that a request has resolved to last, which runs get; nil when there is
// none. The store is locked.
func (s *Store) current(digest string) *entry {
	var c *entry

	for _, e := range s.entries {
		if e.manifest.Digest == digest && !e.damaged && (c == nil || e.number > c.number) {
			c = e
		}
	}

	return c
}

// next returns the number for a new set of a request. The store is locked.
func (s *Store) next(digest string) int {
	n := 0

	for _, e := range s.entries {
		if of, number, ok := parseEntryName(filepath.Base(e.dir)); ok && of == digest {
			n = max(n, number+1)
		}
	}

	return n
}

func (s *Store) sets() string {
	return filepath.Join(s.config.Dir, "sets")
}

func (s *Store) temp() string { return tempIn(s.config.Dir) }

func tempIn(dir string) string { return filepath.Join(dir, "tmp") }
