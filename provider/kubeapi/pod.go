package kubeapi

import (
	"net"
	"os"

	"golang.org/x/oauth2"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// An Endpoint says how the Pod of a run reaches the API server.
type Endpoint struct {
	// Server is the URL of the API server, for Pods without KUBERNETES_SERVICE_HOST.
	Server string
	// Authority has the certificates of trusted authorities, in PEM; empty for those of the system.
	Authority []byte
}

// InPod returns an API for the run of this process's own Pod. It reads the token from a file, which the provider
// renews. The address in the Pod's environment wins over that of the Endpoint.
func InPod(e Endpoint, token string) (*API, error) {
	if host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"); host != "" && port != "" {
		e.Server = "https://" + net.JoinHostPort(host, port)
	}

	a, err := newAPI(&rest.Config{Host: e.Server, TLSClientConfig: rest.TLSClientConfig{CAData: e.Authority}})
	if err != nil {
		return nil, err
	}

	a.tokens = func(inputs.Kubernetes) oauth2.TokenSource {
		return transport.NewCachedFileTokenSource(token)
	}

	return a, nil
}
