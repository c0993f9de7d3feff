package security

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
)

// TestPlayEndless has plays that do not end, and that harm the supervisors which are to end
// them: only where they are not confined can they do that. Cold runs are the children of their
// supervisors, whose own tests have these attacks.
func TestPlayEndless(t *testing.T) {
	if asUser(t) {
		return
	}

	for name := range harms {
		t.Run(name, func(t *testing.T) {
			// What is started beside runs that are ended may be ended with them.
			r, state := newRunner(t, sandbox.Off)

			t.Parallel()

			pidfile := filepath.Join(t.TempDir(), "pid")

			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()

			ended := make(chan struct{})

			go func() {
				defer close(ended)

				// It may be an error, too: a killed supervisor reports nothing.
				res, err := r.Run(ctx, playing(fmt.Sprintf(
					`trap "" TERM; %s tool harm %s | grep -q %s && echo $$ >%[4]s.new && mv %[4]s.new %[4]s; while :; do sleep 1000; done`,
					os.Args[0], name, owned, pidfile)), events.Watch{})
				t.Logf("%s: %s: %v", res.Phase, res.Reason, err)
			}()

			var pid []byte

			for deadline := time.Now().Add(maxWait); len(pid) == 0 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
				pid, _ = os.ReadFile(pidfile)
			}

			if len(pid) == 0 {
				t.Error("The attack itself failed.")
			}

			cancel()

			since := time.Now()

			select {
			case <-ended:
				t.Logf("It has taken %s to end.", time.Since(since).Round(time.Millisecond))
			case <-time.After(maxWait):
				t.Fatal("The run should have ended.")
			}

			if id, err := strconv.Atoi(string(bytes.TrimSpace(pid))); err == nil && unix.Kill(id, 0) == nil {
				t.Errorf("Process %d of it is still there.", id)
			}

			if left, err := filepath.Glob(filepath.Join(state, "runs", "*")); err != nil || len(left) > 0 {
				t.Errorf("Nothing of it should be left: %v, %v", left, err)
			}
		})
	}
}

// harms are what content can do to its supervisor without confinement.
var harms = map[string]func(pid int) error{
	"Files": func(pid int) error { return unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{}, nil) },
	"Stop":  func(pid int) error { return unix.Kill(pid, unix.SIGSTOP) },
	"Kill":  func(pid int) error { return unix.Kill(pid, unix.SIGKILL) },
}

// harm the supervisor of this process, which is the first one above it.
func harm(name string) error {
	// It prints what it has done, also when it is ended for it.
	signal.Ignore(unix.SIGTERM)

	for pid := os.Getppid(); pid > 1; {
		proc := filepath.Join("/proc", strconv.Itoa(pid))

		args, err := os.ReadFile(filepath.Join(proc, "cmdline"))
		if err != nil {
			return err
		}

		if strings.Contains(string(args), "\x00"+self[1]+"\x00") {
			return harms[name](pid)
		}

		// proc_pid_stat(5): the parent follows the state.
		stat, err := os.ReadFile(filepath.Join(proc, "stat"))
		if err != nil {
			return err
		}

		if _, err := fmt.Sscanf(string(stat[bytes.LastIndexByte(stat, ')'):]), ") %s %d", new(string), &pid); err != nil {
			return err
		}
	}

	return unix.ESRCH
}
