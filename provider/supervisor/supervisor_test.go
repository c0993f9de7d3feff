package supervisor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// patience is how long tests wait for what is bound to happen.
const patience = 30 * time.Second

// TestMain lets the test binary play all the parts: a supervisor, the provider
// that started it, and what content may start.
func TestMain(m *testing.M) {
	if len(os.Args) < 3 {
		os.Exit(m.Run())
	}

	switch args := os.Args[2:]; os.Args[1] {
	case "supervise":
		os.Exit(Main(args))
	case "own":
		own(args[0], args[1:])
	case "linger":
		linger(args[0])
	case "daemon":
		daemon("fork", args[0])
		waitFor(args[0])
	case "fork":
		daemon("linger", args[0])
	case "flee":
		flee(args[0])
	case "disguise":
		disguise(args[0])
	case "hoard":
		hoard()
	case "attack":
		attack(args[0], args[1])
	case "careless":
		os.Exit(careless(args))
	default:
		os.Exit(m.Run())
	}
}

// own runs a command under a supervisor that holds a lock.
func own(lockfile string, argv []string) {
	lock, err := workdir.Lock(lockfile)
	if err != nil {
		panic(err)
	}

	code, err := Command{Self: self(), Argv: argv, Lock: lock, Env: os.Environ()}.Run(context.Background())
	fmt.Println(code, err)
}

// linger ignores every polite request, and says its process id when it does.
func linger(pidfile string) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	write(pidfile, strconv.Itoa(os.Getpid()))
	select {}
}

// daemon starts itself again, in a session of its own, and leaves it alone.
func daemon(command, pidfile string) {
	cmd := exec.Command(os.Args[0], command, pidfile)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}

	if err := cmd.Start(); err != nil {
		panic(err)
	}
}

// flee is gone as soon as it is seen: it starts itself again for ever.
func flee(pidfile string) {
	signal.Ignore(syscall.SIGTERM)
	write(pidfile, strconv.Itoa(os.Getpid()))
	daemon("flee", pidfile)
}

// disguise a process as a supervisor: anybody can have any arguments.
func disguise(dir string) {
	script := "trap '' TERM; echo $$ >pid.new; mv pid.new pid; while :; do sleep 1; done\n"
	if err := os.WriteFile(filepath.Join(dir, "supervise"), []byte(script), 0o600); err != nil {
		panic(err)
	}

	cmd := &exec.Cmd{Path: "/bin/sh", Args: self(), Dir: dir, SysProcAttr: &syscall.SysProcAttr{Setsid: true}, Stdout: os.Stdout}
	if err := cmd.Start(); err != nil {
		panic(err)
	}

	select {}
}

// write a file so that it is never seen half written.
func write(path, text string) {
	tmp := path + "." + strconv.Itoa(os.Getpid())

	if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
		panic(err)
	}

	if err := os.Rename(tmp, path); err != nil {
		panic(err)
	}
}

// waitFor a file, and return what is in it.
func waitFor(path string) string {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if raw, err := os.ReadFile(path); err == nil {
			return string(raw)
		}
	}

	return ""
}

func self() []string { return []string{os.Args[0], "supervise"} }

func alive(pid string) bool {
	id, err := strconv.Atoi(pid)

	return err == nil && syscall.Kill(id, 0) == nil
}

func TestRun(t *testing.T) {
	cases := map[string]struct {
		reason string
		argv   []string
		code   int
		stdout string
		err    error
	}{
		"Success": {
			reason: "The command's output is passed on.",
			argv:   []string{"/bin/sh", "-c", "echo out"},
			stdout: "out\n",
		},
		"ExitStatus": {
			reason: "The exit status is the command's.",
			argv:   []string{"/bin/sh", "-c", "exit 7"},
			code:   7,
		},
		"Signal": {
			reason: "A command that was killed has the exit status that a shell gives it.",
			argv:   []string{"/bin/sh", "-c", "kill -9 $$"},
			code:   137,
		},
		"NotFound": {
			reason: "That there is no such command is an error, not an exit status.",
			argv:   []string{"/nonexistent"},
			err:    cmpopts.AnyError,
		},
		"Stdin": {
			reason: "Standard input is empty.",
			argv:   []string{"/bin/cat"},
		},
		"Terminal": {
			reason: "There is no terminal to prompt on.",
			argv:   []string{"/bin/sh", "-c", "(: </dev/tty) 2>/dev/null || echo none"},
			stdout: "none\n",
		},
		"Descriptors": {
			reason: "Nothing is inherited but the standard streams; the fourth is what ls reads.",
			argv:   []string{"/bin/sh", "-c", "ls /proc/self/fd"},
			stdout: "0\n1\n2\n3\n",
		},
		"Limits": {
			reason: "No core is dumped, and files are their owner's.",
			argv:   []string{"/bin/sh", "-c", "ulimit -c; umask"},
			stdout: "0\n0077\n",
		},
		"Environment": {
			reason: "The environment is what was given, and nothing else.",
			argv:   []string{"/usr/bin/env"},
			stdout: "A=b\n",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var stdout bytes.Buffer

			lock, err := workdir.Lock(filepath.Join(t.TempDir(), "lock"))
			if err != nil {
				t.Fatal(err)
			}

			defer lock.Close()

			code, err := Command{Self: self(), Argv: tc.argv, Env: []string{"A=b"}, Stdout: &stdout, Lock: lock}.Run(t.Context())
			if diff := cmp.Diff(tc.err, err, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s\nRun(...): -want error, +got error:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.code, code); diff != "" {
				t.Errorf("%s\nRun(...): -want code, +got code:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.stdout, stdout.String()); diff != "" {
				t.Errorf("%s\nRun(...): -want stdout, +got stdout:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestProbe has a process look for what it can read in a domain.
func TestProbe(t *testing.T) {
	if sandbox.Landlock() == 0 {
		needs.Machinef(t, "There is no Landlock here.")
	}

	secret := t.TempDir()

	cases := map[string]struct {
		reason string
		domain sandbox.Domain
		err    error
	}{
		"Kept":       {reason: "A kernel that confines keeps it from all else.", domain: sandbox.Domain{Confined: true}},
		"Granted":    {reason: "What it may read, it can.", domain: sandbox.Domain{Confined: true, Read: []string{secret}}, err: cmpopts.AnyError},
		"Unconfined": {reason: "One that does not confine keeps it from nothing.", err: cmpopts.AnyError},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := Probe(t.Context(), self(), tc.domain, secret, filepath.Join(secret, "missing"))
			if diff := cmp.Diff(tc.err, err, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s\nProbe(...): -want error, +got error:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRunEndsDescendants(t *testing.T) {
	cases := map[string]struct {
		reason string
		// script with this binary and the file that it is to write.
		script string
		cancel bool
		code   int
	}{
		"AtTheEnd": {
			reason: "A daemon that left its session and its parent, and ignores SIGTERM, does not outlive the command.",
			script: "%q daemon %q; exit 3",
			code:   3,
		},
		"Canceled": {
			reason: "Nor does it when the run is canceled.",
			script: "%q daemon %q; sleep 1000",
			cancel: true,
			code:   143,
		},
		"CanceledStubborn": {
			reason: "A command that ignores SIGTERM is killed when the grace is over.",
			script: `trap "" TERM; %q daemon %q; while :; do sleep 1000; done`,
			cancel: true,
			code:   137,
		},
		"Fleeing": {
			reason: "What forks and ends all the time is caught in the end.",
			script: "%q flee %q; sleep 1000",
			cancel: true,
			code:   143,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			pidfile := filepath.Join(t.TempDir(), "pid")
			script := fmt.Sprintf(tc.script, os.Args[0], pidfile)

			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()

			if tc.cancel {
				go func() {
					waitFor(pidfile)
					cancel()
				}()
			}

			code, err := Command{
				Self: self(), Argv: []string{"/bin/sh", "-c", script}, Env: os.Environ(), Grace: 100 * time.Millisecond,
			}.Run(ctx)
			if err != nil {
				t.Fatalf("%s\nRun(...): %v", tc.reason, err)
			}

			if diff := cmp.Diff(tc.code, code); diff != "" {
				t.Errorf("%s\nRun(...): -want code, +got code:\n%s", tc.reason, diff)
			}

			// Whoever flees is known by its arguments only.
			if pid := waitFor(pidfile); alive(pid) || running(t, pidfile) {
				t.Errorf("%s\nRun(...): process %s is still there", tc.reason, pid)
			}
		})
	}
}

// running is true if any process has the argument.
func running(t *testing.T, arg string) bool {
	t.Helper()

	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}

	for _, f := range files {
		if raw, _ := os.ReadFile(f); strings.Contains(string(raw), arg) {
			return true
		}
	}

	return false
}

func TestRunOwnerKilled(t *testing.T) {
	dir := t.TempDir()
	lockfile, pidfile := filepath.Join(dir, "lock"), filepath.Join(dir, "pid")

	owner := exec.Command(os.Args[0], "own", lockfile, "/bin/sh", "-c", fmt.Sprintf("%q daemon %q; sleep 1000", os.Args[0], pidfile))
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}

	pid := waitFor(pidfile)
	if !alive(pid) {
		t.Fatalf("process %q has not started", pid)
	}

	if _, err := workdir.Lock(lockfile); !errors.Is(err, workdir.ErrLocked) {
		t.Errorf("The lock is held while the command runs.\nLock(...): %v", err)
	}

	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}

	_ = owner.Wait()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	lock, err := workdir.WaitLock(ctx, lockfile)
	if err != nil {
		t.Fatalf("The lock is free when all descendants are gone.\nWaitLock(...): %v", err)
	}

	defer lock.Close()

	if alive(pid) || running(t, pidfile) {
		t.Errorf("When its owner was killed, nothing is left of the command.\nprocess %s is still there", pid)
	}
}

// A directory that has the name of a lock holds nothing.
func TestLockDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if err := os.MkdirAll(filepath.Join(path, "a"), 0o700); err != nil {
		t.Fatal(err)
	}

	lock, err := workdir.Lock(path)
	if err != nil {
		t.Fatalf("Lock(...): %v", err)
	}

	_ = lock.Close()
}

// TestRunSupervisorKilled kills a supervisor as the kernel does when there is no
// memory left, while what it looked after ignores signals, has forked a daemon,
// and holds the output.
func TestRunSupervisorKilled(t *testing.T) {
	dir := t.TempDir()
	pidfile := filepath.Join(dir, "pid")

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	ended := make(chan error, 1)

	go func() {
		var out bytes.Buffer

		_, err := Command{
			Self: self(), Argv: []string{os.Args[0], "daemon", pidfile}, Env: os.Environ(), Stdout: &out, Stderr: &out, Grace: 100 * time.Millisecond,
		}.Run(ctx)
		ended <- err
	}()

	pid := waitFor(pidfile)
	if !alive(pid) {
		t.Fatal("the daemon did not start")
	}

	for _, c := range children(t) {
		if strings.Contains(commandLine(c.pid), pidfile) && strings.Contains(commandLine(c.pid), "\x00supervise\x00") {
			_ = syscall.Kill(c.pid, syscall.SIGKILL)
		}
	}

	if err := <-ended; err == nil || ctx.Err() != nil {
		t.Errorf("Run(...): want an error that the supervisor was killed, soon, got %v", err)
	}

	if alive(pid) {
		t.Error("Nothing should be left of a run whose supervisor was killed.")
	}
}

// A supervisor that is told to end before it is one ends everything all the same, by itself.
func TestRunCanceledAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	starts := []string{"/bin/sh", "-c", `sleep 0.2; exec "$@"`, "sh"}

	code, err := Command{Self: append(starts, self()...), Argv: []string{"/bin/sleep", "1000"}, Env: os.Environ(), Grace: patience}.Run(ctx)
	if want := 128 + int(syscall.SIGTERM); code != want || err != nil {
		t.Errorf("Run(...): want %d, got %d, %v", want, code, err)
	}
}

// What a killed supervisor has left is ended, whatever it looks like.
func TestRunDisguised(t *testing.T) {
	dir := t.TempDir()
	ended := make(chan error, 1)

	go func() {
		var out bytes.Buffer

		_, err := Command{
			Self: self(), Argv: []string{os.Args[0], "disguise", dir}, Env: os.Environ(), Grace: 100 * time.Millisecond, Stdout: &out,
		}.Run(t.Context())
		ended <- err
	}()

	pid := strings.TrimSpace(waitFor(filepath.Join(dir, "pid")))
	if !alive(pid) {
		t.Fatalf("the process should be there, got %q", pid)
	}

	for _, c := range children(t) {
		if err := syscall.Kill(c.pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}

	select {
	case err := <-ended:
		if err == nil {
			t.Error("Run(...): want an error: its supervisor was killed")
		}
	case <-time.After(patience):
		t.Error("Run(...) waits for a process that looks like a supervisor")
	}

	if alive(pid) {
		t.Errorf("process %s should be gone", pid)
	}
}

// hoard memory in two processes, of which neither has too much, and wait.
func hoard() {
	if len(os.Args) == 3 {
		if err := exec.Command(os.Args[0], "hoard", "", "").Start(); err != nil {
			panic(err)
		}
	}

	signal.Ignore(syscall.SIGTERM)

	mine := bytes.Repeat([]byte{1}, 100<<20)
	for {
		time.Sleep(time.Second)

		mine[0]++
	}
}

// What takes too much memory, all processes together, is ended, and says so.
func TestRunMemory(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	_, err := Command{
		Self: self(), Argv: []string{os.Args[0], "hoard", ""}, Env: os.Environ(), Grace: patience,
		Domain: sandbox.Domain{Limits: sandbox.Limits{Together: 160 << 20, Share: "its share"}},
	}.Run(ctx)

	var exceeded *MemoryError
	if !errors.As(err, &exceeded) || exceeded.Error() != "took more memory than 160 MiB, its share" || ctx.Err() != nil {
		t.Errorf("Run(...): want an error that says what was exceeded, got %v, %v", err, ctx.Err())
	}
}

// A start that takes long keeps no other command from starting, from being measured, and from ending.
func TestRunBesideStart(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	begun, over, started, ended := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan error, 1)

	go func() {
		defer close(started)

		_, _ = supervisors.start(func() (*os.Process, error) {
			close(begun)
			<-over

			return nil, errSupervisor
		})
	}()

	<-begun

	go func() {
		_, err := Command{
			Self: self(), Argv: []string{os.Args[0], "hoard", ""}, Env: os.Environ(), Grace: patience,
			Domain: sandbox.Domain{Limits: sandbox.Limits{Together: 160 << 20}},
		}.Run(ctx)
		ended <- err
	}()

	select {
	case err := <-ended:
		if exceeded := (*MemoryError)(nil); !errors.As(err, &exceeded) {
			t.Errorf("Run(...): want an error that says what was exceeded, got %v", err)
		}
	case <-ctx.Done():
		t.Error("The command should be ended for its memory.")
	}

	close(over)
	<-started
}

// What processes share counts once.
func TestMemory(t *testing.T) {
	found := []process{{pid: os.Getpid()}, {pid: os.Getpid()}}
	one := Resident(os.Getpid())

	if got := memory(found, 4*one); got < one {
		t.Errorf("memory(...): want that of two processes, got %d", got)
	}

	if got := proportional(os.Getpid()); got <= 0 || got > 2*one {
		t.Errorf("proportional(...): want about %d, got %d", one, got)
	}
}

// attacks on a supervisor by what it has started. Nothing but a filter of system calls
// keeps one process from lowering the limits of another of the same user.
var attacks = map[string]func(pid int) error{
	"Nothing":   func(int) error { return nil },
	"Files":     limit(unix.RLIMIT_NOFILE),
	"Memory":    limit(unix.RLIMIT_AS),
	"Data":      limit(unix.RLIMIT_DATA),
	"Processes": limit(unix.RLIMIT_NPROC),
	"Signals":   limit(unix.RLIMIT_SIGPENDING),
	"Stop":      func(pid int) error { return unix.Kill(pid, unix.SIGSTOP) },
	"Kill":      func(pid int) error { return unix.Kill(pid, unix.SIGKILL) },
}

func limit(resource int) func(int) error {
	return func(pid int) error { return unix.Prlimit(pid, resource, &unix.Rlimit{}, nil) }
}

// attack the supervisor of this process, and stay, with a daemon and the output.
func attack(name, pidfile string) {
	signal.Ignore(syscall.SIGTERM)

	if err := attacks[name](os.Getppid()); err != nil {
		panic(err)
	}

	daemon("linger", pidfile)
	select {}
}

// Whatever content does to its supervisor, a run ends soon after its time is over, and
// nothing is left of it.
func TestRunAttacked(t *testing.T) {
	for name := range attacks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			dir := t.TempDir()
			pidfile, lockfile := filepath.Join(dir, "pid"), filepath.Join(dir, "lock")

			lock, err := workdir.Lock(lockfile)
			if err != nil {
				t.Fatal(err)
			}

			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()

			ended := make(chan struct{})

			go func() {
				defer close(ended)

				var out bytes.Buffer

				_, _ = Command{
					Self: self(), Argv: []string{os.Args[0], "attack", name, pidfile}, Env: os.Environ(), Grace: 100 * time.Millisecond,
					Stdout: &out, Stderr: &out, Lock: lock,
				}.Run(ctx)
			}()

			pid := waitFor(pidfile)

			cancel()

			since := time.Now()

			select {
			case <-ended:
				t.Logf("It has taken %s to end.", time.Since(since).Round(time.Millisecond))
			case <-time.After(patience):
				t.Fatal("Run(...) should end")
			}

			if alive(pid) || running(t, pidfile) {
				t.Errorf("process %s is still there", pid)
			}

			_ = lock.Close()

			// Every process that is being started has it until it is executed.
			ctx, cancel = context.WithTimeout(t.Context(), patience)
			defer cancel()

			if lock, err = workdir.WaitLock(ctx, lockfile); err != nil {
				t.Fatalf("Nobody else should hold the lock.\nWaitLock(...): %v", err)
			}

			_ = lock.Close()
		})
	}
}

// TestRunAttackedCareless attacks a supervisor that nobody defends: it opens what it needs
// when it needs it, and who has started it asks it to end, and does no more. An attack
// that fails by itself proves nothing.
func TestRunAttackedCareless(t *testing.T) {
	// What it leaves is left to this process.
	if err := supervisors.adopt(); err != nil {
		t.Fatal(err)
	}

	// What the others do depends on what a supervisor happens to need.
	for _, name := range []string{"Nothing", "Files", "Stop", "Kill"} {
		t.Run(name, func(t *testing.T) {
			pidfile := filepath.Join(t.TempDir(), "pid")

			cmd := exec.Command(os.Args[0], "careless", os.Args[0], "attack", name, pidfile)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}

			pid := waitFor(pidfile)
			_ = cmd.Process.Signal(syscall.SIGTERM)

			for deadline := time.Now().Add(patience); !idle(t, cmd.Process.Pid) && time.Now().Before(deadline); {
				time.Sleep(time.Millisecond)
			}

			if want := name != "Nothing"; alive(pid) != want {
				t.Errorf("what is left: want %t, got %t", want, !want)
			}

			_ = cmd.Process.Kill()
			_ = cmd.Wait()

			if err := supervisors.end(0); err != nil {
				t.Error(err)
			}
		})
	}
}

// careless is a supervisor without its defence.
func careless(argv []string) int {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)

	if err := prepare(); err != nil {
		return fail(exitFailure, err)
	}

	pid, err := start(argv)
	if err != nil {
		return fail(exitNotFound, err)
	}

	<-stop

	t, err := openTable()
	if err != nil {
		return fail(exitFailure, err)
	}

	r := reaper{table: t, child: pid}
	r.end(0)

	return r.code
}

// idle is true for a child that has ended or that is stopped, by proc_pid_stat(5).
func idle(t *testing.T, pid int) bool {
	t.Helper()

	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}

	return bytes.ContainsAny(raw[bytes.LastIndexByte(raw, ')'):], "TZ")
}

// A process that cannot be killed, as one that waits for a disk, is left, and named.
// The first version of cgroups can make one: what it has frozen does not end.
func TestRunUnkillable(t *testing.T) {
	frozen := filepath.Join("/sys/fs/cgroup/freezer", fmt.Sprintf("supervisor-test-%d", os.Getpid()))
	if err := os.Mkdir(frozen, 0o700); err != nil {
		needs.Machinef(t, "No process can be frozen without the freezer of cgroups v1 and the right to use it: %v", err)
	}

	dir := t.TempDir()
	pidfile, lockfile := filepath.Join(dir, "pid"), filepath.Join(dir, "lock")
	freeze := func(state string) error {
		return os.WriteFile(filepath.Join(frozen, "freezer.state"), []byte(state), 0)
	}

	lock, err := workdir.Lock(lockfile)
	if err != nil {
		t.Fatal(err)
	}

	var out bytes.Buffer

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	ended := make(chan error, 1)

	go func() {
		_, err := Command{
			Self: self(), Argv: []string{os.Args[0], "linger", pidfile}, Env: os.Environ(), Grace: 100 * time.Millisecond, Lock: lock,
			Stdout: &out, Stderr: &out,
		}.Run(ctx)
		ended <- err
	}()

	pid := waitFor(pidfile)
	if err := os.WriteFile(filepath.Join(frozen, "cgroup.procs"), []byte(pid), 0); err != nil {
		t.Fatal(err)
	}

	// Also of a test that fails nothing is left.
	defer func() {
		err := freeze("THAWED")

		for range patience / time.Millisecond {
			if orphans, oerr := supervisors.orphans(); oerr == nil && len(orphans) == 0 && !alive(pid) {
				break
			}

			time.Sleep(time.Millisecond)
		}

		if err := errors.Join(err, os.Remove(frozen)); err != nil || alive(pid) {
			t.Errorf("process %s goes as soon as it can: %v", pid, err)
		}
	}()

	if err := freeze("FROZEN"); err != nil {
		t.Fatal(err)
	}

	cancel()

	select {
	case err = <-ended:
	case <-time.After(2 * patience):
		t.Fatal("Run(...) should not wait for what cannot be killed")
	}

	var left *LeftError
	if !errors.As(err, &left) || !strings.Contains(err.Error(), "id "+pid) {
		t.Errorf("Run(...): want an error that says that process %s is left, got %v", pid, err)
	}

	// It does nothing any more, so that what it held is free.
	_ = lock.Close()

	// Nobody waits for it again.
	if err := supervisors.end(time.Hour); err != nil {
		t.Errorf("end(...): %v", err)
	}
}

// children of this process.
func children(t *testing.T) []process {
	t.Helper()

	table, err := openTable()
	if err != nil {
		t.Fatal(err)
	}

	defer table.proc.Close()

	f, err := table.family()
	if err != nil {
		t.Fatal(err)
	}

	return f[os.Getpid()]
}

// commandLine of a process, with a NUL after each argument; empty for one that
// has ended.
func commandLine(pid int) string {
	raw, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")

	return string(raw)
}
