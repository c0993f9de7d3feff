package kubeapi

import (
	"bytes"
	"context"
	"crypto/subtle"
	"crypto/tls"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/oauth2"
	"golang.org/x/sync/semaphore"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/transport"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/dependents"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

const (
	// headerTimeout is the time in which a client must send the header of a request.
	headerTimeout = 10 * time.Second
	// maxConnections of a run to its proxy at a time. Each has one request at a time.
	maxConnections = 256
)

// A proxy forwards the requests of one run to the API server, with the rights of a ServiceAccount. It adds marks to
// objects that the run writes: to those that it creates an owner reference, or annotations where Kubernetes does not
// allow that owner, and to all of them a label. It takes writes of the status of the run's XR as reports, and shows
// them in the XR.
type proxy struct {
	run runner.Spec
	k   inputs.Kubernetes
	// rec gets the reported status of the XR, and the kinds of objects that the run writes.
	rec *events.Recorder
	// secret with which the run authenticates to the proxy.
	secret     string
	kubeconfig []byte
	server     *http.Server
	stop       context.CancelFunc
	// kube reads metadata with the rights of the ServiceAccount.
	kube metadata.Interface
	// resources discovers the resources of the API server.
	resources *discovery.DiscoveryClient
	// reading is held by requests with bodies in memory.
	reading *semaphore.Weighted
	// decoding serializes decoding, which takes memory.
	decoding sync.Mutex

	mu    sync.Mutex
	kinds []common.DependentKind
	// deleted has objects without the versions of their kinds. A target without a name stands for all objects of a kind in
	// a namespace.
	deleted map[target]struct{}
}

var _ runner.Access = &proxy{}

// listen starts the proxy of a run.
func (a *API) listen(run runner.Spec, secret string, rec *events.Recorder, t oauth2.TokenSource) (*proxy, error) {
	p := &proxy{
		run: run, k: *run.Inputs.Kubernetes, rec: rec, secret: secret, reading: semaphore.NewWeighted(maxRead),
		deleted: map[target]struct{}{},
	}

	p.add(run.Dependents...)

	var err error
	if p.kube, err = metadata.NewForConfig(a.config(t)); err != nil {
		return nil, err
	}

	if p.resources, err = discovery.NewDiscoveryClientForConfig(a.config(t)); err != nil {
		return nil, err
	}

	cert, pem, err := certificate(time.Now())
	if err != nil {
		return nil, err
	}

	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // It waits for nothing.
	if err != nil {
		return nil, err
	}

	p.kubeconfig, err = kubeconfig(run, "https://"+l.Addr().String(), pem, p.secret)
	if err != nil {
		_ = l.Close()
		return nil, err
	}

	// The context ends upgraded connections, which the server does not track.
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	p.server = &http.Server{
		Handler:           p.admit(p.change(p.forward(a.target, transport.TokenSourceWrapTransport(t)(a.transport)))),
		ReadHeaderTimeout: headerTimeout,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
		// With HTTP/1 each connection has one request at a time, and the number of connections is bounded.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		ErrorLog:     log.New(io.Discard, "", 0), // Any process of the machine can cause such errors.
	}

	go func() { _ = p.server.ServeTLS(netutil.LimitListener(l, maxConnections), "", "") }() // Close ends it.

	return p, nil
}

// Kubeconfig returns the kubeconfig for the proxy.
func (p *proxy) Kubeconfig() []byte { return p.kubeconfig }

// Dependents returns the kinds of objects that this run and earlier runs have made; nil if they are not watched.
func (p *proxy) Dependents(ctx context.Context) []common.DependentKind {
	if !p.k.WatchDependents {
		return nil
	}

	run := dependents.Run{
		UID: p.run.Object.UID, Watched: p.k.Watches, Deleted: p.hasDeleted,
	}

	return dependents.Survey(ctx, p.kube, run, p.known())
}

// Close ends the proxy and all connections.
func (p *proxy) Close() {
	p.stop()
	_ = p.server.Close()
}

// admit refuses requests without the secret of the run.
func (p *proxy) admit(next http.Handler) http.Handler {
	want := []byte("Bearer " + p.secret)

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1:
			w.Header().Set("Connection", "close")
			refuse(w, http.StatusUnauthorized, metav1.StatusReasonUnauthorized,
				"this is a run's proxy to the API server: only that run may use it")
		case r.Method == http.MethodConnect:
			refuse(w, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
				"this proxy reaches only the API server")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// targetKey is the key of the target in the context of a request about objects.
type targetKey struct{}

// change adds marks to objects that requests write, and takes writes of the status of the XR. Other requests pass
// unchanged.
func (p *proxy) change(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t, ok := targetOf(r)
		if !ok {
			next.ServeHTTP(w, r)
			return
		}

		r = r.WithContext(context.WithValue(r.Context(), targetKey{}, t))
		way, xr := wayOf(r), isXR(p.run.Object, t)
		readsXR := xr && r.Method == http.MethodGet
		writesStatus := xr && t.subresource == "status" && (way == wayReplace || way == wayMerge)
		marked := way != "" && t.markable() && (p.k.OwnerReferences || p.k.WatchDependents)

		if !readsXR && !writesStatus && !marked {
			next.ServeHTTP(w, r)
			return
		}

		if p.reading.Acquire(r.Context(), 1) != nil {
			return
		}
		defer p.reading.Release(1)

		if readsXR {
			r.Header.Del("Accept-Encoding") // showStatus decodes the answer.
			next.ServeHTTP(w, r)

			return
		}

		body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))

		switch {
		case err != nil:
			refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, "cannot read the object: "+err.Error())
			return
		case len(body) > maxBody:
			refuse(w, http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge,
				"the object is longer than the API server accepts")
			return
		case writesStatus && p.takeStatus(w, r, body):
			return
		case marked:
			body, err = p.withMarks(r, way, t, body)
		}

		if err != nil {
			refuse(w, http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
				"the provider adds marks to objects of this run: "+err.Error())
			return
		}

		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		next.ServeHTTP(w, r)
	})
}

// forward sends requests to the API server with a token in place of the secret. A request may impersonate a user only
// if the ServiceAccount has the right to.
func (p *proxy) forward(to *url.URL, transport http.RoundTripper) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Header.Del("Authorization")
		},
		Transport: transport,
		ModifyResponse: func(rsp *http.Response) error {
			p.recordWrites(rsp)

			return p.showStatus(rsp)
		},
		ErrorLog: log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			refuse(w, http.StatusBadGateway, metav1.StatusReasonServiceUnavailable, "cannot reach the API server: "+err.Error())
		},
	}
}

// kindOf returns the kind of a target's resource; empty if that is unknown.
func (p *proxy) kindOf(ctx context.Context, t target) string {
	list, err := p.resources.ServerResourcesForGroupVersionWithContext(ctx, t.apiVersion())
	if err != nil {
		return ""
	}

	for _, r := range list.APIResources {
		if r.Name == t.resource {
			return r.Kind
		}
	}

	return ""
}

// refuse answers a request with a Status, as the API server does.
func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	text, _ := json.Marshal(metav1.Status{ //nolint:errchkjson // It has no values that JSON does not have.
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Reason: reason, Message: message, Code: int32(code), //nolint:gosec // A status of HTTP.
	})

	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)

	_, _ = w.Write(text)
}
