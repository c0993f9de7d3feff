package controlplane

import (
	"bytes"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/test/certs"
)

// Files of a directory with certificates, named as in a Secret of type
// kubernetes.io/tls.
const (
	fileCA   = "ca.crt"
	fileCert = "tls.crt"
	fileKey  = "tls.key"
)

// issue a certificate into a directory, unless that has one of this authority.
func issue(ca *certs.Authority, dir, name string, others ...net.IP) error {
	if has, err := os.ReadFile(filepath.Join(dir, fileCA)); err == nil && bytes.Equal(has, ca.PEM) && hasCertificate(dir) {
		return nil
	}
	cert, key, err := ca.Issue(name, others...)
	if err != nil {
		return err
	}
	return writeFiles(dir, map[string][]byte{fileCA: ca.PEM, fileCert: cert, fileKey: key})
}

// hasCertificate says whether a directory has a certificate with its key.
func hasCertificate(dir string) bool {
	_, err := tls.LoadX509KeyPair(filepath.Join(dir, fileCert), filepath.Join(dir, fileKey))
	return err == nil
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
