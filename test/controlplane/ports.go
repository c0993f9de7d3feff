package controlplane

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// The range that ports are taken from. It lies below those that Linux uses for
// outgoing connections and that Kubernetes uses for node ports, so that nothing
// takes a port by chance while the piece that it belongs to is restarted.
const (
	portFirst = 20000
	portLast  = 29999
)

// Ports of the pieces by their purpose. They stay as they are until the stack
// goes down, so that a restarted piece is found by the others.
type ports map[string]int

// loadPorts from a file, and choose what is missing there.
func loadPorts(ctx context.Context, file string, names ...string) (ports, error) {
	p := ports{}
	b, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return nil, errors.Wrap(err, "cannot read ports")
	}
	if err == nil {
		if err := json.Unmarshal(b, &p); err != nil {
			return nil, errors.Wrapf(err, "cannot parse ports in %q", file)
		}
	}
	for _, n := range names {
		if p[n] != 0 {
			continue
		}
		if p[n], err = p.free(ctx); err != nil {
			return nil, err
		}
	}
	if b, err = json.MarshalIndent(p, "", "  "); err != nil {
		return nil, errors.Wrap(err, "cannot encode ports")
	}
	return p, writeFiles(filepath.Dir(file), map[string][]byte{filepath.Base(file): b})
}

// free port that none of these is.
func (p ports) free(ctx context.Context) (int, error) {
	taken := map[int]bool{}
	for _, n := range p {
		taken[n] = true
	}
	for range 1000 {
		n := portFirst + rand.IntN(portLast-portFirst+1) //nolint:gosec // Not a secret.
		if taken[n] {
			continue
		}
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", loopback(n))
		if err != nil {
			continue
		}
		return n, errors.Wrap(l.Close(), "cannot close listener")
	}
	return 0, errors.Errorf("cannot find a free port between %d and %d", portFirst, portLast)
}

// FreeAddress on loopback, which stays free while what listens there is down.
func FreeAddress(ctx context.Context) (string, error) {
	n, err := ports{}.free(ctx)
	return loopback(n), err
}

// loopback address with a port.
func loopback(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
