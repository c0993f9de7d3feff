package content

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// block is the smallest size of a file on disk, in bytes.
const block = 4 << 10

// install replaces ansible-galaxy with these arguments: it installs a collection of a
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

	const room = 40 * block // Enough for two of these sets.

	dir, c, registry := t.TempDir(), newClock(), prometheus.NewRegistry()
	m := NewMetrics(registry)
	open := func() *Store {
		return newStore(t, Config{Dir: dir, maxSize: room, now: c.Now, Metrics: m, Installer: (&source{files: 10}).installer()})
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
		t.Errorf("\nThe least recently used set should be removed: -want sets, +got sets:\n%s", diff)
	}

	c.Step(time.Second)

	a, releaseA := ensure(t, s, requires(t, "a"))
	_, releaseC := ensure(t, s, requires(t, "c"))

	use(s, "d")

	if diff := cmp.Diff("a c", there(s)); diff != "" {
		t.Errorf("\nSets in use should stay; a set without space should be removed after its run: -want sets, +got sets:\n%s", diff)
	}

	releaseC()
	c.Step(time.Second)
	releaseA()

	// A restart with a smaller size.
	s = newStore(t, Config{Dir: dir, maxSize: room / 2, now: c.Now})

	if diff := cmp.Diff("a", there(s)); diff != "" {
		t.Errorf("\nThe times of the last use should be known after a restart: -want sets, +got sets:\n%s", diff)
	}

	if !exists(a.Dir) {
		t.Errorf("\nThe remaining set should exist.")
	}

	names, err := os.ReadDir(filepath.Dir(a.Dir))
	if err != nil || len(names) != 1 {
		t.Errorf("\nThe other sets should be removed: got %v, %v", names, err)
	}

	wantNoLeftovers(t, s)

	want := `
# HELP provider_ansible_content_cache_hits_total Content sets that were wanted and were there already.
# TYPE provider_ansible_content_cache_hits_total counter
provider_ansible_content_cache_hits_total 3
# HELP provider_ansible_content_evictions_total Content sets that were removed from the store, by reason.
# TYPE provider_ansible_content_evictions_total counter
provider_ansible_content_evictions_total{reason="Space"} 2
# HELP provider_ansible_content_installs_total Installations of content sets that have ended, by result, and by cause: a run that waits, or a refresh of what is not pinned.
# TYPE provider_ansible_content_installs_total counter
provider_ansible_content_installs_total{cause="run",result="Installed"} 4
# HELP provider_ansible_content_sets Content sets in the store.
# TYPE provider_ansible_content_sets gauge
provider_ansible_content_sets 2
`
	const prefix = "provider_ansible_content_"

	needs.OK(t, testutil.GatherAndCompare(registry, strings.NewReader(want),
		prefix+"cache_hits_total", prefix+"evictions_total", prefix+"installs_total", prefix+"sets"))

	if bytes := testutil.ToFloat64(m.bytes); bytes <= 0 || bytes > room {
		t.Errorf("\nThe metric of the size of the store is wrong: got %v bytes", bytes)
	}
}
