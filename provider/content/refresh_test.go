package content

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// newClock returns a clock that only tests advance.
func newClock() *clocktesting.FakeClock {
	return clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
}

// refreshed waits until a request was resolved again, and returns its
// resolution.
func refreshed(s *Store, req Request) Resolution {
	done := make(chan struct{})
	s.Refresh(req, "me", func() { close(done) })
	<-done

	return s.Resolution(req)
}

func ensure(t *testing.T, s *Store, req Request) (Set, func()) {
	t.Helper()

	set, release, err := s.Ensure(t.Context(), req)
	needs.OK(t, err)

	return set, release
}

func exists(path string) bool {
	_, err := os.Lstat(path)

	return err == nil
}

// TestRefresh has a source that changes, becomes unavailable, and is available again.
func TestRefresh(t *testing.T) {
	t.Parallel()

	const ttl = time.Hour

	src, dir, c := &source{files: 1}, t.TempDir(), newClock()
	req := request(t, inputs.Inputs{Requirements: "collections: [acme.x]"})
	open := func() *Store {
		return newStore(t, Config{Dir: dir, TTL: ttl, now: c.Now, Installer: src.installer()})
	}

	// check compares a resolution.
	want := Resolution{Found: true}
	check := func(reason string, got Resolution) {
		t.Helper()

		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Resolution{}, "Err")); diff != "" || (got.Err != nil) != src.down {
			t.Errorf("\n%s\nResolution(...): -want, +got:\n%s\n%v", reason, diff, got.Err)
		}
	}
	resolved := func() {
		want.Set.Resolved, want.Due, want.Stale = &metav1.Time{Time: c.Now()}, c.Now().Add(ttl), false
	}

	s := open()
	first, releaseFirst := ensure(t, s, req)
	want.Set = first
	resolved()
	check("An installed set should be current until the TTL is over.", s.Resolution(req))
	c.Step(ttl)

	want.Stale = true
	check("After the TTL, the set should be stale, and stay in use.", s.Resolution(req))
	resolved()
	check("Unchanged content should be the same set, current for another TTL.", refreshed(s, req))
	c.Step(ttl)

	src.files++
	r := refreshed(s, req)

	was, is := first.Collections[0], r.Set.Collections[0]
	if was.Version != is.Version || was.Revision == is.Revision || r.Set.Dir == first.Dir || !exists(first.Dir) {
		t.Errorf("\nNew content should be a new set with a new revision. A run in progress should keep its set.\nRefresh(...): %+v, was %+v", r.Set, first)
	}

	if releaseFirst(); exists(first.Dir) {
		t.Errorf("\nA superseded set should be removed after its last use: %s exists", first.Dir)
	}

	c.Step(ttl)

	want.Set, src.down = r.Set, true

	for _, after := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute} {
		want.Due = c.Now().Add(after)
		check("While the source is unavailable, the set should stay in use, with a growing back-off.", refreshed(s, req))
		c.Step(after)
	}

	ensure(t, s, req)

	// The clock does not advance during a restart.
	s, src.down = open(), false
	want.Stale, want.Due = true, want.Set.Resolved.Add(ttl)
	check("After a restart, the store should know its sets and their age.", s.Resolution(req))
	resolved()
	check("Once the source is available, the content should be current.", refreshed(s, req))
	c.Step(ttl)

	needs.OK(t, s.Resolve(t.Context(), req))
	resolved()
	check("After Resolve, the content should be current.", s.Resolution(req))

	if src.down = true; s.Resolve(t.Context(), req) != nil {
		t.Error("A current set should not be resolved.")
	}

	c.Step(ttl)

	if want.Due = c.Now().Add(30 * time.Second); s.Resolve(t.Context(), req) == nil {
		t.Error("Resolve should return the error.")
	}

	check("After an error, the set should stay in use.", s.Resolution(req))
	wantNoLeftovers(t, s)
}

// TestRefreshMissing refreshes content that no run has installed.
func TestRefreshMissing(t *testing.T) {
	t.Parallel()

	c, src := newClock(), &source{files: 1, down: true}
	req := request(t, inputs.Inputs{Requirements: "collections: [{name: acme.x, version: 1.0.0}]"})
	s := newStore(t, Config{Dir: t.TempDir(), now: c.Now, Installer: src.installer()})

	if got := refreshed(s, req); got.Found || got.Err == nil {
		t.Errorf("The resolution should have the error: %+v", got)
	}

	src.down = false
	s.Refresh(req, "me", func() { t.Error("A failed installation should not be tried again at once.") })
	c.Step(lastBackoff)

	if got := refreshed(s, req); !got.Found || got.Err != nil {
		t.Errorf("The set should be installed once its source is available: %+v", got)
	}

	s.Refresh(req, "me", func() { t.Error("A pinned set should not be installed again.") })
}

// TestMoves has changes in the repositories of a collection and a project, with the real ansible-galaxy and git.
func TestMoves(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	root, c := t.TempDir(), newClock()
	web, site := gitRepo(t, filepath.Join(root, "web"), collectionFiles("web", "0.1.0")), gitRepo(t, filepath.Join(root, "site"), siteFiles())
	in := inputs.Inputs{Requirements: fmt.Sprintf("collections: [{name: %q, type: git, version: HEAD}]", repoURL(web))}
	in.Parameters.Project = &common.Project{Src: repoURL(site), Path: "web/prod"}

	s, req := newStore(t, Config{Dir: t.TempDir(), TTL: time.Hour, now: c.Now}), request(t, in)
	set, _ := ensure(t, s, req)

	commit := func(dir string, files map[string]string) {
		needs.Write(t, dir, files)
		git(t, dir, "add", ".")
		git(t, dir, "commit", "-q", "--allow-empty", "-m", "next")
	}
	digest := func(set Set) string {
		d, err := in.Digest([]byte("key"), set.Collections, set.Roles, set.Project)
		needs.OK(t, err)

		return d
	}

	for _, step := range []struct {
		reason     string
		do         func()
		same, fail bool
	}{
		{"Files outside of the collection and of the project do not change the content.", func() {
			commit(web, nil)
			commit(site, map[string]string{"web/large": "smaller\n"})
		}, true, false},
		{"Changed files of a branch change the collection, even with the same version.", func() {
			commit(web, map[string]string{"roles/hello/tasks/main.yml": "[]\n"})
		}, false, false},
		{"Changed files change the project.", func() { commit(site, map[string]string{"web/prod/site.yml": "[]\n"}) }, false, false},
		{"An installed set stays in use when its source is gone.", func() { needs.OK(t, os.RemoveAll(root)) }, true, true},
	} {
		step.do()
		c.Step(time.Hour)

		r := refreshed(s, req)
		if same := r.Set.Dir == set.Dir && digest(r.Set) == digest(set); !r.Found || same != step.same || (r.Err != nil) != step.fail {
			t.Errorf("\n%s\nRefresh(...): %+v, was %+v", step.reason, r, set)
		}

		set = r.Set
	}
}

// TestResolutionMissing has requests without a set in the store.
func TestResolutionMissing(t *testing.T) {
	t.Parallel()

	const ttl = time.Hour

	req := func(requirements, token string) Request {
		return request(t, inputs.Inputs{
			Requirements: requirements,
			Credentials:  []inputs.File{{Name: ".netrc", Data: []byte(token), Rotates: "a Secret"}},
		})
	}
	was := req("collections: [acme.x]", "old")

	for name, tc := range map[string]struct {
		reason string
		req    Request
		stale  bool
	}{
		"Evicted": {reason: "A set that was removed to free space is not installed again before it is due: it would need the space of others.", req: was},
		"Rotated": {reason: "A rotated credential does not make a request stale.", req: req("collections: [acme.x]", "new")},
		"Other":   {reason: "Other requirements were never resolved, as after the loss of a store.", req: req("collections: [acme.y]", "old"), stale: true},
	} {
		t.Run(name, func(t *testing.T) {
			c, src := newClock(), &source{files: 1}
			s := newStore(t, Config{Dir: t.TempDir(), TTL: ttl, now: c.Now, Installer: src.installer(), maxSize: 1})
			_, release := ensure(t, s, was)
			release()
			c.Step(ttl - time.Second)

			if r := s.Resolution(tc.req); r.Found || r.Stale != tc.stale {
				t.Errorf("\n%s\nResolution(...): %+v", tc.reason, r)
			}

			c.Step(time.Second)

			if r := s.Resolution(tc.req); !r.Stale {
				t.Errorf("\nAfter the TTL, the request should be due.\nResolution(...): %+v", r)
			}
		})
	}
}

func TestResolutionNever(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct {
		reason, text string
		ttl          time.Duration
		want         Resolution
	}{
		"Pinned":  {reason: "Pinned content is never stale.", text: "collections: [{name: a.b, version: 1.0.0}]", ttl: time.Hour},
		"NoTTL":   {reason: "Without a TTL, no content is stale.", text: "collections: [a.b]"},
		"Nothing": {reason: "A request that requires no content is always found.", ttl: time.Hour, want: Resolution{Found: true}},
	} {
		s := newStore(t, Config{Dir: t.TempDir(), TTL: tc.ttl})
		if diff := cmp.Diff(tc.want, s.Resolution(request(t, inputs.Inputs{Requirements: tc.text}))); diff != "" {
			t.Errorf("\n%s: %s\nResolution(...): -want, +got:\n%s", name, tc.reason, diff)
		}
	}
}

// TestRefreshBounded has a source that answers when the test lets it.
func TestRefreshBounded(t *testing.T) {
	t.Parallel()

	c := newClock()
	started, answer := make(chan struct{}), make(chan struct{})

	var running, most atomic.Int32

	var slow atomic.Bool

	s := newStore(t, Config{Dir: t.TempDir(), TTL: time.Hour, now: c.Now, Installer: faked(func(ctx context.Context, p supervisor.Command) error {
		if !slow.Load() {
			return install(p.Argv, "x", 1)
		}

		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)

		started <- struct{}{}

		select {
		case <-answer:
			return install(p.Argv, "x", 1)
		case <-ctx.Done():
			return ctx.Err()
		}
	})})

	var reqs []Request

	for i := range 5 {
		reqs = append(reqs, request(t, inputs.Inputs{Requirements: fmt.Sprintf("collections: [a.b%d]", i)}))

		ensure(t, s, reqs[i])
	}

	c.Step(time.Hour)
	slow.Store(true)

	woken := make(chan string, 10)

	for i, req := range reqs {
		req.Tenant = fmt.Sprint(i % 2)

		for _, caller := range []types.UID{"one", "other", "one"} {
			s.Refresh(req, caller, func() { woken <- fmt.Sprint(caller, i) })
		}
	}

	// Two refreshes hang, and three wait. Runs do not wait.
	<-started
	<-started

	for _, req := range reqs {
		ensure(t, s, req)

		if r := s.Resolution(req); !r.Stale {
			t.Errorf("\nContent should be stale until it was resolved.\nResolution(...): %+v", r)
		}
	}

	answer <- struct{}{}

	got := map[string]bool{<-woken: true, <-woken: true}
	if len(got) != 2 {
		t.Errorf("\nEach caller should be woken once: got %v", got)
	}

	<-started
	s.Stop()

	if diff := cmp.Diff(int32(maxRefreshes), most.Load()); diff != "" {
		t.Errorf("\nThe number of refreshes at a time should be bounded: -want, +got:\n%s", diff)
	}

	if n := running.Load(); n != 0 {
		t.Errorf("\nNo task should run after the store was stopped: got %d", n)
	}

	c.Step(24 * time.Hour)

	s.Refresh(reqs[0], "late", func() { t.Error("a stopped store should not wake a caller") })
	s.Stop()
	wantNoLeftovers(t, s)
}
