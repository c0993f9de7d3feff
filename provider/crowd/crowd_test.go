package crowd

import (
	"errors"
	"io"
	"net"
	"testing"
)

// TestLimit takes the place of connections that send nothing.
func TestLimit(t *testing.T) {
	const most = 4

	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = l.Close() })

	c := Limit(l, most)

	// come in, and return both ends.
	come := func() (outside net.Conn, inside *Guest) {
		if outside, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String()); err != nil {
			t.Fatal(err)
		}

		if inside, err = c.Welcome(); err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() { _, _ = outside.Close(), inside.Close() })

		return outside, inside
	}

	_, closed := come()
	staying, left := come()
	oldest, gone := come()

	if err := closed.Close(); err != nil {
		t.Errorf("Close(): %v", err)
	}

	if !left.Leave() || left.Leave() || closed.Leave() {
		t.Error("Leave(): want true once, and false for who has gone.")
	}

	for range most {
		come()
	}

	if _, err := oldest.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("The oldest connection should have gone, got %v", err)
	}

	if gone.Leave() {
		t.Error("Leave(): want false for who had to go.")
	}

	if got := c.guests.Len(); got != most {
		t.Errorf("want %d connections, got %d", most, got)
	}

	if _, err := left.Write([]byte("a")); err != nil {
		t.Errorf("Write(): %v", err)
	}

	if _, err := io.ReadFull(staying, make([]byte, 1)); err != nil {
		t.Errorf("Who has left should stay connected, got %v", err)
	}
}
