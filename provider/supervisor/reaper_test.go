package supervisor

import (
	"errors"
	"syscall"
	"testing"
	"time"
)

// TestReapOther has a process end that was given the id of the command, which has
// ended before.
func TestReapOther(t *testing.T) {
	pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", "exit 0"}, &syscall.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}

	r := reaper{child: pid, ended: true, code: 3}

	for deadline := time.Now().Add(patience); !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH); r.reap() {
		if time.Now().After(deadline) {
			t.Fatal("the process does not end")
		}
	}

	if r.code != 3 {
		t.Errorf("The exit status of the command stays: want 3, got %d", r.code)
	}
}
