package kubeapi

import (
	"context"
	"crypto/tls"
	"net"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/crossplane-ansible/crossplane-ansible/provider/crowd"
)

const (
	// maxConnections of a run to its proxy at a time. Each has one request at a time.
	maxConnections = 256
	// maxStrangers are connections at a time that have not shown the secret yet.
	maxStrangers = 256
)

// A door counts the connections of a run, and apart from them those that have not shown its secret yet: all
// runs of the provider can connect to the proxies of others, and none of them is to use up another one's
// connections. When there are too many strangers the one goes that has been there the longest: the run shows
// its secret at once.
type door struct {
	*crowd.Listener

	inside *semaphore.Weighted
}

// newDoor of a listener.
func newDoor(l net.Listener) *door {
	return &door{Listener: crowd.Limit(l, maxStrangers), inside: semaphore.NewWeighted(maxConnections)}
}

// Accept a stranger.
func (d *door) Accept() (net.Conn, error) {
	g, err := d.Welcome()
	if err != nil {
		return nil, err
	}

	return &guest{Guest: g, door: d}, nil
}

// A guest is a connection: a stranger until it is admitted.
type guest struct {
	*crowd.Guest

	door *door

	mu sync.Mutex
	// inside is true for a guest that counts as a connection of the run, gone for one that was closed.
	inside, gone bool
}

// admit the guest, once there is a place for it. It is false for one that has gone.
func (g *guest) admit(ctx context.Context) bool {
	g.mu.Lock()
	inside, gone := g.inside, g.gone
	g.mu.Unlock()

	if inside || gone {
		return inside
	}

	if g.door.inside.Acquire(ctx, 1) != nil {
		return false
	}

	g.mu.Lock()
	defer g.mu.Unlock()

	if g.inside = !g.gone && g.Leave(); !g.inside {
		g.door.inside.Release(1)
	}

	return g.inside
}

// Close the connection.
func (g *guest) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()

	if g.inside {
		g.door.inside.Release(1)
	}

	g.inside, g.gone = false, true

	return g.Guest.Close()
}

// guestKey is the key of the guest in the context of its requests.
type guestKey struct{}

// withGuest is the context of the requests on a connection.
func withGuest(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}

	return context.WithValue(ctx, guestKey{}, c)
}

// admitted is true once there is a place for the connection of a request that has the secret.
func admitted(ctx context.Context) bool {
	g, ok := ctx.Value(guestKey{}).(*guest)

	return ok && g.admit(ctx)
}
