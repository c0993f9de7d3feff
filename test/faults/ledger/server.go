package ledger

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// A Director returns when a play is to end its work, and whether it is to fail.
type Director func(ctx context.Context, r Run) (fail bool)

// A Server that plays talk to.
type Server struct {
	book     *Book
	director Director
	listener net.Listener
	wg       sync.WaitGroup
	ctx      context.Context //nolint:containedctx // It ends the server.
	stop     context.CancelFunc
}

// Serve a book on an address of this machine.
func Serve(ctx context.Context, host string, b *Book, d Director) (*Server, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, errors.Wrap(err, "cannot listen")
	}

	s := &Server{book: b, director: d, listener: l}
	s.ctx, s.stop = context.WithCancel(ctx)
	s.wg.Go(s.accept)

	return s, nil
}

// Address of the server, as host:port.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Path of the server as bash has it below /dev/tcp.
func (s *Server) Path() string { return strings.Replace(s.Address(), ":", "/", 1) }

// Stop the server and end its connections.
func (s *Server) Stop() {
	s.stop()

	_ = s.listener.Close()
	s.wg.Wait()
}

func (s *Server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}

		s.wg.Go(func() { s.serve(c) })
	}
}

func (s *Server) serve(c net.Conn) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()

	context.AfterFunc(ctx, func() { _ = c.Close() })

	lines := bufio.NewScanner(c)
	if !lines.Scan() {
		return
	}

	words := strings.Fields(lines.Text())

	switch {
	case len(words) == 8 && words[0] == "begin":
		pid, _ := strconv.Atoi(words[7])
		s.play(ctx, cancel, c, lines, Run{
			UID: words[1], ID: words[2], Mode: words[3], State: words[4], Generation: words[5],
			Value: words[6], PID: pid,
		})
	default:
		s.book.Breach("", "plays say what they do", lines.Text())
	}
}

// play the part of the target of a run: it says whether it is to be changed when
// the work may end, and hears how it ended.
func (s *Server) play(ctx context.Context, cancel context.CancelFunc, c net.Conn, lines *bufio.Scanner, r Run) {
	differs := s.book.Begin(r)

	// A connection that ends is a play that is lost, also while it waits.
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
	_, _ = fmt.Fprintf(c, "%s %s\n", word(fail, "fail", "go"), word(differs, "differs", "same"))

	select {
	case how := <-said:
		s.book.End(r.ID, outcome(how))
	case <-ctx.Done():
		s.book.End(r.ID, Lost)

		return
	}

	_, _ = fmt.Fprintln(c, "noted")
}

func outcome(said string) Outcome {
	if said == string(Done) {
		return Done
	}

	return Failed
}

func word(is bool, yes, no string) string {
	if is {
		return yes
	}

	return no
}
