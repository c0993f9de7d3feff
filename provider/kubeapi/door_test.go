package kubeapi

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// Others on the same machine may connect to the proxy of a run as often as they like, and keep what they
// have got: the run gets through.
func TestStrangers(t *testing.T) {
	p, way := opened(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answer") }))
	address := strings.TrimPrefix(way.Host, "https://")

	// The run is there before them, and keeps its connection.
	early := speak(t, p, address)

	for i := range 2 * (maxConnections + maxStrangers) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })

		// Some of them say something: as far as it goes without the secret.
		if i%8 == 0 {
			tlsConn := tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
			_ = tlsConn.SetDeadline(time.Now().Add(10 * time.Second))
			_, _ = io.WriteString(tlsConn, "GET / HTTP/1.1\r\nAuthorization: ")
		}
	}

	_ = speak(t, p, address)
	ask(t, p, early)

	c, err := rest.HTTPClientFor(way)
	if err != nil {
		t.Fatal(err)
	}

	rsp, err := c.Get(way.Host + "/api")
	if err != nil {
		t.Fatalf("The run should reach the API server: %s", err)
	}

	_ = rsp.Body.Close()
}

// A run has as many connections as it may have. Further ones wait until one has ended.
func TestConnections(t *testing.T) {
	p, way := opened(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answer") }))
	address := strings.TrimPrefix(way.Host, "https://")

	first := speak(t, p, address)
	for range maxConnections - 1 {
		_ = speak(t, p, address)
	}

	more := dial(t, address)
	if _, err := fmt.Fprintf(more.Conn, request, p.secret); err != nil {
		t.Fatal(err)
	}

	_ = more.SetReadDeadline(time.Now().Add(100 * time.Millisecond))

	if _, err := more.r.Peek(1); err == nil {
		t.Error("One connection more than a run may have should wait.")
	}

	_ = first.Close()
	_ = more.SetReadDeadline(time.Now().Add(10 * time.Second))
	answered(t, more)
}

const request = "GET /api HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n"

// A line is a connection to a proxy.
type line struct {
	net.Conn

	r *bufio.Reader
}

func dial(t *testing.T, address string) line {
	t.Helper()

	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })

	return line{conn, bufio.NewReader(conn)}
}

// speak to the proxy on a new connection, as the run.
func speak(t *testing.T, p *proxy, address string) line {
	t.Helper()

	l := dial(t, address)
	ask(t, p, l)

	return l
}

// ask for something on a connection of the run.
func ask(t *testing.T, p *proxy, l line) {
	t.Helper()

	if _, err := fmt.Fprintf(l, request, p.secret); err != nil {
		t.Fatal(err)
	}

	answered(t, l)
}

// answered on a connection.
func answered(t *testing.T, l line) {
	t.Helper()

	rsp, err := http.ReadResponse(l.r, nil)
	if err != nil || rsp.StatusCode != http.StatusOK {
		t.Fatalf("want an answer, got %v, %v", rsp, err)
	}

	_, _ = io.Copy(io.Discard, rsp.Body)
	_ = rsp.Body.Close()
}
