package content

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/installed"
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

// TestLoadOddities starts a store among what is not of its making.
func TestLoadOddities(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	fake := withCommand(func(_ context.Context, argv, _ []string, _ string, _ io.Writer) error { return install(argv, "x", 3) })
	req := request(t, inputs.Inputs{Requirements: "collections: [{name: acme.x, version: 1.0.0}]"})
	s := newStore(t, dir, fake)

	set, release := ensure(t, s, req)
	release()

	touch(t, s.sets(), "file", "")
	must(t, os.Symlink("file", filepath.Join(s.sets(), "link")))
	touch(t, s.temp(), "x"+trashSuffix, "")
	mkfifo(t, filepath.Join(s.temp(), "y"))

	for i, oddity := range []func(t *testing.T, manifest string){
		mkfifo,
		func(t *testing.T, manifest string) { t.Helper(); must(t, os.Mkdir(manifest, 0o700)) },
		func(t *testing.T, manifest string) { t.Helper(); must(t, os.Symlink("/dev/zero", manifest)) },
		func(t *testing.T, manifest string) {
			t.Helper()
			must(t, os.WriteFile(manifest, nil, 0o600))
			must(t, os.Truncate(manifest, 1<<40))
		},
	} {
		odd := filepath.Join(s.sets(), fmt.Sprintf("%032x", i))
		must(t, os.Mkdir(odd, 0o700))
		oddity(t, filepath.Join(odd, installed.File))
	}

	s = newStore(t, dir, fake)
	if diff := cmp.Diff(set.Dir, s.Resolution(req).Set.Dir); diff != "" {
		t.Errorf("\nWhat is whole goes on serving: -want, +got:\n%s", diff)
	}
}
