package supervisor

import (
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// adopt makes this process the parent of what a supervisor leaves that is killed
// itself, by the kernel for example, when there is no memory left.
func adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot become a subreaper: %w", err)
	}

	return nil
}

// supervisors that this process has started. What they look like says nothing: a
// process can have any arguments.
var supervisors = known{pids: map[int]*exec.Cmd{}} //nolint:gochecknoglobals // A process has one set of children.

type known struct {
	sync.Mutex
	pids map[int]*exec.Cmd
}

func (k *known) start(cmd *exec.Cmd) error {
	k.Lock()
	defer k.Unlock()

	err := cmd.Start()
	if err == nil {
		k.pids[cmd.Process.Pid] = cmd
	}

	return err
}

func (k *known) ended(cmd *exec.Cmd) {
	k.Lock()
	defer k.Unlock()

	// Its pid may be that of the next one already.
	if pid := cmd.Process.Pid; k.pids[pid] == cmd {
		delete(k.pids, pid)
	}
}

// endOrphans ends what killed supervisors have left to this process, as they
// would have done. Everything else that this process has started is a supervisor.
func endOrphans(grace time.Duration) {
	asked, killed := map[process]bool{}, map[process]bool{}
	deadline := time.Now().Add(grace)

	for {
		left := orphans()
		if len(left) == 0 {
			return
		}

		sig, done := unix.SIGTERM, asked
		if time.Now().After(deadline) {
			sig, done = unix.SIGKILL, killed
		}

		for _, p := range left {
			if !done[p] {
				done[p] = true
				_ = unix.Kill(p.pid, sig)
			}
		}

		time.Sleep(endPoll)

		// Those that have ended stay until somebody asks how.
		for _, p := range left {
			_, _ = syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil)
		}
	}
}

// orphans of killed supervisors, with their descendants.
func orphans() []process {
	supervisors.Lock()
	defer supervisors.Unlock()

	var found []process

	for _, c := range children(unix.Getpid()) {
		if supervisors.pids[c.pid] != nil {
			continue
		}

		found = append(append(found, c), descendants(c.pid)...)
	}

	return found
}
