package machine

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
)

// TestMemory checks that the memory of runs follows from that of the container.
func TestMemory(t *testing.T) {
	const mebi = 1 << 20

	container := func(limit string) fstest.MapFS {
		return fstest.MapFS{"proc/self/cgroup": {Data: []byte("0::/\n")}, "sys/fs/cgroup/memory.max": {Data: []byte(limit + "\n")}}
	}

	for name, tc := range map[string]struct {
		reason         string
		c              confinement
		root           fstest.MapFS
		each, together int64
		// flag and field say which setting the warning names.
		flag, field bool
	}{
		"Unlimited": {"Without a limit of the container, the limit is that of a process.", confinement{}, nil, 4096 * mebi, 0, false, false},
		"Share":     {"Runs share the memory of a container.", confinement{Sharing: 4}, container("1610612736"), 640 * mebi, 320 * mebi, false, false},
		"Little":    {"Too little memory for the runs of the provider has a warning.", confinement{Sharing: 4}, container("167772160"), 512 * mebi, 256 * mebi, true, false},
		"Pod":       {"Too little memory for the run of a Pod has a warning.", confinement{Sharing: 1, inPod: true}, container("167772160"), 512 * mebi, 256 * mebi, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			warning := ""
			log := logging.NewLogrLogger(funcr.New(func(_, args string) { warning += args }, funcr.Options{}))

			each, together := tc.c.memory(tc.root, log)
			if each != tc.each || together != tc.together {
				t.Errorf("%s\nmemory(...): want %d, %d, got %d, %d", tc.reason, tc.each, tc.together, each, together)
			}

			if strings.Contains(warning, "--max-") != tc.flag || strings.Contains(warning, "spec.execution.resources") != tc.field {
				t.Errorf("%s\ngot the warning %q", tc.reason, warning)
			}

			if share := tc.c.share(); strings.Contains(share, "--max-") == tc.c.inPod || strings.Contains(share, "resources") != tc.c.inPod {
				t.Errorf("%s\nshare(): got %q", tc.reason, share)
			}
		})
	}
}

func TestIdentities(t *testing.T) {
	pod := fstest.MapFS{
		"ansible.crossplane.io/run/payload.000":      {},
		"eks.amazonaws.com/serviceaccount/token":     {},
		"kubernetes.io/serviceaccount/..data/token":  {},
		"kubernetes.io/serviceaccount/..data/ca.crt": {},
	}
	want := []string{"/var/run/secrets/eks.amazonaws.com", "/var/run/secrets/kubernetes.io"}

	if diff := cmp.Diff(want, identities(pod)); diff != "" {
		t.Errorf("identities(...): -want, +got:\n%s", diff)
	}
}
