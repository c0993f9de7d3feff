package kubeapi

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"sync"

	"golang.org/x/sync/semaphore"
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
	net.Listener

	inside *semaphore.Weighted

	mu        sync.Mutex
	strangers *list.List
}

// newDoor of a listener.
func newDoor(l net.Listener) *door {
	return &door{Listener: l, inside: semaphore.NewWeighted(maxConnections), strangers: list.New()}
}

// Accept a stranger.
func (d *door) Accept() (net.Conn, error) {
	c, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}

	g := &guest{Conn: c, door: d}

	d.mu.Lock()
	defer d.mu.Unlock()

	g.stranger = d.strangers.PushBack(g)

	if d.strangers.Len() > maxStrangers {
		oldest, _ := d.strangers.Front().Value.(*guest)
		_ = oldest.leave()
	}

	return g, nil
}

// A guest is a connection.
type guest struct {
	net.Conn

	door *door
	// stranger is its place among these; nil once it was admitted, or has gone.
	stranger *list.Element
	// inside is true for a guest that counts as a connection of the run, gone for one that was closed.
	inside, gone bool
}

// admit the guest, once there is a place for it. It is false for one that has gone.
func (g *guest) admit(ctx context.Context) bool {
	d := g.door

	d.mu.Lock()
	inside, gone := g.inside, g.gone
	d.mu.Unlock()

	if inside || gone {
		return inside
	}

	if d.inside.Acquire(ctx, 1) != nil {
		return false
	}

	d.mu.Lock()
	defer d.mu.Unlock()

	if g.gone {
		d.inside.Release(1)
		return false
	}

	d.strangers.Remove(g.stranger)
	g.stranger, g.inside = nil, true

	return true
}

// Close the connection.
func (g *guest) Close() error {
	g.door.mu.Lock()
	defer g.door.mu.Unlock()

	return g.leave()
}

// leave for good. The door is locked.
func (g *guest) leave() error {
	if !g.gone && g.inside {
		g.door.inside.Release(1)
	}

	if !g.gone && g.stranger != nil {
		g.door.strangers.Remove(g.stranger)
	}

	g.gone, g.inside, g.stranger = true, false, nil

	return g.Conn.Close()
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
