package container

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// ErrUnsupported says that this machine does not let this user make namespaces.
var ErrUnsupported = errors.New("this needs root, or user namespaces for everybody")

// Isolated says whether this process runs in namespaces of its own, made by Isolate.
func Isolated() bool { return os.Getenv(envInit) == "isolated" }

// Isolate runs this program again in mount and network namespaces of its own, in
// which no port is taken and which its file of hosts is kept to, and returns how it
// ended.
func Isolate() (exit int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, errors.Wrap(err, "cannot find this binary")
	}
	cmd := exec.Command(self, os.Args[1:]...) //nolint:noctx // It is this program.
	cmd.Env = append(os.Environ(), envInit+"=isolated")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = attributes(unix.CLONE_NEWNS|unix.CLONE_NEWNET, 0, 0)

	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, errors.Wrap(ErrUnsupported, err.Error())
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	err = cmd.Wait()
	exited := &exec.ExitError{}
	if errors.As(err, &exited) {
		return exited.ExitCode(), nil
	}
	return 0, errors.Wrap(err, "cannot run in namespaces")
}

// Settle in the namespaces that Isolate has made: with a network, and with names
// of hosts that nobody else sees.
func Settle(hosts string) error {
	if err := loopbackUp(); err != nil {
		return err
	}
	if err := mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	return mount(hosts, "/etc/hosts", "", unix.MS_BIND, "")
}
