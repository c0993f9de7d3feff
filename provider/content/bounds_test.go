package content

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestAttackSparse installs, with the real ansible-galaxy, an archive of some kilobytes with
// files of half a terabyte, of which nothing is on disk.
func TestAttackSparse(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	dir := t.TempDir()
	write(t, filepath.Join(dir, "sparse"), roleFiles())

	for i := range 60 {
		must(t, os.Truncate(touch(t, dir, fmt.Sprintf("sparse/files/%d", i), ""), 9<<30))
	}

	archive := filepath.Join(dir, "sparse.tar.gz")
	command(t, dir, "tar", "--sparse", "-czf", archive, "sparse")

	if info, err := os.Stat(archive); err != nil || info.Size() > 64<<10 {
		t.Fatalf("The archive should take next to nothing: %v, %v", info, err)
	}

	// The other sets fit beside what is on disk.
	s := newStore(t, t.TempDir(), withMaxSize(64<<20))
	other := request(t, inputs.Inputs{Requirements: "roles: [{name: other, src: '" + tarball(t, filepath.Join(dir, "other"), roleFiles()) + "'}]"})

	_, release := ensure(t, s, other)
	release()

	_, _, err := s.Ensure(t.Context(), request(t, inputs.Inputs{Requirements: "roles: [{name: sparse, src: '" + archive + "'}]"}))
	want := "cannot install content: its files are more than 1Gi longer than what they take on disk: " +
		"it may not have large files that are sparse, or that have many names"
	if diff := cmp.Diff(want, message(err)); diff != "" {
		t.Errorf("\nA set that takes minutes to read is refused.\nEnsure(...): -want error, +got error:\n%s", diff)
	}

	if !s.Resolution(other).Found {
		t.Error("\nNothing makes room for what is not on disk.")
	}

	wantNoLeftovers(t, s)
}
