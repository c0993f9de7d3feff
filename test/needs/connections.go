package needs

import (
	"context"
	"net"
	"sync"
	"testing"
)

// Connections to an address of this machine are served until the test ends, and what other cleanups of the test do may
// need them before. It returns the address, with its port. The context of serve is done when the test ends, which waits
// for it.
func Connections(tb testing.TB, address string, serve func(context.Context, net.Conn)) *net.TCPAddr {
	tb.Helper()

	l, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", address)
	OK(tb, err)

	ctx, end := context.WithCancel(context.Background())
	wg := sync.WaitGroup{}
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}

			wg.Go(func() { serve(ctx, c) })
		}
	})
	tb.Cleanup(func() {
		_ = l.Close()
		end()
		wg.Wait()
	})

	addr, _ := l.Addr().(*net.TCPAddr)

	return addr
}
