package content

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
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

// TestMaxSize has sets of ten blocks and some directories.
func TestMaxSize(t *testing.T) {
	t.Parallel()

	const room = 40 * block // For two of these sets.

	dir, c, m := t.TempDir(), newClock(), NewMetrics(nil)
	open := func() *Store {
		return newStore(t, dir, withMaxSize(room), withClock(c.Now), withMetrics(m), withCommand(func(_ context.Context, argv, _ []string, _ string, _ io.Writer) error {
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

	bytes := testutil.ToFloat64(m.bytes)
	got := []float64{
		testutil.ToFloat64(m.removals.WithLabelValues("Space")), testutil.ToFloat64(m.sets),
		testutil.ToFloat64(m.installs.WithLabelValues("run", "Installed")), testutil.ToFloat64(m.hits),
	}
	if diff := cmp.Diff([]float64{2, 2, 4, 3}, got); diff != "" || bytes <= 0 || bytes > room {
		t.Errorf("\nWhat goes, stays, is installed and found is counted: got %v bytes, -want, +got:\n%s", bytes, diff)
	}
}
