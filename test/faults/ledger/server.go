package ledger

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// A Director returns when a play must end its work. The result is true if it must fail.
type Director func(ctx context.Context, r Run) (fail bool)

// A server that plays report to.
type server struct {
	book     *Book
	director Director
}

// Serve a book on an address of this machine until the test ends, and return the path of the server below /dev/tcp of
// bash.
func Serve(tb testing.TB, host string, b *Book, d Director) string {
	tb.Helper()

	s := &server{book: b, director: d}
	return strings.Replace(needs.Connections(tb, net.JoinHostPort(host, "0"), s.serve).String(), ":", "/", 1)
}

func (s *server) serve(ctx context.Context, c net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	context.AfterFunc(ctx, func() { _ = c.Close() })

	lines := bufio.NewScanner(c)
	if !lines.Scan() {
		return
	}

	words := strings.Fields(lines.Text())
	if len(words) != 5 {
		s.book.Breach("", "plays say what they do", lines.Text())

		return
	}

	s.play(ctx, cancel, c, lines, Run{UID: words[0], ID: words[1], Mode: words[2], State: words[3], Value: words[4]})
}

// play the target of a run: at the end of the work, it tells the play whether to fail, and whether the target differs.
// It then reads the outcome.
func (s *server) play(ctx context.Context, cancel context.CancelFunc, c net.Conn, lines *bufio.Scanner, r Run) {
	differs := s.book.Begin(r)

	// The end of the connection means that the play is lost, also while it waits.
	said := make(chan string)

	go func() {
		defer cancel()

		for lines.Scan() {
			select {
			case said <- lines.Text():
			case <-ctx.Done():
				return
			}
		}
	}()

	fail := s.director(ctx, r)
	_, _ = fmt.Fprintf(c, "%t %t\n", fail, differs)

	select {
	case how := <-said:
		s.book.End(r.ID, Outcome(how))
	case <-ctx.Done():
		s.book.End(r.ID, Lost)

		return
	}

	_, _ = fmt.Fprintln(c, "noted")
}
