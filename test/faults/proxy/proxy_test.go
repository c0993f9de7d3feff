package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/crossplane-ansible/crossplane-ansible/test/faults/trap"
)

const run = "/apis/ansible.m.crossplane.io/v1alpha1/namespaces/n/ansibleruns/r"

// world is a server, and a client that reaches it through a proxy.
type world struct {
	proxy  *Proxy
	traps  *trap.Set
	client *http.Client
	served chan string
}

func newWorld(t *testing.T) *world {
	t.Helper()

	w := &world{traps: &trap.Set{}, served: make(chan string, 10)}

	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.served <- r.Method + " " + r.URL.Path
		_, _ = io.WriteString(rw, "first\n")

		if isWatch(r) {
			rw.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)

	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})

	var err error

	w.proxy, err = Start(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}, w.traps)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(w.proxy.Stop)

	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(w.proxy.CA())

	w.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}}

	return w
}

func (w *world) do(ctx context.Context, t *testing.T, method, path, body string) (*http.Response, error) {
	t.Helper()

	r, err := http.NewRequestWithContext(ctx, method, w.proxy.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}

	return w.client.Do(r)
}

func TestRule(t *testing.T) {
	cases := map[string]struct {
		reason string
		effect Effect
		code   int
		served bool
	}{
		"None":     {reason: "Nothing should happen to a request.", code: http.StatusOK, served: true},
		"Conflict": {reason: "A request should be answered in place of the server.", effect: Effect{Status: http.StatusConflict}, code: http.StatusConflict},
		"Lost":     {reason: "A request should take effect without an answer.", effect: Effect{Lose: true}, served: true},
		"Cut":      {reason: "A request should get nowhere.", effect: Effect{Cut: true}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.proxy.Set(func(*http.Request) Effect { return tc.effect })

			code := 0

			// A client tries a GET again; a PUT it does not.
			if rsp, err := w.do(t.Context(), t, http.MethodPut, run, "{}"); err == nil {
				code = rsp.StatusCode
				_ = rsp.Body.Close()
			}

			if diff := cmp.Diff(tc.code, code); diff != "" {
				t.Errorf("\n%s\nstatus code: -want, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.served, len(w.served) > 0); diff != "" {
				t.Errorf("\n%s\nreached the server: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestTraps(t *testing.T) {
	cases := map[string]struct {
		reason, path, body string
		want               trap.Event
	}{
		"Status": {
			reason: "What writes a status should be known by its run.",
			path:   run + "/status",
			body:   `{"metadata":{"uid":"u"},"status":{"atProvider":{"lastRun":{"id":"i","mode":"Apply","state":"present","phase":"Running"}}}}`,
			want:   trap.Event{Kind: trap.StatusWritten, UID: "u", RunID: "i", Mode: "Apply", State: "present", Phase: "Running"},
		},
		"Finalizer": {
			reason: "What lets an object go should be known.",
			path:   run,
			body:   `{"metadata":{"uid":"u","deletionTimestamp":"2026-01-02T03:04:05Z"}}`,
			want:   trap.Event{Kind: trap.FinalizerRemoved, UID: "u"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			trapped := w.traps.Arm(func(trap.Event) bool { return true })

			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})

			go func() {
				defer close(ended)

				if rsp, err := w.do(ctx, t, http.MethodPut, tc.path, tc.body); err == nil {
					_ = rsp.Body.Close()
				}
			}()

			if diff := cmp.Diff(tc.want, <-trapped.Caught()); diff != "" {
				t.Errorf("\n%s\nevent: -want, +got:\n%s", tc.reason, diff)
			}

			// The client dies while its request is held.
			cancel()
			<-ended
			w.proxy.Stop()

			if len(w.served) > 0 {
				t.Errorf("\n%s\nthe server got %s of a client that had died", tc.reason, <-w.served)
			}
		})
	}
}

func TestCutWatches(t *testing.T) {
	w := newWorld(t)

	rsp, err := w.do(t.Context(), t, http.MethodGet, run+"?watch=true", "") //nolint:bodyclose // It is closed below.
	if err != nil {
		t.Fatal(err)
	}

	defer rsp.Body.Close()

	if n := w.proxy.CutWatches(); n != 1 {
		t.Errorf("CutWatches(): want 1, got %d", n)
	}

	ended := make(chan struct{})

	go func() {
		_, _ = io.Copy(io.Discard, rsp.Body)
		close(ended)
	}()

	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the watch should have ended")
	}
}
