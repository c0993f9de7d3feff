// Package sources runs the servers that Ansible content comes from, for tests: a
// Galaxy server, git repositories and files, with and without TLS and passwords.
package sources

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// Auth is what a server asks of its clients: one of these is enough. The zero value lets all clients in.
type Auth struct {
	// User and Password of basic authentication.
	User, Password string
	// Token after one of the words Token and Bearer.
	Token string
}

// Options of a server.
type Options struct {
	// Auth that clients need.
	Auth Auth
	// CA that signs the certificate of the server. Nil serves without TLS.
	CA *CA
	// Host is the address of this machine to listen on; loopback by default.
	Host string
}

// A Mood is how a server answers.
type Mood int

// Moods of a server.
const (
	// Well is as it should be.
	Well Mood = iota
	// Down is 503 Service Unavailable, to all requests.
	Down
	// Garbled is 200 OK with a text that is no answer, to all requests.
	Garbled
	// Hanging is no answer until the client gives up or the server is stopped.
	Hanging
)

// A Server serves what the tests install. Use Start.
type Server struct {
	// URL of the server, without a slash at the end.
	URL string

	handler http.Handler
	auth    Auth
	srv     *http.Server
	stopped chan struct{}
	wg      sync.WaitGroup

	mu       sync.Mutex
	mood     Mood
	requests []string
}

// Start a server with a handler: a Galaxy, Git or Files.
func Start(ctx context.Context, h http.Handler, o Options) (*Server, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(cmp.Or(o.Host, "127.0.0.1"), "0"))
	if err != nil {
		return nil, errors.Wrap(err, "cannot listen")
	}

	s := &Server{URL: "http://" + l.Addr().String(), handler: h, auth: o.Auth, stopped: make(chan struct{})}
	s.srv = &http.Server{
		Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: time.Minute,
		ErrorLog: log.New(io.Discard, "", 0),
	}

	if o.CA != nil {
		cert, err := o.CA.issue(l.Addr().(*net.TCPAddr).IP) //nolint:forcetypeassert // It is one of TCP.
		if err != nil {
			return nil, err
		}

		s.URL = "https://" + l.Addr().String()
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
	}

	s.wg.Go(func() { _ = s.srv.Serve(l) })

	return s, nil
}

// Stop the server and end its connections.
func (s *Server) Stop() {
	close(s.stopped)

	_ = s.srv.Close()
	s.wg.Wait()
}

// Set the mood of the server from now on.
func (s *Server) Set(m Mood) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.mood = m
}

// Requests so far, each as method and path with query, those refused included.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()

	return append([]string{}, s.requests...)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
	mood := s.mood
	s.mu.Unlock()

	switch mood {
	case Down:
		http.Error(w, "down for maintenance", http.StatusServiceUnavailable)
	case Garbled:
		_, _ = fmt.Fprintln(w, "<html><body>Welcome to the proxy</body></html>")
	case Hanging:
		select {
		case <-r.Context().Done():
		case <-s.stopped:
		}
	case Well:
		if !s.auth.allows(r) {
			refuse(w, http.StatusUnauthorized, "not_authenticated", "Invalid token.")

			return
		}

		s.handler.ServeHTTP(w, r)
	}
}

func (a Auth) allows(r *http.Request) bool {
	if a == (Auth{}) {
		return true
	}

	user, password, basic := r.BasicAuth()
	if basic {
		return a.Password != "" && user == a.User && password == a.Password
	}

	got := r.Header.Get("Authorization")

	return a.Token != "" && (got == "Token "+a.Token || got == "Bearer "+a.Token)
}

// Files serves the files in a directory.
func Files(dir string) http.Handler {
	return http.FileServer(http.Dir(dir))
}
