// Package crowd limits how many connections a listener has at a time, without a limit on who may connect.
package crowd

import (
	"container/list"
	"net"
	"sync"
)

// A Listener accepts each connection. When there are too many, the one goes that has been there the longest: where
// everybody may connect, nobody is to wait for those who keep what they have got.
type Listener struct {
	net.Listener

	most int

	mu     sync.Mutex
	guests *list.List
}

// Limit a listener to a number of connections.
func Limit(l net.Listener, most int) *Listener {
	return &Listener{Listener: l, most: most, guests: list.New()}
}

// Accept a connection, which is a *Guest.
func (l *Listener) Accept() (net.Conn, error) {
	g, err := l.Welcome()
	if err != nil {
		return nil, err
	}

	return g, nil
}

// Welcome a connection.
func (l *Listener) Welcome() (*Guest, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}

	g := &Guest{Conn: c, crowd: l}

	l.mu.Lock()
	defer l.mu.Unlock()

	g.place = l.guests.PushBack(g)

	if l.guests.Len() > l.most {
		oldest, _ := l.guests.Remove(l.guests.Front()).(*Guest)
		oldest.place = nil
		_ = oldest.Conn.Close()
	}

	return g, nil
}

// A Guest is one of a crowd.
type Guest struct {
	net.Conn

	crowd *Listener
	place *list.Element // Nil for one that has left.
}

// Leave the crowd: the connection stays, and does not count any more. It is false for one that has left before, or
// had to go.
func (g *Guest) Leave() bool {
	g.crowd.mu.Lock()
	defer g.crowd.mu.Unlock()

	if g.place == nil {
		return false
	}

	g.crowd.guests.Remove(g.place)
	g.place = nil

	return true
}

// Close the connection.
func (g *Guest) Close() error {
	g.Leave()

	return g.Conn.Close()
}
