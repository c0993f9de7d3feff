package kubeapi

import (
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestInPod has the run of a Pod reach the API server with the token in its file.
func TestInPod(t *testing.T) {
	var got []string

	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"major":"1"}`))
	}))
	t.Cleanup(server.Close)

	host, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	t.Setenv("KUBERNETES_SERVICE_HOST", host)
	t.Setenv("KUBERNETES_SERVICE_PORT", port)

	dir := t.TempDir()
	ca := filepath.Join(dir, "ca.crt")
	token := filepath.Join(dir, "token")

	write := func(file string, data []byte) {
		needs.OK(t, os.WriteFile(file, data, 0o600))
	}
	write(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))

	provider, err := New(&rest.Config{Host: "https://192.0.2.1", BearerToken: "token-of-the-provider", TLSClientConfig: rest.TLSClientConfig{CAFile: ca}}, nil)
	needs.OK(t, err)

	a, err := InPod(provider.Endpoint, token)
	needs.OK(t, err)

	if _, err := a.Open(t.Context(), spec()); err == nil || !strings.Contains(err.Error(), "failed to read token file") {
		t.Errorf("Without a token there is no way: %v", err)
	}

	write(token, []byte(tokenOfAccount+"\n"))

	opened, err := a.Open(t.Context(), spec())
	needs.OK(t, err)
	defer opened.Close()

	way, err := clientcmd.RESTConfigFromKubeConfig(opened.Kubeconfig())
	needs.OK(t, err)

	kube, err := kubernetes.NewForConfig(way)
	needs.OK(t, err)

	if _, err := kube.Discovery().ServerVersion(); err != nil {
		t.Fatal(err)
	}

	if len(got) != 1 || got[0] != "Bearer "+tokenOfAccount {
		t.Errorf("want the token of the account, got %q", got)
	}
}
