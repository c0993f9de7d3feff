package supervisor

import (
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A LeftError says that processes of a command are still there.
type LeftError struct {
	// Pids of those that were killed and do not end.
	Pids []int
	// Err says why nobody knows what is left.
	Err error
}

// Error says what is left.
func (e *LeftError) Error() string {
	if e.Err != nil {
		return "some of its processes may be left: " + e.Err.Error()
	}

	return fmt.Sprintf("%d of its processes were killed and do not end, the first with the id %d: the machine may wait for a disk that does not answer",
		len(e.Pids), e.Pids[0])
}

// Unwrap why nobody knows what is left.
func (e *LeftError) Unwrap() error { return e.Err }

// supervisors that this process has started. What they look like says nothing: a
// process can have any arguments.
var supervisors = known{pids: map[int]*exec.Cmd{}, stuck: map[process]bool{}} //nolint:gochecknoglobals // A process has one set of children.

type known struct {
	sync.Mutex
	table table
	pids  map[int]*exec.Cmd
	// stuck are processes that cannot be killed, which nobody waits for any more.
	stuck map[process]bool
}

// adopt makes this process the parent of what a supervisor leaves that is killed
// itself, by the kernel for example, when there is no memory left.
func (k *known) adopt() error {
	k.Lock()
	defer k.Unlock()

	if k.table.proc != nil {
		return nil
	}

	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot become a subreaper: %w", err)
	}

	var err error
	k.table, err = openTable()

	return err
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

// end what killed supervisors have left to this process, as they would have done.
// Everything else that this process has started is a supervisor. The error is a
// LeftError.
func (k *known) end(grace time.Duration) error {
	h := newHunt(grace)
	blind := time.Now().Add(grace + killPatience)

	for {
		left, err := k.orphans()

		switch {
		case len(left) == 0 && err == nil:
			return nil
		case len(left) == 0 && time.Now().After(blind):
			return &LeftError{Err: err}
		}

		if !h.signal(left) {
			time.Sleep(endPoll)
		}

		// Those that have ended stay until somebody asks how.
		for _, p := range left {
			_, _ = syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil)
		}

		if h.stuck() {
			return k.giveUp(left)
		}
	}
}

// descendants of a supervisor, as far as anybody can tell now.
func (k *known) descendants(supervisor int) []process {
	k.Lock()
	defer k.Unlock()

	f, _ := k.table.family()

	return f.descendants(supervisor)
}

// giveUp waiting for processes.
func (k *known) giveUp(left []process) error {
	k.Lock()
	defer k.Unlock()

	e := &LeftError{}

	for _, p := range left {
		k.stuck[p] = true
		e.Pids = append(e.Pids, p.pid)
	}

	return e
}

// orphans of killed supervisors, with their descendants. The error says that some may
// be missing.
func (k *known) orphans() ([]process, error) {
	k.Lock()
	defer k.Unlock()

	f, err := k.table.family()

	var found []process

	for _, c := range f[unix.Getpid()] {
		if k.pids[c.pid] != nil {
			continue
		}

		for _, p := range append(f.descendants(c.pid), c) {
			if !k.stuck[p] {
				found = append(found, p)
				continue
			}

			if pid, _ := syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil); pid == p.pid {
				delete(k.stuck, p)
			}
		}
	}

	return found, err
}
