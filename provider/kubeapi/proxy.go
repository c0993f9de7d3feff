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
	// headerTimeout is how long a request may take to say what it is about.
	headerTimeout = 10 * time.Second
	// maxConnections of a run to its proxy at a time. Each has one request at a time.
	maxConnections = 256
)

// A proxy passes the requests of one run on to the API server, with the rights of a ServiceAccount. It marks what the
// run writes: what that creates by an owner reference, or by annotations where Kubernetes allows none, and all of it by
// a label. It takes the status of the XR of the run as a report, and shows it.
type proxy struct {
	run runner.Spec
	k   inputs.Kubernetes
	// rec has what the run sets of the status of its XR, and what it makes.
	rec *events.Recorder
	// secret that the run has to show.
	secret     string
	kubeconfig []byte
	server     *http.Server
	stop       context.CancelFunc
	// kube reads metadata with the rights of the account.
	kube metadata.Interface
	// resources that there are, as the API server tells the account.
	resources *discovery.DiscoveryClient
	// reading is held by requests of which bodies are read.
	reading *semaphore.Weighted
	// decoding is locked while something is decoded: one request at a time.
	decoding sync.Mutex

	mu    sync.Mutex
	kinds []common.DependentKind
	// deleted objects, without the versions of their kinds; those without a name are all of a kind in a namespace.
	deleted map[target]struct{}
}

var _ runner.Access = &proxy{}

// listen for the requests of a run.
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

	// Connections that were upgraded end with it; the server does not know them any more.
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	p.server = &http.Server{
		Handler:           p.admit(p.change(p.forward(a.target, transport.TokenSourceWrapTransport(t)(a.transport)))),
		ReadHeaderTimeout: headerTimeout,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
		// With HTTP/1 each connection has one request, and their number is bounded.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		ErrorLog:     log.New(io.Discard, "", 0), // Errors of other clients are not logged.
	}

	go func() { _ = p.server.ServeTLS(netutil.LimitListener(l, maxConnections), "", "") }() // It ends with Close.

	return p, nil
}

// Kubeconfig for the proxy.
func (p *proxy) Kubeconfig() []byte { return p.kubeconfig }

// Dependents of the run and of earlier ones; nil if they are not watched.
func (p *proxy) Dependents(ctx context.Context) []common.DependentKind {
	if !p.k.WatchDependents {
		return nil
	}

	run := dependents.Run{
		UID: p.run.Object.UID, Watched: p.k.Watches, Deleted: p.hasDeleted,
	}

	return dependents.Survey(ctx, p.kube, run, p.known())
}

// Close the proxy with all connections.
func (p *proxy) Close() {
	p.stop()
	_ = p.server.Close()
}

// admit requests of the run, and no others.
func (p *proxy) admit(next http.Handler) http.Handler {
	want := []byte("Bearer " + p.secret)

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1:
			w.Header().Set("Connection", "close")
			refuse(w, http.StatusUnauthorized, metav1.StatusReasonUnauthorized,
				"this is the way of a run to the API server, and only that run may use it")
		case r.Method == http.MethodConnect:
			refuse(w, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
				"nothing but the API server can be reached here")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// targetKey is the key of the target in the context of a request that has one.
type targetKey struct{}

// change what requests write that get marks, and take the status of the XR of the run. All others pass as they are.
func (p *proxy) change(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t, ok := targetOf(r)
		if !ok {
			next.ServeHTTP(w, r)
			return
		}

		r = r.WithContext(context.WithValue(r.Context(), targetKey{}, t))
		way, xr := wayOf(r), isXR(p.run.Object, t)
		shows := xr && r.Method == http.MethodGet
		takes := xr && t.subresource == "status" && (way == wayReplace || way == wayMerge)
		marked := way != "" && t.markable() && (p.k.OwnerReferences || p.k.WatchDependents)

		if !shows && !takes && !marked {
			next.ServeHTTP(w, r)
			return
		}

		if p.reading.Acquire(r.Context(), 1) != nil {
			return
		}
		defer p.reading.Release(1)

		if shows {
			r.Header.Del("Accept-Encoding") // The answer is read.
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
				"the object is longer than the API server takes")
			return
		case takes && p.takeStatus(w, r, body):
			return
		case marked:
			body, err = p.marked(r, way, t, body)
		}

		if err != nil {
			refuse(w, http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
				"objects of this run get marks, for which "+err.Error())
			return
		}

		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		next.ServeHTTP(w, r)
	})
}

// forward requests to the API server as they are, but with a token in the place of the secret.
// A request may impersonate a user only if the ServiceAccount has the right to.
func (p *proxy) forward(to *url.URL, transport http.RoundTripper) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Header.Del("Authorization")
		},
		Transport: transport,
		ModifyResponse: func(rsp *http.Response) error {
			p.learn(rsp)

			return p.showStatus(rsp)
		},
		ErrorLog: log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			refuse(w, http.StatusBadGateway, metav1.StatusReasonServiceUnavailable, "cannot reach the API server: "+err.Error())
		},
	}
}

// kindOf the resource of a target; empty if that cannot be told.
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

// refuse a request as the API server does.
func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	text, _ := json.Marshal(metav1.Status{ //nolint:errchkjson // It has no values that JSON does not have.
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Reason: reason, Message: message, Code: int32(code), //nolint:gosec // A status of HTTP.
	})

	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)

	_, _ = w.Write(text)
}
