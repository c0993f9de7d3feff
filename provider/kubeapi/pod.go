package kubeapi

import (
	"net"
	"os"

	"golang.org/x/oauth2"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// An Endpoint is what the Pod of a run has to know of the API server.
type Endpoint struct {
	// Server is its address as a URL, for Pods that Kubernetes gives none.
	Server string
	// Authority of its certificate, in PEM; empty for those of the system.
	Authority []byte
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

	a.tokens = func(inputs.Kubernetes) oauth2.TokenSource {
		return transport.NewCachedFileTokenSource(token)
	}

	return a, nil
}
