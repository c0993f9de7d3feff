package content

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// A clock that stands still until it is told the time.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock {
	return &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.now = c.now.Add(d)
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
	if err != nil {
		t.Fatal(err)
	}

	return set, release
}

func exists(path string) bool {
	_, err := os.Lstat(path)

	return err == nil
}

// TestRefresh follows a branch of a real repository with the real
// ansible-galaxy.
func TestRefresh(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	const ttl = time.Hour

	root := t.TempDir()
	repo := gitRepo(t, filepath.Join(root, "web"), collectionFiles("web", "0.1.0"))
	req := request(t, inputs.Inputs{Requirements: fmt.Sprintf("collections: [{name: %q, type: git, version: HEAD}]", repoURL(repo))})
	task := func(set Set) string {
		text, err := os.ReadFile(filepath.Join(set.CollectionsPath(), "ansible_collections/acme/web/roles/hello/tasks/main.yml"))
		if err != nil {
			t.Fatal(err)
		}

		return string(text)
	}

	dir, c := t.TempDir(), newClock()
	s := newStore(t, dir, withTTL(ttl), withClock(c.Now))

	first, releaseFirst := ensure(t, s, req)
	want := Resolution{Set: first, Found: true, Due: c.Now().Add(ttl)}

	if diff := cmp.Diff(want, s.Resolution(req)); diff != "" {
		t.Errorf("\nWhat was installed serves for the TTL.\nResolution(...): -want, +got:\n%s", diff)
	}

	c.pass(ttl)

	want.Stale = true
	if diff := cmp.Diff(want, s.Resolution(req)); diff != "" {
		t.Errorf("\nAfter the TTL it is stale, and goes on serving.\nResolution(...): -want, +got:\n%s", diff)
	}

	want = Resolution{Set: first, Found: true, Due: c.Now().Add(ttl)}
	want.Set.Resolved = &metav1.Time{Time: c.Now()}

	if diff := cmp.Diff(want, refreshed(s, req)); diff != "" {
		t.Errorf("\nContent that has not changed is the same set, and serves for another TTL.\nRefresh(...): -want, +got:\n%s", diff)
	}

	// A new commit, with the same version.
	write(t, repo, map[string]string{"roles/hello/tasks/main.yml": "- ansible.builtin.debug:\n    msg: goodbye\n"})
	command(t, repo, "git", "-c", "user.name=acme", "-c", "user.email=acme@example.org", "commit", "-q", "-am", "second")
	c.pass(ttl)

	r := refreshed(s, req)

	was, is := first.Collections[0], r.Set.Collections[0]
	if was.Version != is.Version || was.Revision == is.Revision || r.Set.Dir == first.Dir {
		t.Errorf("\nNew content is a new set with a new revision.\nRefresh(...): %+v, was %+v", r.Set, first)
	}

	second, release := ensure(t, s, req)
	release()

	if !strings.Contains(task(first), "hello") || !strings.Contains(task(second), "goodbye") {
		t.Errorf("\nA run in progress keeps the set that it has, a new one gets the new set: got %q, %q", task(first), task(second))
	}

	releaseFirst()

	if exists(first.Dir) {
		t.Errorf("\nA set that was followed by another goes when nobody uses it any more: %s is there", first.Dir)
	}

	// The source is down.
	if err := os.Rename(repo, repo+".away"); err != nil {
		t.Fatal(err)
	}

	c.pass(ttl)

	want = s.Resolution(req)
	want.Stale = false

	for _, after := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute} {
		r = refreshed(s, req)

		var failed *galaxy.InstallError
		if !errors.As(r.Err, &failed) {
			t.Errorf("\nWhy it could not be resolved again is known.\nRefresh(...): %v", r.Err)
		}

		want.Due, r.Err = c.Now().Add(after), nil
		if diff := cmp.Diff(want, r); diff != "" {
			t.Errorf("\nWhen the source is down the set goes on serving, and it is tried again, less and less often.\nRefresh(...): -want, +got:\n%s", diff)
		}

		c.pass(after)
	}

	_, release = ensure(t, s, req)
	release()

	// After a restart, which takes no time here.
	s = newStore(t, dir, withTTL(ttl), withClock(c.Now))

	want.Stale, want.Due = true, want.Set.Resolved.Add(ttl)
	if diff := cmp.Diff(want, s.Resolution(req)); diff != "" {
		t.Errorf("\nA store knows what it had, and how old it is.\nNewStore(...): -want, +got:\n%s", diff)
	}

	// The source is back.
	if err := os.Rename(repo+".away", repo); err != nil {
		t.Fatal(err)
	}

	want = Resolution{Set: want.Set, Found: true, Due: c.Now().Add(ttl)}
	want.Set.Resolved = &metav1.Time{Time: c.Now()}

	if diff := cmp.Diff(want, refreshed(s, req)); diff != "" {
		t.Errorf("\nWhen the source is back the content is up to date.\nRefresh(...): -want, +got:\n%s", diff)
	}

	wantNoLeftovers(t, s)
}

// TestResolutionClockAhead starts a store again after its content was resolved with a
// clock that was a year ahead, or content has changed the time of the set.
func TestResolutionClockAhead(t *testing.T) {
	t.Parallel()

	req := request(t, inputs.Inputs{Requirements: "collections: [acme.x]"})
	dir, c, n := t.TempDir(), newClock(), new(atomic.Int32)

	c.pass(365 * 24 * time.Hour)

	_, release := ensure(t, newStore(t, dir, withTTL(time.Hour), withClock(c.Now), installing(n, 1)), req)
	release()

	c.pass(-365 * 24 * time.Hour)

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

	cases := map[string]struct {
		reason string
		req    Request
		lost   bool
		stale  bool
	}{
		"Evicted": {reason: "A set that makes room is not installed again before it is due: it would take the room of others.", req: was},
		"Rotated": {reason: "A credential that rotates resolves nothing.", req: req("collections: [acme.x]", "new")},
		"Other":   {reason: "Other requirements were never resolved.", req: req("collections: [acme.y]", "old"), stale: true},
		"Lost":    {reason: "A store that was lost knows nothing.", req: was, lost: true, stale: true},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, n := newClock(), new(atomic.Int32)
			s := newStore(t, t.TempDir(), withTTL(ttl), withClock(c.Now), installing(n, 1), withMaxSize(1))
			_, release := ensure(t, s, was)
			release()
			c.pass(ttl - time.Second)

			if tc.lost {
				s = newStore(t, t.TempDir(), withTTL(ttl), withClock(c.Now))
			}

			if r := s.Resolution(tc.req); r.Found || r.Stale != tc.stale {
				t.Errorf("\n%s\nResolution(...): %+v", tc.reason, r)
			}

			c.pass(time.Second)

			if r := s.Resolution(tc.req); !r.Stale {
				t.Errorf("\nOnce the TTL has passed it is due.\nResolution(...): %+v", r)
			}
		})
	}
}

func TestResolutionNever(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason, text string
		ttl          time.Duration
		want         Resolution
	}{
		"Pinned":  {reason: "Pinned content is never stale.", text: "collections: [{name: a.b, version: 1.0.0}]", ttl: time.Hour},
		"NoTTL":   {reason: "Without a TTL no content is.", text: "collections: [a.b]"},
		"Nothing": {reason: "Nothing is there always.", ttl: time.Hour, want: Resolution{Found: true}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, t.TempDir(), withTTL(tc.ttl), withCommand(func(context.Context, []string, []string, string, io.Writer) error {
				t.Error("nothing must run")

				return errors.New("no")
			}))
			req := request(t, inputs.Inputs{Requirements: tc.text})

			if diff := cmp.Diff(tc.want, s.Resolution(req)); diff != "" {
				t.Errorf("\n%s\nResolution(...): -want, +got:\n%s", tc.reason, diff)
			}

			s.Refresh(req, "me", func() {})
			s.Stop()
		})
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

		_, release := ensure(t, s, reqs[i])
		release()
	}

	c.pass(time.Hour)
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
		_, release := ensure(t, s, req)
		release()

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

	c.pass(24 * time.Hour)

	s.Refresh(reqs[0], "late", func() { t.Error("a store that was stopped wakes nobody") })
	s.Stop()
	wantNoLeftovers(t, s)
}
