// Package kubeapi gives runs access to the API server of the provider's own cluster, with the rights of a
// ServiceAccount.
//
// Each run has a proxy on a loopback address while it lasts. The proxy authenticates to the API server with a token of
// the ServiceAccount, which the provider requests and renews, and which the run does not see. The run gets a kubeconfig
// for the proxy with a secret that only this proxy accepts. All runs share the loopback device and a user: the proxy
// refuses requests without the secret.
package kubeapi

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/oauth2"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/rights"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

// CheckRights returns a rights.Error if the provider may not request tokens of a ServiceAccount.
func CheckRights(ctx context.Context, kube client.Client, namespace, account string) error {
	role := rights.Role{Name: "provider-ansible-tokens", File: "examples/operations/tokens.yaml"}

	return rights.Check(ctx, kube, namespace, role, []authorizationv1.ResourceAttributes{
		{Resource: "serviceaccounts", Subresource: "token", Verb: "create", Name: account},
	})
}

// API gives runs access to the API server. New and InPod make one.
type API struct {
	// Endpoint for the Pods of runs; empty in such a Pod.
	Endpoint Endpoint

	// kube requests tokens; nil in the Pod of a run.
	kube client.Client
	// tokens returns the tokens of a ServiceAccount.
	tokens func(k inputs.Kubernetes) oauth2.TokenSource
	target *url.URL
	// transport sends requests.
	transport http.RoundTripper
	// anonymous is the configuration of a client without credentials.
	anonymous *rest.Config

	mu sync.Mutex
	// accounts has a metadata.Interface for each ServiceAccount, for watches that outlive a run.
	accounts *lru.Cache
}

// maxAccounts is the number of clients that are kept. Tenants choose the names of their accounts, so that it must be
// bounded.
const maxAccounts = 1000

var _ runner.Cluster = &API{}

// New returns an API for the API server of cfg. The credentials in cfg are the provider's; runs do not use them. kube
// has the same credentials, and requests tokens.
func New(cfg *rest.Config, kube client.Client) (*API, error) {
	a, err := newAPI(cfg)
	if err != nil {
		return nil, err
	}

	authority := rest.AnonymousClientConfig(cfg)
	if err := rest.LoadTLSFiles(authority); err != nil {
		return nil, errors.Wrap(err, "cannot read the CA certificate of the API server")
	}

	a.kube, a.Endpoint = kube, Endpoint{Server: authority.Host, Authority: authority.CAData}
	a.tokens = func(k inputs.Kubernetes) oauth2.TokenSource {
		return newSource(func() (authenticationv1.TokenRequestStatus, error) {
			return a.Token(context.Background(), k, lifetime, nil)
		})
	}

	return a, nil
}

// newAPI returns an API for the API server of cfg, without tokens.
func newAPI(cfg *rest.Config) (*API, error) {
	target, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, errors.Wrap(err, "cannot determine the URL of the API server")
	}

	anonymous := rest.AnonymousClientConfig(cfg)
	a := &API{target: target, anonymous: rest.CopyConfig(anonymous), accounts: lru.New(maxAccounts)}

	anonymous.DisableCompression = true // Answers pass unchanged.

	// A connection with HTTP/2 cannot be upgraded, and its client buffers megabytes of each answer that a run does not
	// read.
	anonymous.NextProtos = []string{"http/1.1"}

	if a.transport, err = rest.TransportFor(anonymous); err != nil {
		return nil, errors.Wrap(err, "cannot make a client for the API server")
	}

	return a, nil
}

// Open starts a proxy for a run. The error is a rights.Error if there is no token.
func (a *API) Open(run runner.Spec, secret string, rec *events.Recorder) (runner.Access, error) {
	t := a.tokens(*run.Inputs.Kubernetes)
	if _, err := t.Token(); err != nil {
		return nil, err
	}

	p, err := a.listen(run, secret, rec, t)
	if err != nil {
		return nil, errors.Wrap(err, "cannot start the run's proxy to the API server")
	}

	return p, nil
}

// Metadata returns a client that gets and watches metadata with the rights of a ServiceAccount.
func (a *API) Metadata(k inputs.Kubernetes) (metadata.Interface, error) {
	a.mu.Lock()
	defer a.mu.Unlock()

	key := types.NamespacedName{Namespace: k.Namespace, Name: k.ServiceAccount}

	if c, known := a.accounts.Get(key); known {
		return c.(metadata.Interface), nil //nolint:forcetypeassert // The cache has no other values.
	}

	c, err := metadata.NewForConfig(a.config(a.tokens(k)))
	if err == nil {
		a.accounts.Add(key, c)
	}

	return c, errors.Wrap(err, "cannot make a client for metadata")
}

// config returns the configuration of clients with the tokens of a ServiceAccount.
func (a *API) config(t oauth2.TokenSource) *rest.Config {
	cfg := rest.CopyConfig(a.anonymous)
	cfg.QPS = -1 // The API server limits the rate.
	cfg.WarningHandler = rest.NoWarnings{}
	cfg.WrapTransport = transport.TokenSourceWrapTransport(t)

	return cfg
}

// Token requests a token of a ServiceAccount. Its lifetime is at least ten minutes; the API server may shorten a longer
// one. If bound is set, the token becomes invalid when that Secret, in the namespace of the ServiceAccount, is deleted.
// The error is a rights.Error if the request is refused.
func (a *API) Token(ctx context.Context, k inputs.Kubernetes, lasts time.Duration,
	bound *corev1.Secret,
) (authenticationv1.TokenRequestStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()

	r := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(max(lasts, lifetime).Seconds()))},
	}
	if bound != nil {
		r.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{
			APIVersion: "v1", Kind: "Secret", Name: bound.Name,
			UID: bound.UID,
		}
	}

	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.ServiceAccount}}

	err := a.kube.SubResource("token").Create(ctx, sa, r)
	err = errors.Wrapf(err, "cannot get a token of ServiceAccount %q in namespace %q", k.ServiceAccount, k.Namespace)
	err = rights.Explained(err, func() error { return CheckRights(ctx, a.kube, k.Namespace, k.ServiceAccount) })

	if kerrors.IsNotFound(err) || kerrors.IsForbidden(err) || kerrors.IsInvalid(err) {
		err = rights.Lacking(err)
	}

	return r.Status, err
}
