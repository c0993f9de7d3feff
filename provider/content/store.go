package content

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/share"
)

const (
	// maxSize of the sets on disk, in bytes. Above it, sets that no run uses are removed.
	maxSize = 10 << 30
	// maxInstalls at a time for callers of Ensure, of which one tenant has all but one at most.
	maxInstalls = 4
	// maxResolved is of how many requests it is remembered when they were resolved.
	maxResolved = 10000
)

// A Store has content sets, each in a directory of its own. A set is installed once and never
// changes. A request that is not pinned may later resolve to other versions, which are another
// set. The new set is then the current one of the request; the old one is removed when the last
// run that uses it has ended.
type Store struct {
	config Config

	// background is done when the store is stopped.
	background context.Context //nolint:containedctx // Tasks outlive the calls that begin them.
	stop       context.CancelFunc
	working    sync.WaitGroup
	// refreshPlaces are for refreshes, installPlaces for installations that callers of
	// Ensure wait for.
	refreshPlaces, installPlaces *share.Gate

	mu sync.Mutex
	// entries by their directories.
	entries map[string]*entry
	// trash are the directories of what was evicted, see unlock.
	trash []string
	// installing are the requests that are installed now, by digest. Each is closed at its end.
	installing map[string]chan struct{}
	// failed are the failures of requests by digest. Resolved is when requests were resolved, by what lasts of them,
	// for those whose set is not there: it was removed, or a credential has rotated.
	failed, resolved *lru.Cache
	// tasks in progress, by their keys, and those that callers of Await wait for, or have waited for.
	tasks   map[string]*task
	awaited map[types.UID]*task
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
	// Metrics of the store; by default they are registered nowhere.
	Metrics *Metrics

	// For tests: what else the constants are, and the time.
	maxSize     int64
	maxInstalls int
	now         func() time.Time
}

// NewStore returns a store in a directory. Without a lease one process may use it at a time. Sets
// that are there go on serving, installations that were not finished are removed.
func NewStore(c Config) (*Store, error) {
	var err error
	if c.Dir, err = filepath.Abs(c.Dir); err != nil {
		return nil, errors.Wrap(err, "cannot tell where the content store is")
	}

	c.maxSize, c.maxInstalls = cmp.Or(c.maxSize, maxSize), cmp.Or(c.maxInstalls, maxInstalls)

	if c.Metrics == nil {
		c.Metrics = NewMetrics(nil)
	}

	if c.now == nil {
		c.now = time.Now
	}

	s := &Store{
		config: c, refreshPlaces: share.NewGate(maxRefreshes), installPlaces: share.NewGate(c.maxInstalls),
		entries: map[string]*entry{}, installing: map[string]chan struct{}{},
		failed: lru.New(maxFailures), resolved: lru.New(maxResolved), tasks: map[string]*task{},
		awaited: map[types.UID]*task{},
	}
	s.config.Private = cmp.Or(c.Private, s.temp())
	s.background, s.stop = context.WithCancel(context.Background())

	if err := s.makeDirectories(); err != nil {
		return nil, err
	}

	if err := s.removeLeftovers(); err != nil {
		return nil, err
	}

	s.mu.Lock()
	defer s.unlock()

	err = s.load("")
	s.tidy()

	return s, err
}

// makeDirectories of the store, and more.
func (s *Store) makeDirectories(more ...string) error {
	for _, dir := range append(more, s.sets(), s.temp(), s.config.Private) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return errors.Wrap(err, "cannot use the content store")
		}
	}

	return nil
}

// Ensure returns the set that is requested. It installs the set if need be, once for all callers. The set is in use
// until release is called. The error is a galaxy.InstallError when ansible-galaxy failed, and wraps ENOSPC when there
// is not enough space. For some time after that the error is a BackoffError, and nothing is tried, unless a user has
// asked for it.
//
// The installation ends when the context is done, or the timeout of the request is over. Then the next caller that
// waits begins another one: Await is one caller for all that wait for the same.
func (s *Store) Ensure(ctx context.Context, req Request) (set Set, release func(), err error) {
	digest := s.digest(req)
	if digest == "" {
		return Set{}, func() {}, nil
	}

	e, err := s.find(digest)
	if err == nil && e == nil {
		e, err = s.ensure(ctx, digest, req)
	}

	if err != nil {
		return Set{}, nil, err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	return e.set(), sync.OnceFunc(func() { s.release(e) }), nil
}

// find the set of a request in the store, which is in use then; nil when there is none.
func (s *Store) find(digest string) (*entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if err := s.load(digest); err != nil {
		return nil, err
	}

	e := s.current(digest)
	if e == nil || errors.Is(s.use(e), fs.ErrNotExist) {
		return nil, nil
	}

	e.uses++
	s.config.Metrics.hits.Inc()

	return e, nil
}

// release a set after it was used.
func (s *Store) release(e *entry) {
	s.mu.Lock()
	defer s.unlock()

	_ = s.use(e)
	e.uses--
	s.tidy()
}

func (s *Store) sets() string { return filepath.Join(s.config.Dir, "sets") }

func (s *Store) temp() string { return filepath.Join(s.config.Dir, "tmp") }
