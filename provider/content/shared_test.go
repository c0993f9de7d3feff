package content

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/installed"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

const lease = time.Hour

// TestShared has stores, like those of Pods, that install the same set into one directory at the same time, and one
// store that was killed during an installation.
func TestShared(t *testing.T) {
	t.Parallel()

	const each = 4

	var (
		half, done sync.WaitGroup
		seen       atomic.Int32
		mu         sync.Mutex
	)

	dir, dirs := t.TempDir(), map[string]bool{}

	half.Add(each)

	for range each {
		s := newStore(t, Config{Dir: dir, Lease: lease, Installer: faked(func(_ context.Context, p supervisor.Command) error {
			if err := install(p.Argv, "x", 10); err != nil {
				return err
			}

			// Every set in the directory is complete.
			names, err := os.ReadDir(filepath.Join(dir, "sets"))
			seen.Add(int32(len(names)))
			half.Done()
			half.Wait()

			if err != nil {
				return err
			}

			return install(p.Argv, "x", 20)
		})})

		done.Go(func() {
			set, release, err := s.Ensure(t.Context(), requires(t, "x"))
			if err != nil {
				t.Error(err)
				return
			}
			defer release()

			mu.Lock()
			defer mu.Unlock()

			dirs[set.Dir] = true

			if m, err := installed.Read(set.Dir); err != nil || m.Bytes < 20*block {
				t.Errorf("%s is not a complete set: %v", set.Dir, err)
			}
		})
	}

	done.Wait()

	src := &source{files: 20}
	later := newStore(t, Config{Dir: dir, Lease: lease, Installer: src.installer()})
	set, _ := ensure(t, later, requires(t, "x"))
	dirs[set.Dir] = true

	if len(dirs) != 1 || seen.Load() != 0 || src.tries.Load() != 0 {
		t.Errorf("All stores should use one complete set: %v, %d seen before, %d installed again", dirs, seen.Load(), src.tries.Load())
	}

	w, err := later.newWorkspace("of a process that was killed")
	needs.OK(t, err)

	trash := filepath.Join(later.temp(), "x"+trashSuffix)
	needs.OK(t, os.Mkdir(trash, 0o700))

	for _, after := range []time.Duration{lease, lease + clocks + time.Minute} {
		newStore(t, Config{Dir: dir, Lease: lease, now: func() time.Time { return time.Now().Add(after) }})

		if want := after == lease; exists(w.Set) != want || exists(trash) {
			t.Errorf("Trash should be removed at once, and a workspace once it cannot be in use: after %s it should exist: %t", after, want)
		}
	}
}

// TestSharedEviction removes only sets that no run can be using.
func TestSharedEviction(t *testing.T) {
	t.Parallel()

	src := &source{files: 10}
	dir, c := t.TempDir(), clocktesting.NewFakeClock(time.Now())
	open := func() *Store {
		return newStore(t, Config{Dir: dir, Lease: lease, now: c.Now, maxSize: 30 * block, Installer: src.installer()})
	}

	a, _ := ensure(t, open(), requires(t, "a"))

	c.Step(time.Minute)
	ensure(t, open(), requires(t, "b"))

	if !exists(a.Dir) {
		t.Fatal("A set should stay for the longest duration of a run that may use it.")
	}

	late := open()

	c.Step(lease + clocks)
	open()

	if exists(a.Dir) {
		t.Error("The set should be removed after that.")
	}

	if ensure(t, late, requires(t, "a")); src.tries.Load() != 3 {
		t.Errorf("The set should be installed again, also by a store that has used it before: %d installations", src.tries.Load())
	}

	wantNoLeftovers(t, late)
}

// TestSharedResolvedAgain has a process that resolves the same request to other content, and
// credentials that must not be in the store.
func TestSharedResolvedAgain(t *testing.T) {
	t.Parallel()

	c := clocktesting.NewFakeClock(time.Now())
	dir, private := t.TempDir(), t.TempDir()
	open := func(files int) *Store {
		return newStore(t, Config{Dir: dir, Lease: lease, TTL: time.Hour, now: c.Now, Private: private, Installer: faked(func(_ context.Context, p supervisor.Command) error {
			if !strings.HasPrefix(p.Dir, private) {
				t.Errorf("Credentials should not be in the store, but are in %s", p.Dir)
			}

			return install(p.Argv, "x", files)
		})})
	}
	req := request(t, inputs.Inputs{Requirements: "collections: [acme.x]"})

	old, _ := ensure(t, open(3), req)

	c.Step(2 * time.Hour)

	second := open(4)
	if r := refreshed(second, req); r.Err != nil || r.Set.Dir == old.Dir {
		t.Fatalf("Resolution(...): %+v", r)
	}

	got, _ := ensure(t, open(3), req)

	names, err := os.ReadDir(private)
	if err != nil || len(names) > 0 {
		t.Errorf("No private files should be left: %v, %v", names, err)
	}

	if diff := cmp.Diff(second.Resolution(req).Set.Dir, got.Dir); diff != "" {
		t.Errorf("Other processes should use the last set: -want, +got:\n%s", diff)
	}
}
