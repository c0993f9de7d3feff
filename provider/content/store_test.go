package content

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestEnsure installs with the real ansible-galaxy.
func TestEnsure(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	src, dir := t.TempDir(), t.TempDir()
	archive := buildCollection(t, filepath.Join(src, "tools"), "tools", "1.2.3")
	role := gitRepo(t, filepath.Join(src, "motd"), roleFiles())

	// A galaxy.yml may choose files with directives, for which ansible-galaxy needs another Python package.
	files := collectionFiles("chosen", "0.1.0")
	files["galaxy.yml"] += "manifest: {directives: [recursive-include roles **]}\n"
	chosen := gitRepo(t, filepath.Join(src, "chosen"), files)

	req := request(t, inputs.Inputs{
		Requirements: fmt.Sprintf("{collections: [%q, {name: %q, type: git, version: v1}], roles: [{src: %q, scm: git}]}", archive, chosen, repoURL(role)),
		Roles:        []common.Role{{Name: "issue", Src: "git+" + repoURL(role), Version: "v1"}},
	})
	s := newStore(t, dir)

	set, release := ensure(t, s, req)
	defer release()

	want := common.Content{
		Collections: []common.ContentItem{{Name: "acme.chosen", Version: "0.1.0"}, {Name: "acme.tools", Version: "1.2.3"}},
		Roles:       []common.ContentItem{{Name: "issue", Version: "v1"}, {Name: "motd"}},
	}
	if diff := cmp.Diff(want, set.Content, noRevision, cmpopts.IgnoreFields(common.Content{}, "Digest", "Resolved")); diff != "" {
		t.Errorf("\nThe requirements of the configuration and of the run are one set.\nEnsure(...): -want, +got:\n%s", diff)
	}

	for _, f := range []string{
		"collections/ansible_collections/acme/chosen/roles/hello/tasks/main.yml", "collections/ansible_collections/acme/tools/MANIFEST.json",
		"roles/issue/tasks/main.yml", "roles/motd/meta/main.yml",
	} {
		if !exists(filepath.Join(set.Dir, f)) {
			t.Errorf("\nEnsure(...): %s is not there", f)
		}
	}

	again := newStore(t, dir).Resolution(req)
	if diff := cmp.Diff(set, again.Set); !again.Found || diff != "" {
		t.Errorf("\nWhat is installed is found again.\nResolution(...): -want, +got:\n%s", diff)
	}

	wantNoLeftovers(t, s)
}

func TestEnsureOnce(t *testing.T) {
	t.Parallel()

	var (
		runs atomic.Int32
		wg   sync.WaitGroup
	)

	dir, req := t.TempDir(), requires(t, "x")
	s := newStore(t, dir, installing(&runs, 3))

	for range 10 {
		wg.Go(func() {
			_, release, err := s.Ensure(t.Context(), req)
			if err != nil {
				t.Error(err)

				return
			}

			release()
		})
	}

	wg.Wait()
	ensure(t, newStore(t, dir, installing(&runs, 3)), req)

	if n := runs.Load(); n != 1 {
		t.Errorf("\nAll share one installation, which outlives the store.\nEnsure(...): %d installations", n)
	}
}

func TestEnsureFailure(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	src := t.TempDir()
	s := newStore(t, t.TempDir())
	req := request(t, inputs.Inputs{Requirements: fmt.Sprintf("collections: [{name: %q, type: file}]", src+"/acme-tools-1.0.0.tar.gz")})
	req.Redact = func(s string, _ int) string { return strings.ReplaceAll(s, src, "[redacted]") }

	_, _, err := s.Ensure(t.Context(), req)

	var failed *galaxy.InstallError
	if !errors.As(err, &failed) || failed.What != "collections" || strings.Contains(failed.Reason, src) ||
		!strings.Contains(failed.Reason, "[redacted]/acme-tools-1.0.0.tar.gz") {
		t.Errorf("\nThe error says why, redacted.\nEnsure(...): %v", err)
	}

	if r := s.Resolution(req); r.Found {
		t.Errorf("\nWhat failed is not installed.\nResolution(...): %+v", r)
	}

	wantNoLeftovers(t, s)
}

// TestEnsureCanceled has callers that give up while others go on waiting.
func TestEnsureCanceled(t *testing.T) {
	t.Parallel()

	started, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	s := newStore(t, t.TempDir(), withCommand(func(ctx context.Context, _, _ []string, _ string, _ io.Writer) error {
		started <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}

		return ctx.Err()
	}))
	req := request(t, inputs.Inputs{Requirements: "collections: [a.b]"})

	ensure := func(ctx context.Context) chan error {
		c := make(chan error, 1)

		go func() {
			_, _, err := s.Ensure(ctx, req)
			c <- err
		}()

		return c
	}

	firstCtx, cancelFirst := context.WithCancel(t.Context())
	first := ensure(firstCtx)
	<-started

	secondCtx, cancelSecond := context.WithCancel(t.Context())
	second := ensure(secondCtx)
	waitFor(t, s, 2)

	cancelFirst()

	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("\nWho gives up stops waiting.\nEnsure(...): %v", err)
	}

	select {
	case <-ended:
		t.Errorf("\nThe installation goes on for those who wait.\nEnsure(...): ended")
	default:
	}

	cancelSecond()

	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Errorf("\nSo does the last one.\nEnsure(...): %v", err)
	}

	select {
	case <-ended:
	default:
		t.Errorf("\nThe last one to give up sees the installation end.\nEnsure(...): still running")
	}

	wantNoLeftovers(t, s)

	if _, _, err := s.Ensure(firstCtx, req); !errors.Is(err, context.Canceled) {
		t.Errorf("\nWho has given up already starts nothing.\nEnsure(...): %v", err)
	}
}

// TestNewStoreLeftovers opens the store of a process that was killed.
func TestNewStoreLeftovers(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	s := newStore(t, dir)

	dead, err := s.newWorkspace("dead")
	if err != nil {
		t.Fatal(err)
	}

	// What was being removed, and a set without a manifest.
	trash, half := filepath.Join(s.temp(), "x"+trashSuffix), filepath.Join(s.sets(), "ba1f")
	for _, d := range []string{trash, half} {
		if err := os.MkdirAll(filepath.Join(d, "roles"), 0o700); err != nil {
			t.Fatal(err)
		}
	}

	s = newStore(t, dir)

	for _, d := range []string{dead.dir, trash, half} {
		if _, err := os.Stat(d); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("\nLeftovers go at the next start.\nNewStore(...): %s: %v", filepath.Base(d), err)
		}
	}

	wantNoLeftovers(t, s)
}

// versions of items, without their revisions.
func versions(items []common.ContentItem) []common.ContentItem {
	items = slices.Clone(items)
	for i := range items {
		items[i].Revision = ""
	}

	return items
}

func newStore(tb testing.TB, dir string, o ...option) *Store {
	tb.Helper()

	c := Config{
		Dir: dir, Installer: galaxy.Installer{Command: galaxy.Exec, Environ: os.Environ()}, Key: []byte("key"),
	}
	for _, fn := range o {
		fn(&c)
	}

	s, err := NewStore(c)
	if err != nil {
		tb.Fatal(err)
	}

	return s
}

func request(tb testing.TB, in inputs.Inputs) Request {
	tb.Helper()

	req, err := NewRequest(in)
	if err != nil {
		tb.Fatal(err)
	}

	return req
}

func wantNoLeftovers(t *testing.T, s *Store) {
	t.Helper()

	left, err := os.ReadDir(s.temp())
	if err != nil {
		t.Fatal(err)
	}

	if len(left) > 0 {
		t.Errorf("\nNothing half made is left behind.\ntmp: %v", left)
	}
}

// waitFor a number of callers to wait for an installation.
func waitFor(t *testing.T, s *Store, n int) {
	t.Helper()

	waiting := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()

		for _, f := range s.flights {
			if f.waiting == n {
				return true
			}
		}

		return false
	}

	for !waiting() {
		runtime.Gosched()
	}
}
