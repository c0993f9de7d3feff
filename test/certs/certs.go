// Package certs makes certificates for tests, of authorities that are in no trust store.
package certs

import (
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
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// Validity of certificates. The stack of a developer lives until the next make down.
const Validity = 365 * 24 * time.Hour

// An Authority signs certificates. Use New or Parse.
type Authority struct {
	// PEM of the certificate.
	PEM []byte

	pair tls.Certificate
}

// New authority, signed by itself.
func New(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, errors.Wrap(err, "cannot generate a key")
	}
	own, err := cert.NewSelfSignedCACert(cert.Config{CommonName: name}, key)
	if err != nil {
		return nil, errors.Wrap(err, "cannot sign a certificate")
	}
	return &Authority{PEM: encode(own.Raw), pair: tls.Certificate{Leaf: own, PrivateKey: key}}, nil
}

// Parse an authority from a certificate and its key.
func Parse(certPEM, keyPEM []byte) (*Authority, error) {
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	return &Authority{PEM: certPEM, pair: pair}, errors.Wrap(err, "cannot parse a certificate authority")
}

// Issue a certificate for a server on loopback and at other addresses, as PEM with its key. It serves clients, too.
func (a *Authority) Issue(name string, others ...net.IP) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, errors.Wrap(err, "cannot generate a key")
	}
	now := time.Now()
	signer, _ := a.pair.PrivateKey.(crypto.Signer)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Minute),
		NotAfter:     now.Add(Validity),
		DNSNames:     []string{"localhost"},
		IPAddresses:  append([]net.IP{net.IPv4(127, 0, 0, 1)}, others...),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.pair.Leaf, key.Public(), signer)
	if err != nil {
		return nil, nil, errors.Wrap(err, "cannot sign a certificate")
	}
	keyPEM, err = keyutil.MarshalPrivateKeyToPEM(key)

	return encode(der), keyPEM, errors.Wrap(err, "cannot encode a key")
}

func encode(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der})
}
