package controlplane

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/test/certs"
)

// Files that kube-apiserver and its clients share.
const (
	dirKubernetes  = "kubernetes"
	fileTokens     = "tokens.csv"
	fileKubeconfig = "kubeconfig"
)

// Etcd keeps the objects. It does without fsync: they are not needed after a power failure.
func (s *Stack) Etcd(context.Context) (*Piece, error) {
	url, peer := "http://"+loopback(s.ports[nameEtcd]), "http://"+loopback(s.ports[portEtcdPeer])
	return s.piece(nameEtcd, serves(url+"/health"), nil,
		"--name=default",
		"--data-dir="+s.path(nameEtcd),
		"--unsafe-no-fsync",
		"--listen-client-urls="+url,
		"--advertise-client-urls="+url,
		"--listen-peer-urls="+peer,
		"--initial-advertise-peer-urls="+peer,
		"--initial-cluster=default="+peer,
		"--logger=zap",
		"--log-level=warn",
	), nil
}

// APIServer with RBAC, and a token for its administrator.
func (s *Stack) APIServer(context.Context) (*Piece, error) {
	ready := func(ctx context.Context) error {
		cfg, err := s.Config()
		if err != nil {
			return err
		}
		c, err := rest.HTTPClientFor(cfg)
		if err != nil {
			return errors.Wrap(err, "cannot make HTTP client")
		}
		_, err = get(ctx, c, cfg.Host+"/readyz")
		return err
	}
	dir := s.path(dirKubernetes)
	return s.piece(nameAPIServer, ready, nil,
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", s.ports[nameAPIServer]),
		"--tls-cert-file="+filepath.Join(dir, fileCert),
		"--tls-private-key-file="+filepath.Join(dir, fileKey),
		"--cert-dir="+dir,
		"--etcd-servers=http://"+loopback(s.ports[nameEtcd]),
		"--authorization-mode=RBAC",
		"--token-auth-file="+filepath.Join(dir, fileTokens),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+filepath.Join(dir, fileKey),
		"--service-account-signing-key-file="+filepath.Join(dir, fileKey),
		"--service-cluster-ip-range="+s.services().String(),
		// For the node, if there is one.
		"--kubelet-client-certificate="+filepath.Join(dir, fileCert),
		"--kubelet-client-key="+filepath.Join(dir, fileKey),
		"--kubelet-preferred-address-types=InternalIP",
		// No client reaches it through a Service, and without these it looks for an address of this machine that
		// others can reach.
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
	), nil
}

// controllerManager with the two controllers without which nothing that is
// deleted ever goes away, and those without which a node is of no use.
func (s *Stack) controllerManager(context.Context) (*Piece, error) {
	controllers := "garbage-collector-controller,namespace-controller"
	if s.opts.Node {
		controllers += ",deployment-controller,replicaset-controller,job-controller,ttl-after-finished-controller" +
			",pod-garbage-collector-controller" +
			",node-lifecycle-controller,taint-eviction-controller,serviceaccount-controller" +
			",root-ca-certificate-publisher-controller" +
			",endpoints-controller,endpointslice-controller,resourcequota-controller,persistentvolume-binder-controller" +
			",persistentvolumeclaim-protection-controller,persistentvolume-protection-controller"
	}
	return s.piece(nameControllerManager, func(context.Context) error { return nil }, nil,
		"--controllers="+controllers,
		"--kube-api-qps=1000", // Its default is for clusters that have much else to do.
		"--kube-api-burst=2000",
		"--concurrent-job-syncs=25",
		"--root-ca-file="+s.path(dirKubernetes, fileCA),
		"--kubeconfig="+s.path(dirKubernetes, fileKubeconfig),
		"--leader-elect=false",
		"--secure-port=0",
	), nil
}

// credentials of kube-apiserver and its administrator. Those that are there are
// kept.
func (s *Stack) credentials() error {
	dir := s.path(dirKubernetes)
	if _, err := os.Stat(filepath.Join(dir, fileKubeconfig)); err == nil {
		return nil
	}
	ca, err := certs.New("kubernetes")
	if err != nil {
		return err
	}
	if err := issue(ca, dir, nameAPIServer, net.ParseIP(s.Address())); err != nil {
		return err
	}
	token := rand.Text()
	kubeconfig, err := s.kubeconfig(ca.PEM, "admin", token)
	if err != nil {
		return err
	}
	err = writeFiles(dir, map[string][]byte{fileTokens: []byte(token + `,admin,admin,"system:masters"` + "\n")})
	if err != nil {
		return err
	}
	if err := writeFiles(filepath.Dir(s.opts.Kubeconfig),
		map[string][]byte{filepath.Base(s.opts.Kubeconfig): kubeconfig}); err != nil {
		return err
	}
	// Last, since it stands for all of them.
	return writeFiles(dir, map[string][]byte{fileKubeconfig: kubeconfig})
}

// kubeconfig of a user of kube-apiserver.
func (s *Stack) kubeconfig(ca []byte, user, token string) ([]byte, error) {
	const name = "crossplane-ansible"
	c := api.NewConfig()
	c.Clusters[name] = &api.Cluster{Server: "https://" + loopback(s.ports[nameAPIServer]), CertificateAuthorityData: ca}
	c.AuthInfos[user] = &api.AuthInfo{Token: token}
	c.Contexts[name] = &api.Context{Cluster: name, AuthInfo: user}
	c.CurrentContext = name
	b, err := clientcmd.Write(*c)
	return b, errors.Wrap(err, "cannot encode kubeconfig")
}

// piece of the stack, with an environment that does not depend on that of the caller.
func (s *Stack) piece(name string, ready func(context.Context) error, env []string, args ...string) *Piece {
	base := []string{"LANG=C.UTF-8"}
	for _, n := range []string{
		"PATH", "HOME", "USER", "TMPDIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy",
		"https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
	} {
		if v, ok := os.LookupEnv(n); ok {
			base = append(base, n+"="+v)
		}
	}
	return &Piece{
		Name:  name,
		Log:   s.log(name),
		stack: s.opts.Dir,
		path:  s.bin(name),
		args:  args,
		env:   append(base, env...),
		ready: ready,
	}
}

// accepts says whether connections to an address succeed.
func accepts(network, address string) func(context.Context) error {
	return func(ctx context.Context) error {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return errors.Wrap(err, "cannot connect")
		}
		return errors.Wrap(c.Close(), "cannot close connection")
	}
}

// serves says whether a GET of a URL succeeds.
func serves(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := get(ctx, http.DefaultClient, url)
		return err
	}
}

func get(ctx context.Context, c *http.Client, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, errors.Wrap(err, "cannot make request")
	}
	rsp, err := c.Do(req)
	if err != nil {
		return nil, errors.Wrap(err, "cannot send request")
	}
	defer rsp.Body.Close() //nolint:errcheck // It was only read.
	if rsp.StatusCode != http.StatusOK {
		return nil, errors.Errorf("GET %s returned %s", url, rsp.Status)
	}
	b, err := io.ReadAll(rsp.Body)
	return b, errors.Wrap(err, "cannot read response")
}
