package content

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// newClock returns one that stands still until it is told the time.
func newClock() *clocktesting.FakeClock {
	return clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
}

// refreshed waits until a request was resolved again, and returns what is known
// then.
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

// TestRefresh has a source that changes, is down, and is back.
func TestRefresh(t *testing.T) {
	t.Parallel()

	const ttl = time.Hour

	var down error

	files, dir, c := 1, t.TempDir(), newClock()
	req := request(t, inputs.Inputs{Requirements: "collections: [acme.x]"})
	open := func() *Store {
		return newStore(t, dir, withTTL(ttl), withClock(c.Now), withCommand(func(_ context.Context, argv, _ []string, _ string, _ io.Writer) error {
			return errors.Join(down, install(argv, "x", files))
		}))
	}

	// check what a request resolves to now.
	want := Resolution{Found: true}
	check := func(reason string, got Resolution) {
		t.Helper()

		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Resolution{}, "Err")); diff != "" || (got.Err != nil) != (down != nil) {
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
	check("What was installed serves for the TTL.", s.Resolution(req))
	c.Step(ttl)

	want.Stale = true
	check("After the TTL it is stale, and goes on serving.", s.Resolution(req))
	resolved()
	check("Content that has not changed is the same set, and serves for another TTL.", refreshed(s, req))
	c.Step(ttl)

	files++
	r := refreshed(s, req)

	was, is := first.Collections[0], r.Set.Collections[0]
	if was.Version != is.Version || was.Revision == is.Revision || r.Set.Dir == first.Dir || !exists(first.Dir) {
		t.Errorf("\nNew content is a new set with a new revision. A run in progress keeps what it has.\nRefresh(...): %+v, was %+v", r.Set, first)
	}

	if releaseFirst(); exists(first.Dir) {
		t.Errorf("\nA set that was followed by another goes when nobody uses it any more: %s is there", first.Dir)
	}

	c.Step(ttl)

	want.Set, down = r.Set, errors.New("exit status 1")

	for _, after := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute} {
		want.Due = c.Now().Add(after)
		check("When the source is down the set goes on serving, and it is tried again, less and less often.", refreshed(s, req))
		c.Step(after)
	}

	ensure(t, s, req)

	// A restart takes no time here.
	s, down = open(), nil
	want.Stale, want.Due = true, want.Set.Resolved.Add(ttl)
	check("A store knows what it had, and how old it is.", s.Resolution(req))
	resolved()
	check("When the source is back the content is up to date.", refreshed(s, req))
	wantNoLeftovers(t, s)
}

// TestMoves resolves content again whose source has changed, with the real ansible-galaxy and git.
func TestMoves(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	project := func(p common.Project) inputs.Inputs {
		return inputs.Inputs{Parameters: common.AnsibleRunParameters{Project: &p}}
	}
	commit := func(t *testing.T, dir string, files map[string]string) {
		t.Helper()
		write(t, dir, files)
		git(t, dir, "add", ".")
		git(t, dir, "commit", "-q", "--allow-empty", "-m", "next")
	}
	for name, tc := range map[string]struct {
		reason string
		in     func(src string) inputs.Inputs
		// first makes the source, same changes nothing of what is installed, and other does.
		first, same, other func(t *testing.T, src string)
	}{
		"Collection": {
			reason: "A branch of a collection has its files, whatever their version.",
			in: func(src string) inputs.Inputs {
				return inputs.Inputs{Requirements: fmt.Sprintf("collections: [{name: %q, type: git, version: HEAD}]", repoURL(src))}
			},
			first: func(t *testing.T, src string) { t.Helper(); gitRepo(t, src, collectionFiles("web", "0.1.0")) },
			same:  func(t *testing.T, src string) { t.Helper(); commit(t, src, nil) },
			other: func(t *testing.T, src string) {
				t.Helper()
				commit(t, src, map[string]string{"roles/hello/tasks/main.yml": "[]\n"})
			},
		},
		"Project": {
			reason: "Other directories of its repository are no part of a project.",
			in:     func(src string) inputs.Inputs { return project(common.Project{Src: repoURL(src), Path: "web/prod"}) },
			first:  func(t *testing.T, src string) { t.Helper(); gitRepo(t, src, siteFiles()) },
			same: func(t *testing.T, src string) {
				t.Helper()
				commit(t, src, map[string]string{"web/large": "smaller\n"})
			},
			other: func(t *testing.T, src string) {
				t.Helper()
				commit(t, src, map[string]string{"web/prod/site.yml": "[]\n"})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			root, c := t.TempDir(), newClock()
			src := filepath.Join(root, "src")
			in := tc.in(src)
			s, req := newStore(t, t.TempDir(), withTTL(time.Hour), withClock(c.Now)), request(t, in)
			digest := func(set Set) string {
				d, err := in.Digest([]byte("key"), set.Collections, set.Roles, set.Project)
				needs.OK(t, err)

				return d
			}
			next := func() Resolution { c.Step(time.Hour); return refreshed(s, req) }

			tc.first(t, src)

			first, _ := ensure(t, s, req)
			tc.same(t, src)

			if r := next(); r.Err != nil || r.Set.Dir != first.Dir || digest(r.Set) != digest(first) {
				t.Errorf("\n%s\nRefresh(...): %+v, was %+v", tc.reason, r, first)
			}

			tc.other(t, src)

			r := next()
			if r.Err != nil || r.Set.Dir == first.Dir || digest(r.Set) == digest(first) {
				t.Errorf("\nOther files are other content.\nRefresh(...): %+v, was %+v", r, first)
			}

			needs.OK(t, os.RemoveAll(root))

			if gone := next(); gone.Err == nil || gone.Set.Dir != r.Set.Dir || !gone.Found {
				t.Errorf("\nWhat is installed goes on serving.\nRefresh(...): %+v", gone)
			}
		})
	}
}

// TestResolutionClockAhead starts a store again after its content was resolved with a
// clock that was a year ahead, or content has changed the time of the set.
func TestResolutionClockAhead(t *testing.T) {
	t.Parallel()

	req := request(t, inputs.Inputs{Requirements: "collections: [acme.x]"})
	dir, c, n := t.TempDir(), newClock(), new(atomic.Int32)

	c.Step(365 * 24 * time.Hour)

	ensure(t, newStore(t, dir, withTTL(time.Hour), withClock(c.Now), installing(n, 1)), req)

	c.Step(-365 * 24 * time.Hour)

	if r := newStore(t, dir, withTTL(time.Hour), withClock(c.Now)).Resolution(req); !r.Found || !r.Stale {
		t.Errorf("\nContent that was resolved in the future is stale: it would not be resolved again for a year.\nResolution(...): %+v", r)
	}
}

// TestResolutionMissing says when a request is resolved again whose set is not there.
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
		lost   bool
		stale  bool
	}{
		"Evicted": {reason: "A set that makes room is not installed again before it is due: it would take the room of others.", req: was},
		"Rotated": {reason: "A credential that rotates resolves nothing.", req: req("collections: [acme.x]", "new")},
		"Other":   {reason: "Other requirements were never resolved.", req: req("collections: [acme.y]", "old"), stale: true},
		"Lost":    {reason: "A store that was lost knows nothing.", req: was, lost: true, stale: true},
	} {
		t.Run(name, func(t *testing.T) {
			c, n := newClock(), new(atomic.Int32)
			s := newStore(t, t.TempDir(), withTTL(ttl), withClock(c.Now), installing(n, 1), withMaxSize(1))
			_, release := ensure(t, s, was)
			release()
			c.Step(ttl - time.Second)

			if tc.lost {
				s = newStore(t, t.TempDir(), withTTL(ttl), withClock(c.Now))
			}

			if r := s.Resolution(tc.req); r.Found || r.Stale != tc.stale {
				t.Errorf("\n%s\nResolution(...): %+v", tc.reason, r)
			}

			c.Step(time.Second)

			if r := s.Resolution(tc.req); !r.Stale {
				t.Errorf("\nOnce the TTL has passed it is due.\nResolution(...): %+v", r)
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
		"NoTTL":   {reason: "Without a TTL no content is.", text: "collections: [a.b]"},
		"Nothing": {reason: "Nothing is there always.", ttl: time.Hour, want: Resolution{Found: true}},
	} {
		s := newStore(t, t.TempDir(), withTTL(tc.ttl))
		if diff := cmp.Diff(tc.want, s.Resolution(request(t, inputs.Inputs{Requirements: tc.text}))); diff != "" {
			t.Errorf("\n%s: %s\nResolution(...): -want, +got:\n%s", name, tc.reason, diff)
		}
	}
}

// TestRefreshBounded has a source that answers when it is told to.
func TestRefreshBounded(t *testing.T) {
	t.Parallel()

	c := newClock()
	started, answer := make(chan struct{}), make(chan struct{})

	var running, most atomic.Int32

	var slow atomic.Bool

	s := newStore(t, t.TempDir(), withTTL(time.Hour), withClock(c.Now), withCommand(func(ctx context.Context, argv, _ []string, _ string, _ io.Writer) error {
		if !slow.Load() {
			return install(argv, "x", 1)
		}

		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)

		started <- struct{}{}

		select {
		case <-answer:
			return install(argv, "x", 1)
		case <-ctx.Done():
			return ctx.Err()
		}
	}))

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

		for _, who := range []string{"one", "other", "one"} {
			s.Refresh(req, who, func() { woken <- fmt.Sprint(who, i) })
		}
	}

	// Two hang, three wait. Runs do not.
	<-started
	<-started

	for _, req := range reqs {
		ensure(t, s, req)

		if r := s.Resolution(req); !r.Stale || !r.Due.IsZero() {
			t.Errorf("\nContent is stale until it was resolved.\nResolution(...): %+v", r)
		}
	}

	answer <- struct{}{}

	got := map[string]bool{<-woken: true, <-woken: true}
	if len(got) != 2 {
		t.Errorf("\nEach who waits is woken once: got %v", got)
	}

	<-started
	s.Stop()

	if diff := cmp.Diff(int32(maxRefreshes), most.Load()); diff != "" {
		t.Errorf("\nA bounded number is resolved at a time: -want, +got:\n%s", diff)
	}

	if n := running.Load(); n != 0 {
		t.Errorf("\nNothing is left running when the store was stopped: got %d", n)
	}

	c.Step(24 * time.Hour)

	s.Refresh(reqs[0], "late", func() { t.Error("a store that was stopped wakes nobody") })
	s.Stop()
	wantNoLeftovers(t, s)
}
