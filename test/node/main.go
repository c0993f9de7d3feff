// Command node is what a node of the test stack is built around.
//
//	node hold DIR ADDRESS TARGET [SHARED]
//
// holds the mount namespace of a node, which it must have been started in, so that
// kubelet and containerd may use the paths that they use everywhere and leave
// nothing on the machine. What they write is below DIR. Names are looked up at
// ADDRESS, which is this machine's on the network of the node, and connections are
// relayed from there, where Pods expect the API server, to TARGET, where it is. What root
// has in the directory SHARED, and only that, is there the user's of the provider's image.
//
//	node pause
//
// is the process that keeps the namespaces of a Pod.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "node:", err)
		os.Exit(1) //nolint:gocritic // There is nothing to clean up.
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "pause":
		<-ctx.Done()
		return nil
	case len(args) == 4 && args[0] == "hold":
		return hold(ctx, args[1], args[2], args[3])
	case len(args) == 5 && args[0] == "hold":
		if err := share(ctx, args[4]); err != nil {
			return errors.Wrapf(err, "cannot share %q with Pods", args[4])
		}
		return hold(ctx, args[1], args[2], args[3])
	}
	return errors.Errorf("want pause, or hold DIR ADDRESS TARGET [SHARED], got %q", args)
}

func hold(ctx context.Context, dir, address, target string) error {
	// It may be a link to what is hidden below.
	names, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err != nil {
		return errors.Wrap(err, "cannot find the configuration of DNS")
	}
	// Where kubelet, containerd and the plugins of the network write.
	for _, path := range []string{"/run", "/var/lib", "/var/log"} {
		if err := os.MkdirAll(dir+path, 0o755); err != nil { //nolint:gosec // Pods look into it, as other users.
			return errors.Wrap(err, "cannot make directory")
		}
		if err := bind(dir+path, path); err != nil {
			return err
		}
	}
	// What the kubelet would change of the machine: it may change copies.
	for _, name := range []string{
		"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
		"kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
	} {
		setting := filepath.Join("/proc/sys", name)
		value, err := os.ReadFile(setting)
		if err != nil {
			return errors.Wrap(err, "cannot read setting")
		}
		copied := filepath.Join(dir, "sys", name)
		if err := os.MkdirAll(filepath.Dir(copied), 0o700); err != nil {
			return errors.Wrap(err, "cannot make directory")
		}
		if err := os.WriteFile(copied, bytes.TrimSpace(value), 0o600); err != nil {
			return errors.Wrap(err, "cannot copy setting")
		}
		if err := bind(copied, setting); err != nil {
			return err
		}
	}
	if err := resolve(dir, names, address); err != nil {
		return err
	}
	return relay(ctx, net.JoinHostPort(address, "443"), target)
}

// user and group of the provider's image.
const user = 2000

// share a directory with the Pods of the node, by mounting it with other owners: what is root's on
// this machine is the user's there.
// https://docs.kernel.org/filesystems/idmappings.html
func share(ctx context.Context, dir string) error {
	// A mount takes them from a user namespace, which a process has to make.
	own, err := os.Executable()
	if err != nil {
		return errors.Wrap(err, "cannot find this program")
	}
	owners := []syscall.SysProcIDMap{{ContainerID: 0, HostID: user, Size: 1}}
	cmd := exec.CommandContext(ctx, own, "pause")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: owners, GidMappings: owners}
	if err := cmd.Start(); err != nil {
		return errors.Wrap(err, "cannot make a user namespace")
	}
	namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/user", cmd.Process.Pid))
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err != nil {
		return errors.Wrap(err, "cannot open a user namespace")
	}
	defer namespace.Close() //nolint:errcheck // It is not read.

	tree, err := unix.OpenTree(unix.AT_FDCWD, dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return errors.Wrap(err, "cannot open the directory")
	}
	defer unix.Close(tree) //nolint:errcheck // It is not read.
	err = unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH,
		&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(namespace.Fd())})
	if err != nil {
		return errors.Wrap(err, "its file system may not have other owners in another mount")
	}
	return errors.Wrap(unix.MoveMount(tree, "", unix.AT_FDCWD, dir, unix.MOVE_MOUNT_F_EMPTY_PATH), "cannot mount it")
}

// resolve names as Pods do, by a configuration at a path.
func resolve(dir, path, address string) error {
	ours := filepath.Join(dir, "resolv.conf")
	if err := os.WriteFile(ours, fmt.Appendf(nil, "nameserver %s\nsearch svc.cluster.local\n", address), 0o644); err != nil { //nolint:gosec // Others read it.
		return errors.Wrap(err, "cannot write the configuration of DNS")
	}
	if _, err := os.Stat(path); err != nil {
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o600)) //nolint:gosec // As elsewhere.
		if err != nil {
			return errors.Wrap(err, "cannot make the configuration of DNS")
		}
	}
	return bind(ours, path)
}

// bind a file or directory to a path.
func bind(source, path string) error {
	return errors.Wrapf(unix.Mount(source, path, "", unix.MS_BIND, ""), "cannot mount %q at %q", source, path)
}

// relay connections until the context is done.
func relay(ctx context.Context, listen, target string) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return errors.Wrap(err, "cannot listen for Pods")
	}
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	for {
		from, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return errors.Wrap(err, "cannot accept a connection")
		}
		go connect(ctx, from, target)
	}
}

// connect a client to the target until both directions have ended.
func connect(ctx context.Context, from net.Conn, target string) {
	defer from.Close() //nolint:errcheck // There is no way to report it.
	to, err := (&net.Dialer{}).DialContext(ctx, "tcp", target)
	if err != nil {
		return
	}
	defer to.Close() //nolint:errcheck // There is no way to report it.
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		pump(to, from)
	}()
	pump(from, to)
	<-ended
}

// pump what one sends to the other, and then say that this was all.
func pump(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if c, ok := to.(*net.TCPConn); ok {
		_ = c.CloseWrite()
	}
}
