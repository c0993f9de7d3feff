package warm

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

//go:embed *.py
var programs embed.FS

const (
	// startPatience is the time in which a process must have imported Ansible.
	startPatience = 5 * time.Minute
	// forkPatience is the time in which a process must fork.
	forkPatience = 10 * time.Second
)

// A process has imported Ansible. Its keeper drops it when it cannot start a run.
type process struct {
	keeper *Keeper
	// dir is the process's own directory. Runs can find its path, and change its mode.
	dir string
	// control is the socket on which the process receives a socket for each run.
	control *net.UnixConn
	mu      sync.Mutex
	// end ends the process. ended is closed once it has ended.
	end   func()
	ended <-chan struct{}
}

// A request is the first message to the process of a run.
type request struct {
	Supervisor  []string      `json:"supervisor"`
	Environment []string      `json:"environment"`
	Directory   string        `json:"directory"`
	Arguments   []string      `json:"arguments"`
	Confinement sandbox.Entry `json:"confinement"`
}

// start starts a process in a directory of its own, and waits until it has imported Ansible. The process ends with the
// context.
func start(ctx context.Context, k *Keeper) (_ *process, err error) {
	o := k.o

	dir, env, err := o.Make()
	defer func() {
		if err != nil {
			_ = workdir.Remove(dir)
		}
	}()

	if err != nil {
		return nil, err
	}

	if err := errors.Join(
		os.CopyFS(dir, programs), os.WriteFile(filepath.Join(dir, "driver.py"), o.Driver, 0o600),
	); err != nil {
		return nil, errors.Wrap(err, "cannot write the program of the process")
	}

	ours, theirs, err := socketpair(unix.SOCK_SEQPACKET)
	if err != nil {
		return nil, err
	}

	out := &bytes.Buffer{}
	ctx, end := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, o.Python, "-u", filepath.Join(dir, "warm.py"), dir, o.Playbook)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = env, dir, out, out, []*os.File{theirs}
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}

	err = cmd.Start()
	_ = theirs.Close()

	if err != nil {
		end()
		_ = ours.Close()

		return nil, err
	}

	ended := make(chan struct{})

	go func() {
		defer close(ended)

		_ = cmd.Wait()
	}()

	context.AfterFunc(ctx, func() { _ = ours.Close() })

	p := &process{keeper: k, dir: dir, control: ours, end: end, ended: ended}

	if _, err := p.read(startPatience); err != nil {
		p.end()
		<-p.ended

		return nil, errors.Wrap(err, strings.TrimSpace(out.String()))
	}

	return p, nil
}

// Start a command. Its argv has the interpreter, the driver, and the arguments of the driver's main.
func (p *process) Start(c supervisor.Command, self []string, files ...*os.File) (*os.Process, error) {
	size := 0
	for _, kv := range c.Env {
		size += len(kv) + 1
	}

	// This error of the run does not concern the process.
	if size > longestEnvironment {
		return nil, unix.E2BIG
	}

	child, err := p.fork(c, self, files)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		p.keeper.drop(p, err, pause)
	case err != nil: // A process that has ended is replaced at once.
		p.keeper.drop(p, err, 0)
	}

	return child, err
}

// fork a run.
func (p *process) fork(c supervisor.Command, self []string, files []*os.File) (*os.Process, error) {
	entry, ruleset, err := c.Domain.Entry()
	if err != nil {
		return nil, err
	}

	if ruleset != nil {
		defer ruleset.Close() //nolint:errcheck // Nothing was written to it.

		files = append(files, ruleset)
	}

	text, err := json.Marshal(request{
		Supervisor: self, Environment: c.Env, Directory: c.Dir, Arguments: c.Argv[2:], Confinement: entry,
	})
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode a run")
	}

	ours, theirs, err := socketpair(unix.SOCK_STREAM)
	if err != nil {
		return nil, err
	}

	defer ours.Close()   //nolint:errcheck // The run has read it, or has ended.
	defer theirs.Close() //nolint:errcheck // The run has a copy.

	pid, err := p.ask(theirs)
	if err != nil {
		return nil, err
	}

	child, err := os.FindProcess(pid)
	if err != nil {
		return nil, errors.Wrap(err, "cannot find a process that was forked")
	}

	// The end of the child closes the socket, too.
	_ = ours.SetDeadline(time.Now().Add(forkPatience))

	if err := send(ours, text, files); err != nil {
		_ = child.Kill()
		_, _ = child.Wait()

		return nil, errors.Wrap(err, "cannot send a request to a process")
	}

	return child, nil
}

// ask for a child that reads a request from a socket, and return its id. After an error the process is ended, since a
// late answer would be taken for the answer to the next request.
func (p *process) ask(socket *os.File) (_ int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	defer func() {
		if err != nil {
			p.end()
			_ = p.control.Close()
		}
	}()

	if _, _, err := p.control.WriteMsgUnix([]byte{0}, unix.UnixRights(int(socket.Fd())), nil); err != nil {
		return 0, errors.Wrap(err, "cannot ask for a process")
	}

	text, err := p.read(forkPatience)
	if err != nil {
		return 0, err
	}

	pid, err := strconv.Atoi(text)

	return pid, errors.Wrap(err, "cannot parse the id of a process")
}

// read returns a message of the process.
func (p *process) read(patience time.Duration) (string, error) {
	if err := p.control.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return "", errors.Wrap(err, "cannot wait for the process")
	}

	b := make([]byte, 64) // Longer than any message.

	n, err := p.control.Read(b)
	if err == nil && n == 0 {
		err = errors.New("it has ended")
	}

	return string(b[:n]), errors.Wrap(err, "the process does not answer")
}

// send a text with files, and close the connection for writing.
func send(c *net.UnixConn, text []byte, files []*os.File) error {
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}

	n, _, err := c.WriteMsgUnix(text, unix.UnixRights(fds...), nil)
	if err != nil {
		return err
	}

	if _, err := c.Write(text[n:]); err != nil {
		return err
	}

	return c.CloseWrite()
}

// socketpair returns a connection of a type, and its other end as a file for another process.
func socketpair(kind int) (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, errors.Wrap(err, "cannot make a pair of sockets")
	}

	f := os.NewFile(uintptr(fds[0]), "socket")
	defer f.Close() //nolint:errcheck // The connection has a copy.

	theirs := os.NewFile(uintptr(fds[1]), "socket")

	c, err := net.FileConn(f)
	if err != nil {
		_ = theirs.Close()
		return nil, nil, errors.Wrap(err, "cannot use a socket")
	}

	return c.(*net.UnixConn), theirs, nil //nolint:forcetypeassert // It is a Unix socket.
}
