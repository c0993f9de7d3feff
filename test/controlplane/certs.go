package controlplane

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// How long certificates and tokens of a stack are good for. A stack lives until
// the next make down.
const validity = 365 * 24 * time.Hour

// Files of a directory with certificates, named as in a Secret of type
// kubernetes.io/tls.
const (
	fileCA   = "ca.crt"
	fileCert = "tls.crt"
	fileKey  = "tls.key"
)

// An authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	pem  []byte
}

// newAuthority with a new key, signed by itself.
func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, errors.Wrap(err, "cannot generate key")
	}
	t := template(name)
	t.IsCA = true
	t.BasicConstraintsValid = true
	t.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, errors.Wrap(err, "cannot sign certificate")
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, errors.Wrap(err, "cannot parse certificate")
	}
	return &authority{cert: cert, key: key, pem: encode("CERTIFICATE", der)}, nil
}

// parseAuthority from a certificate and its key.
func parseAuthority(certPEM, keyPEM []byte) (*authority, error) {
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, errors.Wrap(err, "cannot parse certificate authority")
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, errors.Errorf("cannot sign with a key of type %T", pair.PrivateKey)
	}
	return &authority{cert: pair.Leaf, key: key, pem: certPEM}, nil
}

// issue a certificate for a server on loopback, and at other addresses, into a
// directory. It serves clients, too.
func (a *authority) issue(dir, name string, others ...net.IP) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return errors.Wrap(err, "cannot generate key")
	}
	t := template(name)
	t.DNSNames = []string{"localhost"}
	t.IPAddresses = append([]net.IP{net.IPv4(127, 0, 0, 1)}, others...)
	t.KeyUsage = x509.KeyUsageDigitalSignature
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, key.Public(), a.key)
	if err != nil {
		return errors.Wrap(err, "cannot sign certificate")
	}
	pk, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return errors.Wrap(err, "cannot encode key")
	}
	return writeFiles(dir, map[string][]byte{
		fileCA:   a.pem,
		fileCert: encode("CERTIFICATE", der),
		fileKey:  encode("PRIVATE KEY", pk),
	})
}

// issued says whether a directory has a certificate of this authority.
func (a *authority) issued(dir string) bool {
	ca, err := os.ReadFile(filepath.Join(dir, fileCA))
	return err == nil && bytes.Equal(ca, a.pem) && hasCertificate(dir)
}

// hasCertificate says whether a directory has a certificate with its key.
func hasCertificate(dir string) bool {
	_, err := tls.LoadX509KeyPair(filepath.Join(dir, fileCert), filepath.Join(dir, fileKey))
	return err == nil
}

func template(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Minute),
		NotAfter:     now.Add(validity),
	}
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// writeFiles that only this user can read. Each of them is there as a whole or
// not at all.
func writeFiles(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return errors.Wrap(err, "cannot make directory")
	}
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path+".new", data, 0o600); err != nil {
			return errors.Wrap(err, "cannot write file")
		}
		if err := os.Rename(path+".new", path); err != nil {
			return errors.Wrap(err, "cannot write file")
		}
	}
	return nil
}
