package kubeapi

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

// A certificate is made for one run. Its validity begins skew in the past, for clocks that were set back since.
const (
	validity = 10 * 365 * 24 * time.Hour
	skew     = 24 * time.Hour
)

// kubeconfig returns the kubeconfig of a run, with the address of its proxy.
func kubeconfig(run runner.Spec, server string, authority []byte, secret string) ([]byte, error) {
	const name = "run"

	c := api.NewConfig()
	c.Clusters[name] = &api.Cluster{Server: server, CertificateAuthorityData: authority}
	c.AuthInfos[name] = &api.AuthInfo{Token: secret}
	c.Contexts[name] = &api.Context{
		Cluster: name, AuthInfo: name,
		Namespace: cmp.Or(run.Object.Namespace, run.Inputs.Kubernetes.Namespace),
	}
	c.CurrentContext = name

	text, err := clientcmd.Write(*c)

	return text, errors.Wrap(err, "cannot write a kubeconfig")
}

// certificate returns the certificate of a proxy, and the same in PEM for its clients. The key is in the memory of this
// process only, so that no other process can take the place of the proxy.
func certificate(now time.Time) (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, errors.Wrap(err, "cannot make a key")
	}

	t := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "provider-ansible"},
		NotBefore:    now.Add(-skew), NotAfter: now.Add(validity),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true, // Python requires that of a trusted certificate.
	}

	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, nil, errors.Wrap(err, "cannot make a certificate")
	}

	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(
		&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
