package kubeapi

import (
	"context"
	"net"
	"os"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// reread is how long a token is used that was read from a file. Another one may be there then.
const reread = time.Minute

// An Endpoint is what the Pod of a run has to know of the API server.
type Endpoint struct {
	// Server is its address as a URL, for Pods that Kubernetes gives none.
	Server string
	// Authority of its certificate, in PEM; empty for those of the system.
	Authority []byte
}

// EndpointOf the API server that a configuration names.
func EndpointOf(cfg *rest.Config) (Endpoint, error) {
	cfg = rest.AnonymousClientConfig(cfg)
	if err := rest.LoadTLSFiles(cfg); err != nil {
		return Endpoint{}, errors.Wrap(err, "cannot read the authority of the API server")
	}

	return Endpoint{Server: cfg.Host, Authority: cfg.CAData}, nil
}

// InPod returns how the run of this process's own Pod reaches the API server: with the token in a file, which
// the provider renews. The API server is where Kubernetes tells each Pod that it is.
func InPod(e Endpoint, token string) (*API, error) {
	if host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"); host != "" && port != "" {
		e.Server = "https://" + net.JoinHostPort(host, port)
	}

	a, err := to(&rest.Config{Host: e.Server, TLSClientConfig: rest.TLSClientConfig{CAData: e.Authority}})
	if err != nil {
		return nil, err
	}

	a.request = func(context.Context, inputs.Kubernetes) (s authenticationv1.TokenRequestStatus, err error) {
		text, err := os.ReadFile(token)
		s.Token, s.ExpirationTimestamp = strings.TrimSpace(string(text)), metav1.NewTime(a.now().Add(reread))

		if err == nil && s.Token == "" {
			err = errors.New("it is empty")
		}

		return s, errors.Wrap(err, "cannot read the token of the run")
	}

	return a, nil
}
