package supervisor

import (
	"fmt"
	"os"
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

	return fmt.Sprintf(
		"%d of its processes were killed and do not end, the first with the id %d: the machine may wait for a disk that "+
			"does not answer",
		len(e.Pids), e.Pids[0])
}

// Unwrap why nobody knows what is left.
func (e *LeftError) Unwrap() error { return e.Err }

// supervisors that this process has started. They are remembered by their ids, since any
// process can have the arguments of a supervisor.
var supervisors = childProcesses{pids: map[int]*os.Process{}, stuck: map[process]bool{}} //nolint:gochecknoglobals // A process has one set of children.

// childProcesses of this process are supervisors, and orphans of supervisors that were killed.
type childProcesses struct {
	// starting is held for reading from before a child is there until it is among the supervisors. A
	// start may take long, and keeps nobody from anything but from telling orphans.
	starting sync.RWMutex

	// The lock of all that follows.
	sync.Mutex

	table table
	// pids of the supervisors.
	pids map[int]*os.Process
	// stuck are processes that cannot be killed and that are not waited for any more.
	stuck map[process]bool
}

// adopt makes this process the parent of the processes that a supervisor leaves when it is
// killed itself, for example by the kernel when there is no memory left.
func (c *childProcesses) adopt() error {
	c.Lock()
	defer c.Unlock()

	if c.table.proc != nil {
		return nil
	}

	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot become a subreaper: %w", err)
	}

	var err error
	c.table, err = openTable()

	return err
}

// start a child that is none of the orphans.
func (c *childProcesses) start(start func() (*os.Process, error)) (*os.Process, error) {
	c.starting.RLock()
	defer c.starting.RUnlock()

	p, err := start()
	if err != nil {
		return nil, err
	}

	c.Lock()
	defer c.Unlock()

	c.pids[p.Pid] = p

	return p, nil
}

func (c *childProcesses) ended(p *os.Process) {
	c.Lock()
	defer c.Unlock()

	// Its pid may be that of the next one already.
	if c.pids[p.Pid] == p {
		delete(c.pids, p.Pid)
	}
}

// end the orphans of killed supervisors, as these would have done. The error is a LeftError.
func (c *childProcesses) end(grace time.Duration) error {
	h := newTermination(grace)
	blind := time.Now().Add(grace + killPatience)

	for {
		left, err := c.orphans()

		switch {
		case len(left) == 0 && err == nil:
			return nil
		case len(left) == 0 && time.Now().After(blind):
			return &LeftError{Err: err}
		}

		if !h.signal(left) {
			time.Sleep(endPoll)
		}

		// A process that has ended stays until its parent waits for it.
		for _, p := range left {
			_, _ = syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil)
		}

		if h.stuck() {
			return c.giveUp(left)
		}
	}
}

// descendants of a supervisor that can be found now.
func (c *childProcesses) descendants(supervisor int) []process {
	f, _ := c.table.family()

	return f.descendants(supervisor)
}

// giveUp waiting for processes.
func (c *childProcesses) giveUp(left []process) error {
	c.Lock()
	defer c.Unlock()

	e := &LeftError{}

	for _, p := range left {
		c.stuck[p] = true
		e.Pids = append(e.Pids, p.pid)
	}

	return e
}

// orphans of killed supervisors, with their descendants. The error says that some may
// be missing.
func (c *childProcesses) orphans() ([]process, error) {
	c.starting.Lock()
	defer c.starting.Unlock()

	c.Lock()
	defer c.Unlock()

	f, err := c.table.family()

	var found []process

	for _, child := range f[unix.Getpid()] {
		if c.pids[child.pid] != nil {
			continue
		}

		for _, p := range append(f.descendants(child.pid), child) {
			if !c.stuck[p] {
				found = append(found, p)
				continue
			}

			if pid, _ := syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil); pid == p.pid {
				delete(c.stuck, p)
			}
		}
	}

	return found, err
}

// StartBeside starts a process that belongs to no command, and that is not ended as if a
// supervisor had left it. The channel is closed when it has ended.
func StartBeside(cmd *exec.Cmd) (<-chan struct{}, error) {
	if err := supervisors.adopt(); err != nil {
		return nil, err
	}

	p, err := supervisors.start(func() (*os.Process, error) {
		err := cmd.Start()

		return cmd.Process, err
	})
	if err != nil {
		return nil, err
	}

	ended := make(chan struct{})

	go func() {
		defer close(ended)

		_ = cmd.Wait()

		supervisors.ended(p)
	}()

	return ended, nil
}
