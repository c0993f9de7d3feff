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

	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// patience is the time that tests wait for an event that must occur.
const patience = 30 * time.Second

// TestMain lets the test binary also be the provider that starts a supervisor, and
// programs that content may start.
func TestMain(m *testing.M) {
	if len(os.Args) < 3 {
		os.Exit(m.Run())
	}

	switch args := os.Args[2:]; os.Args[1] {
	case "own":
		own(args[0], args[1:])
	case "linger":
		linger(args[0])
	case "daemon":
		daemon("fork", args[0])
		waitFor(args[0])
	case "fork":
		daemon("linger", args[0])
	case "hoard":
		hoard()
	default:
		os.Exit(m.Run())
	}
}

// own runs a command under a supervisor that holds a lock.
func own(lockfile string, argv []string) {
	lock, err := workdir.Lock(context.Background(), lockfile, nil)
	if err != nil {
		panic(err)
	}

	code, err := Command{Argv: argv, Lock: lock, Env: os.Environ()}.Run(context.Background())
	fmt.Println(code, err)
}

// linger ignores SIGTERM and other signals, and then writes its process id into a file.
func linger(pidfile string) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	write(pidfile, strconv.Itoa(os.Getpid()))
	time.Sleep(time.Hour) // Go ends a process in which all goroutines are blocked.
}

// daemon starts a process of this binary in a session of its own, and returns.
func daemon(command, pidfile string) {
	cmd := exec.Command(os.Args[0], command, pidfile)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}

	if err := cmd.Start(); err != nil {
		panic(err)
	}
}

// write writes a file atomically.
func write(path, text string) {
	tmp := path + "." + strconv.Itoa(os.Getpid())

	if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
		panic(err)
	}

	if err := os.Rename(tmp, path); err != nil {
		panic(err)
	}
}

// waitFor waits for a file, and returns its text.
func waitFor(path string) string {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if raw, err := os.ReadFile(path); err == nil {
			return string(raw)
		}
	}

	return ""
}

func alive(pid string) bool {
	id, err := strconv.Atoi(pid)

	return err == nil && syscall.Kill(id, 0) == nil
}

func TestRun(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		argv   []string
		code   int
		stdout string
		err    error
	}{
		"Success": {
			reason: "The output of the command is copied.",
			argv:   []string{"/bin/sh", "-c", "echo out"},
			stdout: "out\n",
		},
		"ExitStatus": {
			reason: "The exit status is that of the command.",
			argv:   []string{"/bin/sh", "-c", "exit 7"},
			code:   7,
		},
		"Signal": {
			reason: "The exit status of a killed command is that of a shell.",
			argv:   []string{"/bin/sh", "-c", "kill -9 $$"},
			code:   137,
		},
		"Killed": {
			reason: "If the supervisor is killed, the exit status of the command is not known.",
			argv:   []string{"/bin/sh", "-c", "kill -9 $PPID"},
			err:    cmpopts.AnyError,
		},
		"NotFound": {
			reason: "A missing command is an error, and not an exit status.",
			argv:   []string{"/nonexistent"},
			err:    cmpopts.AnyError,
		},
		"Stdin": {
			reason: "Standard input is empty.",
			argv:   []string{"/bin/cat"},
		},
		"Terminal": {
			reason: "The command has no terminal.",
			argv:   []string{"/bin/sh", "-c", "(: </dev/tty) 2>/dev/null || echo none"},
			stdout: "none\n",
		},
		"Descriptors": {
			reason: "The command inherits only the standard streams; the fourth descriptor is the directory that ls reads.",
			argv:   []string{"/bin/sh", "-c", "ls /proc/self/fd"},
			stdout: "0\n1\n2\n3\n",
		},
		"Limits": {
			reason: "Core dumps are disabled, and only the owner can read new files.",
			argv:   []string{"/bin/sh", "-c", "ulimit -c; umask"},
			stdout: "0\n0077\n",
		},
		"Environment": {
			reason: "The environment is exactly Env.",
			argv:   []string{"/usr/bin/env"},
			stdout: "A=b\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var stdout bytes.Buffer

			lock, err := workdir.Lock(t.Context(), filepath.Join(t.TempDir(), "lock"), nil)
			needs.OK(t, err)

			defer lock.Close()

			code, err := Command{Argv: tc.argv, Env: []string{"A=b"}, Stdout: &stdout, Lock: lock}.Run(t.Context())
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

func TestRunEndsDescendants(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		// script is a format with the path of this binary and of the file that it writes.
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
			reason: "A daemon does not outlive a canceled command.",
			script: "%q daemon %q; sleep 1000",
			cancel: true,
			code:   143,
		},
		"CanceledStubborn": {
			reason: "A command that ignores SIGTERM is killed after the grace.",
			script: `trap "" TERM; %q daemon %q; while :; do sleep 1000; done`,
			cancel: true,
			code:   137,
		},
	} {
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
				Argv: []string{"/bin/sh", "-c", script}, Env: os.Environ(), Grace: 100 * time.Millisecond,
			}.Run(ctx)
			if err != nil {
				t.Fatalf("%s\nRun(...): %v", tc.reason, err)
			}

			if diff := cmp.Diff(tc.code, code); diff != "" {
				t.Errorf("%s\nRun(...): -want code, +got code:\n%s", tc.reason, diff)
			}

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
	needs.OK(t, err)

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
	needs.OK(t, owner.Start())

	pid := waitFor(pidfile)
	if !alive(pid) {
		t.Fatalf("process %q has not started", pid)
	}

	canceled, cancel := context.WithCancel(t.Context())
	cancel()

	if _, err := workdir.Lock(canceled, lockfile, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("The lock should be held while the command runs.\nLock(...): %v", err)
	}

	needs.OK(t, owner.Process.Kill())

	_ = owner.Wait()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	lock, err := workdir.Lock(ctx, lockfile, nil)
	if err != nil {
		t.Fatalf("The lock should be free once all descendants have ended.\nLock(...): %v", err)
	}

	defer lock.Close()

	if alive(pid) || running(t, pidfile) {
		t.Errorf("All processes of the command should end after its owner was killed.\nprocess %s is still there", pid)
	}
}

// TestRunSupervisorStopped stops a supervisor with SIGSTOP, so that it cannot end its daemon.
func TestRunSupervisorStopped(t *testing.T) {
	t.Parallel()

	pidfile := filepath.Join(t.TempDir(), "pid")
	script := fmt.Sprintf("%[1]q daemon %[2]q; kill -STOP $PPID; : >%[2]q.stopped; sleep 1000", os.Args[0], pidfile)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	go func() {
		waitFor(pidfile + ".stopped")
		cancel()
	}()

	_, err := Command{
		Argv: []string{"/bin/sh", "-c", script},
		Env:  os.Environ(), Grace: 100 * time.Millisecond,
	}.Run(ctx)
	if err == nil {
		t.Error("Run(...): want an error that the supervisor did not end by itself")
	}

	for deadline := time.Now().Add(patience); running(t, pidfile); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("No process should be left after the supervisor was stopped.")
		}
	}
}

// A script replaces a supervisor. Its arguments are the argv of the supervisor.
type script string

func (s script) Start(_ Command, self []string, files ...*os.File) (*os.Process, error) {
	cmd := exec.Command("/bin/sh", append([]string{"-c", string(s), "sh"}, self...)...)
	cmd.ExtraFiles = files[2:3]

	err := cmd.Start()

	return cmd.Process, err
}

// TestRunFailed has a supervisor with the exit status exitFailure that has not done its work. It may have run the
// command.
func TestRunFailed(t *testing.T) {
	_, err := Command{Warm: script("exit 125"), Argv: []string{"/bin/true"}}.Run(t.Context())
	if err == nil || errors.Is(err, ErrNotStarted) || errors.Is(err, ErrFailed) {
		t.Errorf("Run(...): want an error other than ErrFailed and ErrNotStarted, got %v", err)
	}
}

// TestRunCanceledAtOnce cancels a command before its supervisor is initialized. The supervisor still ends by itself.
func TestRunCanceledAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	code, err := Command{Warm: script(`sleep 0.2; exec "$@" -- sleep 1000`), Grace: patience}.Run(ctx)
	if want := 128 + int(syscall.SIGTERM); code != want || err != nil {
		t.Errorf("Run(...): want %d, got %d, %v", want, code, err)
	}
}

// hoard allocates memory in two processes, of which neither exceeds the limit, and waits.
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

// TestRunMemory has processes that exceed the memory limit together.
func TestRunMemory(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	_, err := Command{
		Argv: []string{os.Args[0], "hoard", ""}, Env: os.Environ(), Grace: patience,
		Domain: sandbox.Domain{Limits: sandbox.Limits{Together: 160 << 20, Share: "its share"}},
	}.Run(ctx)

	var exceeded *MemoryError
	if !errors.As(err, &exceeded) || exceeded.Error() != "took more memory than 160 MiB, its share" || ctx.Err() != nil {
		t.Errorf("Run(...): want an error with the limit, got %v, %v", err, ctx.Err())
	}
}

// TestMemory has processes that share memory, which counts once.
func TestMemory(t *testing.T) {
	found := []int{os.Getpid(), os.Getpid()}
	one := Resident(os.Getpid())

	if got := memory(found, 4*one); got < one {
		t.Errorf("memory(...): want that of two processes, got %d", got)
	}

	if got := proportional(os.Getpid()); got <= 0 || got > 2*one {
		t.Errorf("proportional(...): want about %d, got %d", one, got)
	}
}
