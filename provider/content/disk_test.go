package content

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"golang.org/x/sys/unix"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestDiskFull fills a real disk with the real ansible-galaxy.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	disk := t.TempDir()
	needs.SmallDisk(t, disk, "4m")

	src := t.TempDir()
	of := func(name string, size int) Request {
		archive, _ := buildCollection(t, src, name, "1.0.0", "", map[string]string{"data": strings.Repeat("x", size)})

		return request(t, inputs.Inputs{Requirements: "collections: [" + archive + "]"})
	}
	small, medium, large := of("small", 1), of("medium", 1<<20), of("large", 8<<20)

	m := NewMetrics(nil)
	s := newStore(t, Config{Dir: disk, Metrics: m})

	_, releaseSmall := ensure(t, s, small)
	_, release := ensure(t, s, medium)
	release()

	_, _, err := s.Ensure(t.Context(), large)

	want := "cannot install content: the disk of the content store (" + disk + ") is full: " +
		"give the provider a bigger volume for its --state-dir: ansible-galaxy failed: no space left on device"
	if diff := cmp.Diff(want, needs.Message(err)); diff != "" || !errors.Is(err, unix.ENOSPC) || !IsOwn(err) {
		t.Errorf("\nThe error should name the full disk, and tell what to do.\nEnsure(...): -want error, +got error:\n%s", diff)
	}

	wantNoLeftovers(t, s)

	if !s.Resolution(small).Found || s.Resolution(medium).Found {
		t.Errorf("\nUnused sets should be removed, and sets in use should stay.")
	}

	if n := testutil.ToFloat64(m.installs.WithLabelValues("run", resultFailed)); n != 1 {
		t.Errorf("\nOne installation should have failed: got %v", n)
	}

	releaseSmall()

	// Another file uses space, until there is space for one of the two sets.
	filler := filepath.Join(disk, "filler")

	needs.OK(t, os.WriteFile(filler, make([]byte, 2<<20), 0o600))

	_, release = ensure(t, s, medium)
	release()
	wantNoLeftovers(t, s)
}
