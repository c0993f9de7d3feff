package content

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/utils/lru"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/own"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/provider/share"
)

// A Store has content sets, each in a directory of its own. A set is installed
// once and never changes. What is not pinned may resolve to something else
// later, which is another set: it takes the place of the one before it, which
// goes when the last run that uses it has ended.
type Store struct {
	dir     string
	key     []byte
	tools   string
	environ []string
	run     Command
	policy  sandbox.Policy
	ttl     time.Duration
	most    int64

	observer Observer
	now      func() time.Time

	// background is done when the store is stopped.
	background context.Context //nolint:containedctx // What it is for outlives its callers.
	stop       context.CancelFunc
	refreshing sync.WaitGroup
	// slots are the places for what is resolved again, installs those for
	// installations that somebody waits for.
	slots, installs *share.Gate

	mu        sync.Mutex
	entries   map[string]*entry
	flights   map[string]*flight
	histories *lru.Cache
	resolved  *lru.Cache
	refreshes map[string]*refresh
}

// A StoreOption configures a Store.
type StoreOption func(*Store)

// WithCommand runs ansible-galaxy with c instead of Exec.
func WithCommand(c Command) StoreOption {
	return func(s *Store) { s.run = c }
}

// WithPolicy confines ansible-galaxy, and what it starts, to the workspace of
// its installation.
func WithPolicy(p sandbox.Policy) StoreOption {
	return func(s *Store) { s.policy = p }
}

// WithKey makes digests with a key, so that they do not let the credentials
// that went into them be guessed. Another key installs everything again.
func WithKey(key []byte) StoreOption {
	return func(s *Store) { s.key = key }
}

// WithTools says the version of the tools. Another version installs everything
// again.
func WithTools(version string) StoreOption {
	return func(s *Store) { s.tools = version }
}

// WithEnviron is the environment of the provider, of which ansible-galaxy gets
// what it needs, instead of the one of this process.
func WithEnviron(environ []string) StoreOption {
	return func(s *Store) { s.environ = environ }
}

// WithTTL is how long content that is not pinned serves before it is to be
// resolved again; 0, the default, means for ever.
func WithTTL(ttl time.Duration) StoreOption {
	return func(s *Store) { s.ttl = max(ttl, 0) }
}

// WithMaxSize is how much sets may take on disk, in bytes, before those that
// nobody uses go, the least recently used first; 0, the default, means no limit.
func WithMaxSize(bytes int64) StoreOption {
	return func(s *Store) { s.most = bytes }
}

// WithMaxInstalls is how many sets are installed at a time for those who wait for
// them, beside those that are resolved again; 4 by default. If that is more than one, one
// tenant has all but one of the places at most.
func WithMaxInstalls(n int) StoreOption {
	return func(s *Store) { s.installs = share.NewGate(n) }
}

// NewStore returns a store in a directory, which is made if need be. One process
// may use it at a time. Sets that are there go on serving, installations that
// were not finished are removed.
func NewStore(dir string, o ...StoreOption) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, errors.Wrap(err, "cannot tell where the content store is")
	}

	s := &Store{
		dir: abs, environ: os.Environ(), run: Exec, observer: nopObserver{}, now: time.Now,
		slots: share.NewGate(maxRefreshes), installs: share.NewGate(maxInstalls),
		entries: map[string]*entry{}, flights: map[string]*flight{},
		histories: lru.New(maxHistories), resolved: lru.New(maxResolved), refreshes: map[string]*refresh{},
	}
	s.background, s.stop = context.WithCancel(context.Background())

	for _, fn := range o {
		fn(s)
	}

	if err := s.own(); err != nil {
		return nil, err
	}

	if err := removeLeftovers(s.temp()); err != nil {
		return nil, err
	}

	return s, s.load()
}

// own the directories of the store: whatever others have made of them is put right.
func (s *Store) own() error {
	for _, dir := range []string{s.dir, s.sets(), s.temp()} {
		if err := own.Dir(dir); err != nil {
			return errors.Wrap(err, "cannot use the content store")
		}
	}

	return nil
}

// load the sets that are there. Damaged ones are removed.
func (s *Store) load() error {
	names, err := os.ReadDir(s.sets())
	if err != nil {
		return errors.Wrap(err, "cannot read the content store")
	}

	s.mu.Lock()

	for _, n := range names {
		dir := filepath.Join(s.sets(), n.Name())

		e, err := loadEntry(dir)
		if err != nil {
			remove([]string{dir})
			s.observer.Removed(RemovedDamaged)

			continue
		}

		e.resolved = s.past(marked(dir, markResolved))
		s.entries[dir] = e
	}

	dirs := s.tidy()
	s.mu.Unlock()
	remove(dirs)

	return nil
}

// past is a time that is over. One that is still to come was noted with a clock
// that was ahead, and is not known: what waits for it would wait for as long as
// the clock was wrong.
func (s *Store) past(t time.Time) time.Time {
	if t.After(s.now()) {
		return time.Time{}
	}

	return t
}

// Stop resolving content again, and wait for the end of that. Installations that
// somebody waits for go on.
func (s *Store) Stop() {
	s.stop()
	s.refreshing.Wait()
}

// Digest of the set that is requested; empty when nothing is required.
func (s *Store) Digest(req Request) (string, error) {
	return req.digest(s.key, s.tools, s.environ)
}

// Installed says by which digest what is requested is known, and whether it is there:
// then Ensure has only to look at it. Nothing that is required is there, too.
func (s *Store) Installed(req Request) (digest string, ok bool, err error) {
	digest, err = s.Digest(req)
	if err != nil {
		return "", false, err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	return digest, digest == "" || s.current(digest) != nil, nil
}

// Ensure returns the set that is requested and installs it if need be, once
// however many ask for it. The set is in use until release is called. A set that
// is not what was installed any more is installed anew. The error is an
// InstallError when ansible-galaxy failed, a DiskFullError when there is no room
// for the set. For some time after that it is a BackoffError, and nothing is tried,
// unless somebody has asked for it.
//
// A context that is done, or the timeout of the request, ends the waiting of its
// caller; the installation ends when nobody waits for it any more.
func (s *Store) Ensure(ctx context.Context, req Request) (set Set, release func(), err error) {
	digest, err := s.Digest(req)
	if err != nil || digest == "" {
		return Set{}, func() {}, err
	}

	if err := s.own(); err != nil {
		return Set{}, nil, err
	}

	for {
		e, err := s.found(ctx, digest, req.Timeout)
		if err != nil {
			return Set{}, nil, err
		}

		if e != nil {
			s.observer.Found()

			return s.setOf(req, e), sync.OnceFunc(func() { s.release(e) }), nil
		}

		if ctx.Err() != nil {
			return Set{}, nil, gaveUp(ctx)
		}

		f, joined, err := s.join(ctx, digest, req, false)
		if err != nil {
			return Set{}, nil, err
		}

		e, err = s.wait(ctx, f, joined, req.Timeout)
		if err != nil {
			return Set{}, nil, err
		}

		if e != nil {
			return s.setOf(req, e), sync.OnceFunc(func() { s.release(e) }), nil
		}
	}
}

// found is the set that is there, looked at for no longer than the timeout.
func (s *Store) found(ctx context.Context, digest string, timeout time.Duration) (*entry, error) {
	ctx, cancel := within(ctx, timeout)
	defer cancel()

	e, err := s.acquire(ctx, digest)
	if err != nil {
		return nil, gaveUp(ctx)
	}

	return e, nil
}

// setOf an entry that is in use, as who requested it gets to know it.
func (s *Store) setOf(req Request, e *entry) Set {
	s.mu.Lock()
	defer s.mu.Unlock()

	set := e.set()
	set.Resolved = e.resolved

	return s.remember(req, set)
}

// acquire the set that a request resolved to; nil when there is none, or none
// that is intact. Looking at its files takes time, and nobody waits for that but
// the caller. The error is that of the context.
func (s *Store) acquire(ctx context.Context, digest string) (*entry, error) {
	s.mu.Lock()

	e := s.current(digest)
	if e == nil {
		s.mu.Unlock()

		return nil, nil
	}

	e.uses++
	s.mu.Unlock()

	ok, err := e.intact(ctx)
	if ok {
		return e, nil
	}

	if err == nil {
		s.mu.Lock()
		e.damaged = true
		s.mu.Unlock()
	}

	s.drop(e)

	return nil, err
}

// release a set after a run.
func (s *Store) release(e *entry) {
	s.mu.Lock()
	e.used = s.now()
	mark(e.dir, markUsed, e.used)
	s.mu.Unlock()

	s.drop(e)
}

// drop a set that was not used after all.
func (s *Store) drop(e *entry) {
	s.mu.Lock()
	e.uses--
	dirs := s.tidy()
	s.mu.Unlock()

	remove(dirs)
}

// current is the set that a request has resolved to last; nil when there is
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

// next number of a set. The store is locked.
func (s *Store) next(digest string) int {
	n := 0

	for _, e := range s.entries {
		if e.manifest.Digest == digest {
			n = max(n, e.number+1)
		}
	}

	return n
}

func (s *Store) sets() string {
	return filepath.Join(s.dir, "sets")
}

func (s *Store) temp() string {
	return filepath.Join(s.dir, "tmp")
}
