package kubeapi

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/sync/semaphore"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/dependents"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

const (
	// headerTimeout is how long a request may take to say what it is about.
	headerTimeout = 10 * time.Second
	// maxConnections of a run to its proxy at a time. Each has one request at a time.
	maxConnections = 256
)

// A proxy passes the requests of one run on to the API server, with the rights of a ServiceAccount.
type proxy struct {
	tokens *tokens
	// secret that the run has to show.
	secret     string
	kubeconfig []byte
	server     *http.Server
	stop       context.CancelFunc

	marker *marker
	// status of the XR of the run.
	status atomic.Pointer[runner.Status]
	// kindOf the resource of a target; empty if that is not known.
	kindOf func(ctx context.Context, t target) string
	// survey the dependents of the run.
	survey func(ctx context.Context, kinds []common.DependentKind) []common.DependentKind
}

var _ runner.Access = &proxy{}

// listen for the requests of a run.
func (a *API) listen(run runner.Spec, t *tokens) (*proxy, error) {
	cert, pem, err := certificate(a.now())
	if err != nil {
		return nil, err
	}

	c, err := a.metadata(t)
	if err != nil {
		return nil, err
	}

	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // It waits for nothing.
	if err != nil {
		return nil, err
	}

	k := run.Inputs.Kubernetes
	p := &proxy{tokens: t, secret: rand.Text() + rand.Text(), kindOf: a.kindOf, marker: &marker{
		object: run.Object, owns: k.OwnerReferences, labels: k.WatchDependents, get: a.metadataOf,
		requests: semaphore.NewWeighted(maxMemory), answers: semaphore.NewWeighted(maxMemory),
		deleted: map[target]struct{}{},
	}}

	for _, known := range run.Dependents {
		p.marker.add(known)
	}

	p.survey = func(ctx context.Context, kinds []common.DependentKind) []common.DependentKind {
		return dependents.Survey(ctx, c,
			dependents.Run{UID: run.Object.UID, Watched: k.Watches, Deleted: p.marker.hasDeleted}, kinds)
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
		Handler:           p.admit(p.takeStatus(run, p.marker.mark(a.forward(p)))),
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

// Secret in the kubeconfig.
func (p *proxy) Secret() []byte { return []byte(p.secret) }

// Dependents of the run and of earlier ones; nil if they are not watched.
func (p *proxy) Dependents(ctx context.Context) []common.DependentKind {
	if !p.marker.labels {
		return nil
	}

	return p.survey(ctx, p.marker.known())
}

// Kinds of the dependents so far; nil if they are not watched.
func (p *proxy) Kinds() []common.DependentKind {
	if !p.marker.labels {
		return nil
	}

	kinds := p.marker.known()

	return kinds[:min(len(kinds), dependents.MaxKinds)]
}

// Close the proxy with all connections.
func (p *proxy) Close() {
	p.stop()
	_ = p.server.Close()
}

// tokenKey is the key of the token in the context of a request.
type tokenKey struct{}

// admit requests of the run, and no others. They are passed on with a token.
func (p *proxy) admit(next http.Handler) http.Handler {
	want := []byte("Bearer " + p.secret)

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			w.Header().Set("Connection", "close")
			refuse(w, http.StatusUnauthorized, metav1.StatusReasonUnauthorized,
				"this is the way of a run to the API server, and only that run may use it")

			return
		}

		if r.Method == http.MethodConnect {
			refuse(w, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
				"nothing but the API server can be reached here")
			return
		}

		token, err := p.tokens.token(r.Context())
		if err != nil {
			refuse(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, err.Error())
			return
		}

		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), tokenKey{}, token)))
	})
}

// forward requests to the API server as they are, but with a token in the place of the secret.
// A request may impersonate a user only if the ServiceAccount has the right to.
func (a *API) forward(p *proxy) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			token, _ := r.In.Context().Value(tokenKey{}).(string)

			r.SetURL(a.target)
			r.Out.Header.Set("Authorization", "Bearer "+token)
		},
		Transport: a.transport,
		ModifyResponse: func(rsp *http.Response) error {
			if err := p.showStatus(rsp); err != nil {
				return err
			}

			return p.marker.learn(rsp)
		},
		FlushInterval: -1, // Watches.
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			refuse(w, http.StatusBadGateway, metav1.StatusReasonServiceUnavailable, "cannot reach the API server: "+err.Error())
		},
	}
}

// metadataOf the object that a request is about; nil if it is not there.
func (a *API) metadataOf(r *http.Request) (*metav1.PartialObjectMetadata, error) {
	o := &metav1.PartialObjectMetadata{}

	found, err := a.read(r.Context(), r.URL.EscapedPath(), "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
		o)
	if err != nil || !found {
		return nil, err
	}

	return o, nil
}

// kindOf the resource of a target; empty if that cannot be told.
func (a *API) kindOf(ctx context.Context, t target) string {
	list := &metav1.APIResourceList{}
	if _, err := a.read(ctx, "/apis/"+t.apiVersion(), typeJSON, list); err != nil {
		return ""
	}

	for _, r := range list.APIResources {
		if r.Name == t.resource {
			return r.Kind
		}
	}

	return ""
}

// read what the API server has at a path, with the token in the context. It is false if nothing is there.
func (a *API) read(ctx context.Context, path, accept string, into any) (bool, error) {
	token, _ := ctx.Value(tokenKey{}).(string)

	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.target.JoinPath(path).String(), nil) //nolint:gosec // Of the API server, whatever the path.
	if err != nil {
		return false, err
	}

	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", accept)

	rsp, err := a.transport.RoundTrip(req)
	if err != nil {
		return false, err
	}
	defer rsp.Body.Close() //nolint:errcheck // It is only read.

	if rsp.StatusCode == http.StatusNotFound {
		return false, nil
	}

	if err := json.NewDecoder(io.LimitReader(rsp.Body, maxBody)).Decode(into); err != nil {
		return false, err
	}

	if rsp.StatusCode != http.StatusOK {
		return false, errors.Errorf("the API server answers %s", rsp.Status)
	}

	return true, nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (fn roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return fn(r) }

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
