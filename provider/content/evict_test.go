package content

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// block is what a file takes on disk at least, in bytes.
const block = 4 << 10

// install what ansible-galaxy with these arguments would: a collection of a
// number of files of one block each.
func install(argv []string, name string, files int) error {
	dir := filepath.Join(argv[slices.Index(argv, "-p")+1], "ansible_collections", "acme", name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}

	info := fmt.Sprintf(`{"collection_info": {"namespace": "acme", "name": %q, "version": "1.0.0"}}`, name)
	if err := os.WriteFile(filepath.Join(dir, "MANIFEST.json"), []byte(info), 0o600); err != nil {
		return err
	}

	for i := range files - 1 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%d.yml", i)), []byte(strings.Repeat("x", block)), 0o600); err != nil {
			return err
		}
	}

	return nil
}

// recorder of what a store does.
type recorder struct {
	mu       sync.Mutex
	installs []Installation
	found    int
	removed  []Removal
	sets     int
	bytes    int64
}

func (r *recorder) Installed(i Installation) { r.do(func() { r.installs = append(r.installs, i) }) }
func (r *recorder) Found()                   { r.do(func() { r.found++ }) }
func (r *recorder) Removed(why Removal)      { r.do(func() { r.removed = append(r.removed, why) }) }
func (r *recorder) Stored(n int, b int64)    { r.do(func() { r.sets, r.bytes = n, b }) }

func (r *recorder) do(fn func()) {
	r.mu.Lock()
	defer r.mu.Unlock()

	fn()
}

// TestMaxSize has sets of ten blocks and some directories.
func TestMaxSize(t *testing.T) {
	t.Parallel()

	const room = 40 * block // For two of these sets.

	dir, c, r := t.TempDir(), newClock(), &recorder{}
	open := func() *Store {
		return newStore(t, dir, withMaxSize(room), withClock(c.Now), withObserver(r), withCommand(func(_ context.Context, argv, _ []string, _ string, _ io.Writer) error {
			return install(argv, "x", 10)
		}))
	}
	there := func(s *Store) string {
		var names []string

		for _, name := range []string{"a", "b", "c", "d"} {
			if s.Resolution(requires(t, name)).Found {
				names = append(names, name)
			}
		}

		return strings.Join(names, " ")
	}
	use := func(s *Store, name string) {
		c.Step(time.Second)

		_, release := ensure(t, s, requires(t, name))
		release()
	}

	s := open()
	use(s, "a")
	use(s, "b")
	use(s, "a")
	use(s, "c")

	if diff := cmp.Diff("a c", there(s)); diff != "" {
		t.Errorf("\nThe set that was not used for longest makes room: -want sets, +got sets:\n%s", diff)
	}

	c.Step(time.Second)

	a, releaseA := ensure(t, s, requires(t, "a"))
	_, releaseC := ensure(t, s, requires(t, "c"))

	use(s, "d")

	if diff := cmp.Diff("a c", there(s)); diff != "" {
		t.Errorf("\nSets in use stay; one for which there is no room serves its run and goes: -want sets, +got sets:\n%s", diff)
	}

	releaseC()
	c.Step(time.Second)
	releaseA()

	// A restart with less room.
	s = newStore(t, dir, withMaxSize(room/2), withClock(c.Now))

	if diff := cmp.Diff("a", there(s)); diff != "" {
		t.Errorf("\nWhen sets were last used is known after a restart: -want sets, +got sets:\n%s", diff)
	}

	if !exists(a.Dir) {
		t.Errorf("\nThe set that stays is there.")
	}

	names, err := os.ReadDir(filepath.Dir(a.Dir))
	if err != nil || len(names) != 1 {
		t.Errorf("\nThe others are gone: got %v, %v", names, err)
	}

	wantNoLeftovers(t, s)

	want := []Removal{RemovedForSpace, RemovedForSpace}
	if diff := cmp.Diff(want, r.removed); diff != "" {
		t.Errorf("\nWhat goes is told: -want, +got:\n%s", diff)
	}

	if r.sets != 2 || r.bytes <= 0 || r.bytes > room || len(r.installs) != 4 || r.found != 3 {
		t.Errorf("\nSo are numbers and sizes: got %d sets, %d bytes, %d installs, %d found", r.sets, r.bytes, len(r.installs), r.found)
	}
}
