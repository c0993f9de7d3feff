package machine

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
)

// What runs may have follows from what the container has.
func TestMemory(t *testing.T) {
	const mebi = 1 << 20

	root := fstest.MapFS{
		"proc/self/cgroup":         {Data: []byte("0::/\n")},
		"sys/fs/cgroup/memory.max": {Data: []byte("1610612736\n")},
	}

	for name, tc := range map[string]struct {
		reason         string
		c              confinement
		root           fstest.MapFS
		each, together int64
	}{
		"Unlimited": {reason: "A machine has no limit.", each: 4096 * mebi},
		"Share":     {reason: "A container is shared.", c: confinement{Sharing: 4}, root: root, each: 640 * mebi, together: 320 * mebi},
	} {
		t.Run(name, func(t *testing.T) {
			each, together := tc.c.memory(tc.root, logging.NewNopLogger())
			if each != tc.each || together != tc.together {
				t.Errorf("%s\nmemory(...): want %d, %d, got %d, %d", tc.reason, tc.each, tc.together, each, together)
			}
		})
	}
}

// TestMemoryInPod: in the Pod of a run no flag of the provider's says what memory there is, but the configuration does.
func TestMemoryInPod(t *testing.T) {
	root := fstest.MapFS{
		"proc/self/cgroup":         {Data: []byte("0::/\n")},
		"sys/fs/cgroup/memory.max": {Data: []byte("167772160\n")},
	}

	for name, tc := range map[string]struct {
		reason string
		c      confinement
		want   string
	}{
		"Provider": {reason: "Runs of the provider's share its memory.", c: confinement{Sharing: 4}, want: "--max-"},
		"Pod":      {reason: "A Pod has one run.", c: confinement{Sharing: 1, inPod: true}, want: "spec.execution.resources"},
	} {
		t.Run(name, func(t *testing.T) {
			warning := ""
			tc.c.memory(root, logging.NewLogrLogger(funcr.New(func(_, args string) { warning += args }, funcr.Options{})))

			for _, text := range []string{warning, tc.c.share()} {
				if !strings.Contains(text, tc.want) || strings.Contains(text, "--max-") != strings.Contains(tc.want, "--max-") {
					t.Errorf("%s\nwant %s to be named, got %q", tc.reason, tc.want, text)
				}
			}
		})
	}
}

// TestIdentities lists what a run may read below the secrets of its Pod, if that has a service
// account: not what the run was given.
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
