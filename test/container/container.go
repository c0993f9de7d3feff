// Package container runs processes from the file systems of images, as a node of
// Kubernetes does: with a root of their own, as an unprivileged user without
// capabilities, in process, mount and network namespaces of their own. It needs
// root, or user namespaces that an unprivileged user may create.
package container

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// A Spec says what to run, and in what.
type Spec struct {
	// Root is the directory with the file system of the image. It is not changed:
	// what the process writes goes with the process.
	Root string `json:"root"`

	// ReadOnly says whether the process may write to its mounts only.
	ReadOnly bool `json:"readOnly"`

	// Mounts on top of the root, in order.
	Mounts []Mount `json:"mounts"`

	// Argv, Env and Dir of the process. A command without a slash is searched for
	// in the PATH of Env.
	Argv []string `json:"argv"`
	Env  []string `json:"env"`
	Dir  string   `json:"dir"`

	// User and group that the process runs as, without any capabilities.
	User  int `json:"user"`
	Group int `json:"group"`

	// Output gets what the process prints.
	Output io.Writer `json:"-"`

	// Connect is called with the process before it runs anything, to connect its
	// network namespace, which has nothing but loopback, to others.
	Connect func(pid int) error `json:"-"`

	// Scratch is an empty directory to mount things at. Start makes and removes it.
	Scratch string `json:"scratch"`
}

// A Mount is a directory or a file that appears at a path in the container.
type Mount struct {
	Source   string `json:"source"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"readOnly"`
}

// A Container is a process that was started, with all of its descendants.
type Container struct {
	cmd   *exec.Cmd
	ended chan struct{}
	err   error
}

// Start a process. The program that calls it must call Init first of all.
func Start(s Spec) (*Container, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, errors.Wrap(err, "cannot find this binary")
	}
	if s.Scratch, err = os.MkdirTemp("", "container-"); err != nil {
		return nil, errors.Wrap(err, "cannot make directory")
	}
	spec, send, err := os.Pipe()
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a pipe")
	}
	defer send.Close() //nolint:errcheck // It is closed before, if all goes well.
	ready, up, err := os.Pipe()
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a pipe")
	}
	defer ready.Close() //nolint:errcheck // It was only read.

	cmd := exec.Command(self) //nolint:noctx // It ends when it is told to.
	cmd.Env = []string{envInit + "=container"}
	cmd.Stdout, cmd.Stderr = s.Output, s.Output
	cmd.ExtraFiles = []*os.File{spec, up}
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = attributes(unix.CLONE_NEWNS|unix.CLONE_NEWPID|unix.CLONE_NEWNET|unix.CLONE_NEWIPC, s.User, s.Group)
	c := &Container{cmd: cmd, ended: make(chan struct{})}
	err = c.start(s.Scratch)
	_, _ = spec.Close(), up.Close()
	if err != nil {
		return nil, errors.Wrap(err, "cannot start the init of a container")
	}
	if err := c.prepare(s, ready, send); err != nil {
		_ = cmd.Process.Kill()
		<-c.ended
		return nil, err
	}
	return c, nil
}

// prepare the container, and let the process run.
func (c *Container) prepare(s Spec, ready io.Reader, spec io.WriteCloser) error {
	if _, err := io.ReadFull(ready, make([]byte, 1)); err != nil {
		return errors.Wrap(err, "the init of the container ended early")
	}
	if s.Connect != nil {
		if err := s.Connect(c.cmd.Process.Pid); err != nil {
			return err
		}
	}
	if err := json.NewEncoder(spec).Encode(s); err != nil {
		return errors.Wrap(err, "cannot send the spec of the container")
	}
	return errors.Wrap(spec.Close(), "cannot send the spec of the container")
}

// start the process, and remove an empty directory when it has ended. It is killed
// when the thread ends that has started it, which therefore must do nothing else:
// threads end that were in another network.
func (c *Container) start(scratch string) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		c.err = c.cmd.Wait()
		_ = os.Remove(scratch)
		close(c.ended)
	}()
	return <-started
}

// Pid of the process, as seen from here.
func (c *Container) Pid() int { return c.cmd.Process.Pid }

// Signal the process.
func (c *Container) Signal(s os.Signal) error { return c.cmd.Process.Signal(s) }

// Ended is closed when the process, and so all of the container, has ended.
func (c *Container) Ended() <-chan struct{} { return c.ended }

// Err is how the process ended. It must have ended.
func (c *Container) Err() error { return c.err }

// Stop the process politely, and by force after a grace period, and wait for its end.
func (c *Container) Stop(grace time.Duration) {
	_ = c.Signal(syscall.SIGTERM)
	select {
	case <-c.ended:
	case <-time.After(grace):
		_ = c.cmd.Process.Kill()
		<-c.ended
	}
}

// attributes of a process in new namespaces. Who is not root gets a user
// namespace as well, in which they are the given user.
func attributes(flags uintptr, user, group int) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Cloneflags: flags, Pdeathsig: syscall.SIGKILL}
	if privileged() {
		return a
	}
	a.Cloneflags |= unix.CLONE_NEWUSER
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getuid(), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: group, HostID: os.Getgid(), Size: 1}}
	a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_CHROOT, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE}
	return a
}

// privileged says whether this process may become any user. Root of a user
// namespace with only one user may not.
func privileged() bool {
	var inside, outside, users int
	b, err := os.ReadFile("/proc/self/uid_map")
	if err == nil {
		_, err = fmt.Sscan(string(b), &inside, &outside, &users)
	}
	return os.Geteuid() == 0 && err == nil && users > 1
}

// namespace file of a process.
func namespace(pid int, kind string) string {
	return "/proc/" + strconv.Itoa(pid) + "/ns/" + kind
}
