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
	// maxSize is the size of the sets on disk, in bytes, above which unused sets are removed.
	maxSize = 10 << 30
	// maxInstalls is the largest number of installations at a time for callers of Ensure. One tenant has all but one at
	// most.
	maxInstalls = 4
	// maxResolved is the number of requests with a known time of their last resolution.
	maxResolved = 10000
)

// A Store keeps content sets, each in a directory of its own. A set is installed once and never changes. A request that
// is not pinned may later resolve to other versions: to another set, which becomes the current set of the request. The
// old set is removed when the last run that uses it has ended.
type Store struct {
	config Config

	// background is the context of tasks. It is done when the store is stopped.
	background context.Context //nolint:containedctx // Tasks outlive the calls that begin them.
	stop       context.CancelFunc
	working    sync.WaitGroup
	// refreshPlaces limits refreshes, and installPlaces limits installations for callers of Ensure.
	refreshPlaces, installPlaces *share.Gate

	mu sync.Mutex
	// entries by their directories.
	entries map[string]*entry
	// trash has the directories of evicted sets, see unlock.
	trash []string
	// installing has the digests of requests in progress. A channel is closed at the end of its installation.
	installing map[string]chan struct{}
	// failed has the failures of requests by digest. resolved has the times of resolutions by lasting digest, for requests
	// without a set in the store: the set was removed, or a credential has rotated.
	failed, resolved *lru.Cache
	// tasks are the tasks in progress, by key. awaited are the tasks that callers of Await wait for, or have waited for.
	tasks   map[string]*task
	awaited map[types.UID]*task
}

// A Config of a store.
type Config struct {
	// Dir is the directory of the store. It is made if needed.
	Dir string
	// Private is a directory for files of installations that are not content, such as credentials. By default it is in
	// Dir.
	Private string
	// Lease is the time for which a run may use a set after Ensure has returned it. With a lease, any number of processes
	// on any number of nodes may share the store, and a process may end while its run still uses a set. 0 means that one
	// process has the store for itself.
	Lease time.Duration
	// Installer installs sets.
	Installer galaxy.Installer
	// Key of digests, so that credentials cannot be guessed from a digest. With another key, all sets are installed again.
	Key []byte
	// Tools is the version of the tools. With another version, all sets are installed again.
	Tools string
	// TTL is the time after which a request that is not pinned is resolved again; 0 means never.
	TTL time.Duration
	// Metrics of the store; nil for metrics that are not registered.
	Metrics *Metrics
	// maxSize and maxInstalls override the constants in tests, and now overrides the time.
	maxSize     int64
	maxInstalls int
	now         func() time.Time
}

// NewStore returns a store in a directory. Without a lease, only one process may use the directory at a time. Existing
// sets are used, and unfinished installations are removed.
func NewStore(c Config) (*Store, error) {
	var err error
	if c.Dir, err = filepath.Abs(c.Dir); err != nil {
		return nil, errors.Wrap(err, "cannot find the directory of the content store")
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

// makeDirectories makes the directories of the store, and others.
func (s *Store) makeDirectories(more ...string) error {
	for _, dir := range append(more, s.sets(), s.temp(), s.config.Private) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return errors.Wrap(err, "cannot use the content store")
		}
	}

	return nil
}

// Ensure returns the set of a request. It installs the set if needed, once for all callers. The set is in use until
// release is called. The error is a galaxy.InstallError if ansible-galaxy failed, and wraps ENOSPC if the disk is full.
// For some time after a failure, the error is a BackoffError, and the installation is not tried, unless a user requests
// it.
//
// The installation ends when the context is done, or after the timeout of the request. Then the next waiting caller
// begins another one. Await is one caller of Ensure for all objects that wait for the same request.
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

// find returns the set of a request in the store, and records its use; nil if there is none.
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

// release ends a use of a set.
func (s *Store) release(e *entry) {
	s.mu.Lock()
	defer s.unlock()

	_ = s.use(e)
	e.uses--
	s.tidy()
}

func (s *Store) sets() string { return filepath.Join(s.config.Dir, "sets") }

func (s *Store) temp() string { return filepath.Join(s.config.Dir, "tmp") }
