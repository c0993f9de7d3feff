package content

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/installed"
)

const lease = time.Hour

func withLease(s *Config) { s.Lease = lease }

func required(t *testing.T, name string) Request {
	t.Helper()

	return request(t, inputs.Inputs{Requirements: "collections: [{name: acme." + name + ", version: 1.0.0}]"})
}

// installing counts installations, of a collection with a number of files.
func installing(n *atomic.Int32, files int) option {
	return withCommand(func(_ context.Context, argv, _ []string, _ string, _ io.Writer) error {
		n.Add(1)

		return install(argv, "x", files)
	})
}

// sharedStore is the variable with the directory of the store of TestSharedProcess.
const sharedStore = "TEST_SHARED_STORE"

// TestSharedProcess is a process of TestShared. It writes a line when half of the content is
// installed, goes on when it may read a line, and writes where the set is.
func TestSharedProcess(t *testing.T) {
	t.Parallel()

	dir := os.Getenv(sharedStore)
	if dir == "" {
		return
	}

	s := newStore(t, dir, withLease, withCommand(func(_ context.Context, argv, _ []string, _ string, _ io.Writer) error {
		if err := install(argv, "x", 10); err != nil {
			return err
		}

		fmt.Println("half")

		if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
			return err
		}

		return install(argv, "x", 20)
	}))

	set, _ := ensure(t, s, required(t, "x"))
	fmt.Println("set " + set.Dir)
}

// A process of TestShared.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func startProcess(t *testing.T, dir string) *process {
	t.Helper()

	self, err := os.Executable()
	must(t, err)

	p := &process{cmd: exec.CommandContext(t.Context(), self, "-test.run=^TestSharedProcess$", "-test.v")}
	p.cmd.Env = append(os.Environ(), sharedStore+"="+dir)
	p.cmd.Stderr = os.Stderr
	p.in, err = p.cmd.StdinPipe()
	must(t, err)

	out, err := p.cmd.StdoutPipe()
	must(t, err)

	p.out = bufio.NewScanner(out)
	must(t, p.cmd.Start())

	return p
}

// says waits for a line with a prefix, and returns the rest of it.
func (p *process) says(t *testing.T, prefix string) string {
	t.Helper()

	for p.out.Scan() {
		if rest, ok := strings.CutPrefix(p.out.Text(), prefix); ok {
			return strings.TrimSpace(rest)
		}
	}

	t.Fatalf("a process ended without saying %q: %v", prefix, p.cmd.Wait())

	return ""
}

func (p *process) goOn(t *testing.T) {
	t.Helper()

	_, err := io.WriteString(p.in, "\n")
	must(t, err)
}

// TestShared has processes that install the same into the same store. Some of them are killed in
// the middle, some stand still.
func TestShared(t *testing.T) {
	t.Parallel()

	const each = 4

	dir := t.TempDir()
	s := newStore(t, dir, withLease)

	var dead, still, racing []*process

	for range each {
		dead, still, racing = append(dead, startProcess(t, dir)), append(still, startProcess(t, dir)), append(racing, startProcess(t, dir))
	}

	// No half of a set is ever seen.
	stop, stopped := make(chan struct{}), make(chan struct{})

	go func() {
		defer close(stopped)

		for {
			names, err := os.ReadDir(s.sets())
			if err != nil {
				t.Error(err)
			}

			for _, n := range names {
				set := filepath.Join(s.sets(), n.Name())

				m, err := installed.Read(set)
				if err != nil || m.Tree.Bytes < 20*block {
					t.Errorf("%s is no complete set: %v", n.Name(), err)
				}
			}

			select {
			case <-stop:
				return
			default:
			}
		}
	}()

	all := slices.Concat(dead, still, racing)
	for _, p := range all {
		p.says(t, "half")
	}

	for _, p := range dead {
		must(t, p.cmd.Process.Kill())
		_ = p.cmd.Wait()
	}

	for _, p := range racing {
		p.goOn(t)
	}

	dirs := map[string]bool{}
	for _, p := range racing {
		dirs[p.says(t, "set ")] = true
		must(t, p.cmd.Wait())
	}

	// Who comes later finds it, and who stood still uses it.
	var installs atomic.Int32

	set, _ := ensure(t, newStore(t, dir, withLease, installing(&installs, 20)), required(t, "x"))
	dirs[set.Dir] = true

	for _, p := range still {
		p.goOn(t)
		dirs[p.says(t, "set ")] = true
		must(t, p.cmd.Wait())
	}

	close(stop)
	<-stopped

	names, err := os.ReadDir(s.sets())
	if err != nil || len(names) != 1 || len(dirs) != 1 || installs.Load() != 0 {
		t.Errorf("All should use one set: %v, %v, %d installed again, %v", names, dirs, installs.Load(), err)
	}

	wantLeft := func(n int, now time.Time) {
		t.Helper()

		newStore(t, dir, withLease, withClock(func() time.Time { return now }))

		left, err := filepath.Glob(filepath.Join(s.temp(), "*"))
		if err != nil || len(left) != n {
			t.Errorf("At %s want %d directories and lock files left: %v, %v", now, n, left, err)
		}
	}

	// Who was killed may as well stand still on another node.
	wantLeft(2*each, time.Now().Add(lease))
	wantLeft(0, time.Now().Add(lease+settle+time.Minute))
}

// TestSharedEviction removes sets that nobody can be using, and only these.
func TestSharedEviction(t *testing.T) {
	t.Parallel()

	var installs atomic.Int32

	dir, c := t.TempDir(), &clock{now: time.Now()}
	open := func() *Store {
		return newStore(t, dir, withLease, withClock(c.Now), withMaxSize(30*block), installing(&installs, 10))
	}

	a, release := ensure(t, open(), required(t, "a"))
	release()
	c.pass(time.Minute)
	ensure(t, open(), required(t, "b"))

	if !exists(filepath.Join(a.Dir, installed.File)) {
		t.Fatal("A set stays for as long as the run may take that it was given to.")
	}

	late := open()

	c.pass(lease + settle)
	open()

	if exists(filepath.Join(a.Dir, installed.File)) || !exists(a.Dir) {
		t.Error("A set that is to go is first not found any more.")
	}

	// The file system has another clock than the test.
	must(t, os.Chtimes(a.Dir, c.Now(), c.Now()))

	late.mu.Lock()
	held := late.hold(late.current(late.Digest(required(t, "a"))))
	late.mu.Unlock()

	if again, _ := ensure(t, late, required(t, "a")); !held || again.Dir == a.Dir || installs.Load() != 3 {
		t.Errorf("Nobody gets it any more, also who has seen it before: held %t, %s, %d installations", held, again.Dir, installs.Load())
	}

	c.pass(settle + time.Minute)
	open()

	if !exists(a.Dir) {
		t.Error("It stays for who found it at the last moment.")
	}

	c.pass(lease)
	open()

	if exists(a.Dir) {
		t.Error("Then it goes.")
	}

	wantNoLeftovers(t, late)
}

// TestSharedResolvedAgain has a process that finds other content for the same request, and
// credentials that are not to be in the store.
func TestSharedResolvedAgain(t *testing.T) {
	t.Parallel()

	c := &clock{now: time.Now()}
	dir, private := t.TempDir(), t.TempDir()
	open := func(files int) *Store {
		return newStore(t, dir, withLease, withTTL(time.Hour), withClock(c.Now), func(s *Config) { s.Private = private },
			withCommand(func(_ context.Context, argv, _ []string, home string, _ io.Writer) error {
				if !strings.HasPrefix(home, private) {
					t.Errorf("Credentials should not be in the store, but are in %s", home)
				}

				return install(argv, "x", files)
			}))
	}
	req := request(t, inputs.Inputs{Requirements: "collections: [acme.x]"})

	old, _ := ensure(t, open(3), req)

	c.pass(2 * time.Hour)

	second := open(4)
	if r := refreshed(second, req); r.Err != nil || r.Set.Dir == old.Dir {
		t.Fatalf("Resolution(...): %+v", r)
	}

	got, _ := ensure(t, open(3), req)

	names, err := os.ReadDir(private)
	if err != nil || len(names) > 0 {
		t.Errorf("Nothing private should be left: %v, %v", names, err)
	}

	if diff := cmp.Diff(second.Resolution(req).Set.Dir, got.Dir); diff != "" {
		t.Errorf("Others find what was resolved last: -want, +got:\n%s", diff)
	}
}
