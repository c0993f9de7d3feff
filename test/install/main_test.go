// Package install tests that Crossplane's own package manager installs the
// function and the provider, and that they work with the rights that it gives
// them, from their images, on a node.
package install

import (
	"context"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
)

const (
	root     = "../.."
	released = root + "/dist" // What make packages builds.
)

var (
	cp *cluster.Cluster
	// warehouse is the host of the registry that packages come from.
	warehouse string
	// installed says whether a test has installed the packages.
	installed bool
)

func TestMain(m *testing.M) {
	(&cluster.Suite{
		Stack: "install", Target: "test-node",
		Options: controlplane.Options{Packages: true},
		Built: func() error {
			_, err := os.Stat(filepath.Join(released, "provider-ansible.xpkg"))
			return err
		},
		Prepare: func(_ context.Context, s *controlplane.Stack) (err error) {
			// It is there until the process ends.
			r := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
			warehouse = strings.TrimPrefix(r.URL, "http://")
			cp, err = cluster.New(s)
			return err
		},
	}).Main(m)
}
