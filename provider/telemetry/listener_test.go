package telemetry

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
)

// TestListen answers as an Ansible operator does.
func TestListen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	address := l.Addr().String()
	_ = l.Close()

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})

	go func() {
		Listen(ctx, address, logging.NewNopLogger())
		close(done)
	}()

	for name, tc := range map[string]struct {
		method, path, body string
		want               int
	}{
		"Metric": {http.MethodPost, "/metrics", `{"name":"jobs","description":"Jobs","counter":{"increment":true}}`, http.StatusOK},
		"None":   {http.MethodPost, "/metrics", `{"name":"jobs"}`, http.StatusBadRequest},
		"Text":   {http.MethodPost, "/metrics", `jobs`, http.StatusBadRequest},
		"Long":   {http.MethodPost, "/metrics", `{"name":"` + strings.Repeat("a", maxRequestSize) + `","counter":{}}`, http.StatusBadRequest},
		"Get":    {http.MethodGet, "/metrics", "", http.StatusMethodNotAllowed},
		"Else":   {http.MethodPost, "/", "", http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			var rsp *http.Response

			for rsp == nil {
				req, err := http.NewRequestWithContext(t.Context(), tc.method, "http://"+address+tc.path, strings.NewReader(tc.body))
				if err != nil {
					t.Fatal(err)
				}

				rsp, _ = http.DefaultClient.Do(req) // It may not listen yet.
			}

			_ = rsp.Body.Close()

			if rsp.StatusCode != tc.want {
				t.Errorf("want %d, got %s", tc.want, rsp.Status)
			}
		})
	}

	cancel()
	<-done
}
