package content

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// A Store has content sets, each in a directory that is named by its digest. A
// set is installed once and never changes.
type Store struct {
	dir     string
	key     []byte
	tools   string
	environ []string
	run     Command

	observer Observer
	now      func() time.Time

	mu      sync.Mutex
	flights map[string]*flight
	uses    map[string]int
}

// A StoreOption configures a Store.
type StoreOption func(*Store)

// WithCommand runs ansible-galaxy with c instead of Exec.
func WithCommand(c Command) StoreOption {
	return func(s *Store) { s.run = c }
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

// NewStore returns a store in a directory, which is made if need be. Sets that
// are there go on serving, installations that were not finished are removed.
func NewStore(dir string, o ...StoreOption) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, errors.Wrap(err, "cannot tell where the content store is")
	}

	s := &Store{
		dir: abs, environ: os.Environ(), run: Exec, observer: nopObserver{}, now: time.Now,
		flights: map[string]*flight{}, uses: map[string]int{},
	}
	for _, fn := range o {
		fn(s)
	}

	for _, d := range []string{s.path(""), s.temp()} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, errors.Wrap(err, "cannot make the content store")
		}
	}

	return s, removeLeftovers(s.temp())
}

// Digest of the set that is requested; empty when nothing is required.
func (s *Store) Digest(req Request) (string, error) {
	return req.digest(s.key, s.tools)
}

// Installed returns the set with this digest, and whether it is there. The set
// of an empty digest is the one that requires nothing.
func (s *Store) Installed(digest string) (Set, bool) {
	if digest == "" {
		return Set{}, true
	}

	if !regexp.MustCompile(`^[0-9a-f]+$`).MatchString(digest) {
		return Set{}, false
	}

	m, err := readManifest(s.path(digest))
	if err != nil || m.Digest != digest {
		return Set{}, false
	}

	return Set{Digest: digest, Dir: s.path(digest), Collections: m.Collections, Roles: m.Roles}, true
}

// Ensure returns the set that is requested and installs it if need be, once
// however many ask for it. The set is in use until release is called. The error
// is an InstallError when ansible-galaxy failed, and the next call tries again.
//
// A context that is done ends the waiting of its caller; the installation ends
// when nobody waits for it any more.
func (s *Store) Ensure(ctx context.Context, req Request) (set Set, release func(), err error) {
	digest, err := s.Digest(req)
	if err != nil {
		return Set{}, nil, err
	}

	started := false

	for {
		if set, release, ok := s.acquire(digest); ok {
			if set.New = started; !started && digest != "" {
				s.observer.Found()
			}

			return set, release, nil
		}

		if ctx.Err() != nil {
			return Set{}, nil, gaveUp(ctx)
		}

		f, joined, first := s.join(ctx, digest, req)
		started = started || first

		if err := s.wait(ctx, f, joined); err != nil {
			return Set{}, nil, err
		}
	}
}

// acquire a set that is there.
func (s *Store) acquire(digest string) (Set, func(), bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	set, ok := s.Installed(digest)
	if !ok || digest == "" {
		return set, func() {}, ok
	}

	s.uses[digest]++

	return set, sync.OnceFunc(func() { s.release(digest) }), true
}

func (s *Store) release(digest string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.uses[digest]--; s.uses[digest] == 0 {
		delete(s.uses, digest)
	}
}

func (s *Store) path(digest string) string {
	return filepath.Join(s.dir, "sets", digest)
}

func (s *Store) temp() string {
	return filepath.Join(s.dir, "tmp")
}
