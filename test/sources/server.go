// Package sources runs the servers that Ansible content comes from, for tests: a
// Galaxy server, git repositories and files, with and without TLS and passwords.
package sources

import (
	"cmp"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/test/certs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
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
	CA *certs.Authority
	// Host is the address of this machine to listen on; loopback by default.
	Host string
}

// A Server serves what the tests install. Use Start.
type Server struct {
	// URL of the server, without a slash at the end.
	URL string

	handler http.Handler
	auth    Auth
	srv     *httptest.Server

	mu       sync.Mutex
	requests []string
}

// Start a server with a handler: a Galaxy, Git or Files. It ends with the test.
func Start(tb testing.TB, h http.Handler, o Options) *Server {
	tb.Helper()

	l, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", net.JoinHostPort(cmp.Or(o.Host, "127.0.0.1"), "0"))
	needs.OK(tb, err)

	s := &Server{handler: h, auth: o.Auth}
	s.srv = &httptest.Server{
		Listener: l, Config: &http.Server{Handler: http.HandlerFunc(s.serve), ErrorLog: log.New(io.Discard, "", 0)}, //nolint:gosec // Clients are those of tests.
	}

	if o.CA == nil {
		s.srv.Start()
	} else {
		certPEM, keyPEM, err := o.CA.Issue("server", l.Addr().(*net.TCPAddr).IP) //nolint:forcetypeassert // It is one of TCP.
		needs.OK(tb, err)

		cert, err := tls.X509KeyPair(certPEM, keyPEM)
		needs.OK(tb, err)

		s.srv.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
		s.srv.StartTLS()
	}

	s.URL = s.srv.URL
	tb.Cleanup(s.Stop)

	return s
}

// Stop the server and end its connections before the test ends.
func (s *Server) Stop() {
	s.srv.CloseClientConnections()
	s.srv.Close()
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
	s.mu.Unlock()

	if !s.auth.allows(r) {
		refuse(w, http.StatusUnauthorized, "not_authenticated", "Invalid token.")

		return
	}

	s.handler.ServeHTTP(w, r)
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
