// Package proxy is a proxy between the provider and kube-apiserver that injects faults.
package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/test/faults/trap"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// An Effect on one request. The zero value passes the request on.
type Effect struct {
	// Delay before anything else.
	Delay time.Duration
	// Status of the answer instead of that of the API server; 0 for none.
	Status int
	// Lose the answer: the request takes effect, but the client gets no answer.
	Lose bool
	// Cut the connection: the request does not reach the API server.
	Cut bool
}

// A Rule decides the effect on a request.
type Rule func(r *http.Request) Effect

// A Proxy on loopback. Use Start.
type Proxy struct {
	traps  *trap.Passage
	server *httptest.Server
	pass   *httputil.ReverseProxy

	mu      sync.Mutex
	rule    Rule
	hit     int
	watches map[int]context.CancelFunc
	next    int
	stalled chan struct{}
}

// Start a proxy for the API server of a configuration. Writes of its clients pass the traps. It ends with the test.
func Start(tb testing.TB, cfg *rest.Config, traps *trap.Passage) *Proxy {
	tb.Helper()

	to, err := url.Parse(cfg.Host)
	needs.OK(tb, err)

	// Clients send their own credentials.
	transport, err := rest.TransportFor(
		&rest.Config{Host: cfg.Host, TLSClientConfig: rest.TLSClientConfig{CAData: cfg.CAData}})
	needs.OK(tb, err)

	p := &Proxy{traps: traps, watches: map[int]context.CancelFunc{}}
	p.pass = &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport:      transport,
		FlushInterval:  -1,
		ModifyResponse: p.answered,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:       log.New(io.Discard, "", 0),
	}
	p.server = httptest.NewUnstartedServer(http.HandlerFunc(p.serve))
	p.server.EnableHTTP2 = true
	p.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	p.server.StartTLS()
	tb.Cleanup(func() {
		p.Stall(false)
		p.CutWatches()
		_ = p.server.Config.Close()
		p.server.Close()
	})

	return p
}

// URL of the proxy.
func (p *Proxy) URL() string { return p.server.URL }

// CA of the proxy's certificate, as PEM.
func (p *Proxy) CA() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
}

// Set the rule; nil for no effects. The result is the number of requests that the rule before had an effect on.
func (p *Proxy) Set(w Rule) int {
	p.mu.Lock()
	defer p.mu.Unlock()

	hit := p.hit
	p.rule, p.hit = w, 0

	return hit
}

// CutWatches ends all watches and followed logs, and returns their number.
func (p *Proxy) CutWatches() int {
	p.mu.Lock()
	defer p.mu.Unlock()

	for _, cut := range p.watches {
		cut()
	}

	return len(p.watches)
}

// Stall holds watches, so that caches become stale, or releases them.
func (p *Proxy) Stall(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()

	switch {
	case on && p.stalled == nil:
		p.stalled = make(chan struct{})
	case !on && p.stalled != nil:
		close(p.stalled)
		p.stalled = nil
	}
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	if isWatch(r) {
		ctx, done := p.watch(r.Context())
		defer done()

		r = r.WithContext(ctx)
	}

	e := p.effect(r)

	if e.Delay > 0 {
		select {
		case <-time.After(e.Delay):
		case <-r.Context().Done():
		}
	}

	if e.Cut {
		panic(http.ErrAbortHandler)
	}

	if e.Status != 0 {
		refuse(w, e.Status)

		return
	}

	if ev, ok := p.event(r); ok {
		p.traps.Pass(r.Context(), ev)
	}

	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler)
	}

	if e.Lose {
		p.pass.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}

	p.pass.ServeHTTP(w, r)
}

func (p *Proxy) effect(r *http.Request) Effect {
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.rule == nil {
		return Effect{}
	}

	e := p.rule(r)
	if e != (Effect{}) {
		p.hit++
	}

	return e
}

// watch registers a watch in progress, until it is done.
func (p *Proxy) watch(ctx context.Context) (context.Context, func()) {
	ctx, cut := context.WithCancel(ctx)

	p.mu.Lock()
	defer p.mu.Unlock()

	id := p.next
	p.next++
	p.watches[id] = cut

	return ctx, func() {
		cut()

		p.mu.Lock()
		defer p.mu.Unlock()

		delete(p.watches, id)
	}
}

// answered wraps the answer to a watch, so that it can be stalled.
func (p *Proxy) answered(r *http.Response) error {
	if isWatch(r.Request) {
		r.Body = &stalling{ReadCloser: r.Body, proxy: p, ctx: r.Request.Context()}
	}

	return nil
}

type stalling struct {
	io.ReadCloser

	proxy *Proxy
	ctx   context.Context //nolint:containedctx // The context of the request.
}

func (s *stalling) Read(b []byte) (int, error) {
	n, err := s.ReadCloser.Read(b)

	s.proxy.mu.Lock()
	stalled := s.proxy.stalled
	s.proxy.mu.Unlock()

	if stalled == nil {
		return n, err
	}

	select {
	case <-stalled:
	case <-s.ctx.Done():
	}

	return n, err
}

// isWatch is true for requests that watch, or follow a log.
func isWatch(r *http.Request) bool {
	return r.Method == http.MethodGet && (r.URL.Query().Get("watch") != "" || r.URL.Query().Get("follow") != "")
}

// Writes is true for requests that change an AnsibleRun or its status.
func Writes(r *http.Request) bool {
	return strings.Contains(r.URL.Path, "/ansibleruns/") && (r.Method == http.MethodPut || r.Method == http.MethodPatch)
}

// event of a request.
func (p *Proxy) event(r *http.Request) (trap.Event, bool) {
	if r.Method != http.MethodPut || !Writes(r) {
		return trap.Event{}, false
	}

	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}

	r.Body = io.NopCloser(bytes.NewReader(body))

	// The fields that are read here are the same in both groups.
	o := &v1alpha1.AnsibleRun{}
	if err := json.Unmarshal(body, o); err != nil {
		return trap.Event{}, false
	}

	e := trap.Event{UID: string(o.UID)}
	if run := o.Status.AtProvider.LastRun; run != nil {
		e.RunID, e.Mode, e.State, e.Phase = run.ID, string(run.Mode), string(run.State), string(run.Phase)
	}

	switch {
	case strings.HasSuffix(r.URL.Path, "/status"):
		e.Kind = trap.StatusWritten
	case o.DeletionTimestamp != nil && len(o.Finalizers) == 0:
		e.Kind = trap.FinalizerRemoved
	default:
		return trap.Event{}, false
	}

	return e, true
}

// refuse a request as an API server does.
func refuse(w http.ResponseWriter, code int) {
	if code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}

	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)

	none := schema.GroupResource{}
	status := kerrors.NewGenericServerResponse(code, "", none, "", "injected by the test", 0, true).Status()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}

	if text, err := json.Marshal(status); err == nil {
		_, _ = w.Write(text)
	}
}
