package container

import (
	"context"
	"io"
	"net"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// loopbackUp turns loopback on in a new network namespace.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return errors.Wrap(err, "cannot make a socket")
	}
	defer unix.Close(fd) //nolint:errcheck // It is a socket without anything in it.
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return errors.Wrap(err, "cannot find loopback")
	}
	req.SetUint16(unix.IFF_UP)
	return errors.Wrap(unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req), "cannot turn loopback on")
}

// A Network connects the network namespaces of containers to this one, address by
// address.
type Network struct {
	mu        sync.Mutex
	listeners []net.Listener
}

// Reach makes an address of ours reachable in the container with a process, at the
// same address.
func (n *Network) Reach(pid int, address string) error {
	l, err := within(pid, func() (net.Listener, error) {
		return (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	})
	if err != nil {
		return errors.Wrapf(err, "cannot listen in a container")
	}
	n.forward(l, func() (net.Conn, error) { return (&net.Dialer{}).Dial("tcp", address) })
	return nil
}

// Expose an address of the container with a process at an address of ours.
func (n *Network) Expose(pid int, theirs, ours string) error {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", ours)
	if err != nil {
		return errors.Wrap(err, "cannot listen for a container")
	}
	n.forward(l, func() (net.Conn, error) {
		return within(pid, func() (net.Conn, error) { return (&net.Dialer{}).Dial("tcp", theirs) })
	})
	return nil
}

// Close all that was connected.
func (n *Network) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.listeners {
		_ = l.Close()
	}
	n.listeners = nil
}

func (n *Network) forward(l net.Listener, dial func() (net.Conn, error)) {
	n.mu.Lock()
	n.listeners = append(n.listeners, l)
	n.mu.Unlock()
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			go relay(from, dial)
		}
	}()
}

// relay a connection until either side has had enough.
func relay(from net.Conn, dial func() (net.Conn, error)) {
	defer from.Close() //nolint:errcheck // There is nobody to tell.
	to, err := dial()
	if err != nil {
		return
	}
	defer to.Close() //nolint:errcheck // There is nobody to tell.
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			done <- struct{}{}
		}()
	}
	<-done
}

// within the network namespace of a process, on a thread that ends afterwards.
func within[T any](pid int, do func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	out := make(chan result, 1)
	go func() {
		runtime.LockOSThread() // And never unlocked.
		r := result{}
		r.err = setns(pid)
		if r.err == nil {
			r.value, r.err = do()
		}
		out <- r
	}()
	r := <-out
	return r.value, r.err
}

func setns(pid int) error {
	fd, err := unix.Open(namespace(pid, "net"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return errors.Wrap(err, "cannot find the network of a container")
	}
	defer unix.Close(fd) //nolint:errcheck // It was only opened.
	return errors.Wrap(unix.Setns(fd, unix.CLONE_NEWNET), "cannot enter the network of a container")
}

// Dialer of addresses in the network namespace of a process.
func Dialer(pid int) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		return within(pid, func() (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, network, address) })
	}
}
