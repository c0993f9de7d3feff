package content

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestAttackSparse installs, with the real ansible-galaxy, an archive of some kilobytes with
// files of half a terabyte, of which nothing is on disk.
func TestAttackSparse(t *testing.T) {
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

	// Far longer than an installation takes, far shorter than reading all that.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	since := time.Now()
	_, _, err := s.Ensure(ctx, request(t, inputs.Inputs{Requirements: "roles: [{name: sparse, src: '" + archive + "'}]"}))
	t.Logf("It was refused after %s.", time.Since(since).Round(time.Millisecond))

	want := "cannot install content: its files are more than 1Gi longer than what they take on disk: " +
		"it may not have large files that are sparse, or that have many names"
	if diff := cmp.Diff(want, message(err)); diff != "" {
		t.Errorf("\nA set that takes minutes to read is refused.\nEnsure(...): -want error, +got error:\n%s", diff)
	}

	if !s.Resolution(other).Found {
		t.Error("\nNothing makes room for what is not on disk.")
	}

	wantNoLeftovers(t, s)

	// An attack that fails by itself proves nothing.
	set := filepath.Join(dir, "set")
	must(t, errors.Join(os.MkdirAll(filepath.Join(set, galaxy.CollectionsDir), 0o700), os.Mkdir(filepath.Join(set, galaxy.RolesDir), 0o700)))
	must(t, os.Rename(filepath.Join(dir, "sparse"), filepath.Join(set, galaxy.RolesDir, "sparse")))

	// No processor reads a hundred gigabytes in a second.
	ctx, cancel = context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()

	if _, err := readTree(ctx, set, workdir.Limits{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("\nWithout bounds it should take minutes to read.\nreadTree(...): %v", err)
	}
}

func TestMeasure(t *testing.T) {
	cases := map[string]struct {
		reason string
		limits workdir.Limits
		make   func(t *testing.T, dir string)
		want   string
	}{
		"Bounded": {
			reason: "A small set is within all limits.",
			limits: bounds(1 << 20),
			make:   func(t *testing.T, dir string) { t.Helper(); touch(t, dir, "roles/x/a", "x") },
		},
		"Entries": {
			reason: "Files and directories are counted.",
			limits: workdir.Limits{Entries: 20},
			make: func(t *testing.T, dir string) {
				t.Helper()

				for i := range 20 {
					touch(t, dir, fmt.Sprintf("roles/x/%d", i), "")
				}
			},
			want: "it has more than 20 files and directories: divide it among configurations that require less each",
		},
		"Sparse": {
			reason: "What is not on disk may not be endless.",
			limits: bounds(0),
			make: func(t *testing.T, dir string) {
				t.Helper()
				must(t, os.Truncate(touch(t, dir, "roles/x/a", ""), 1<<40))
			},
			want: "its files are more than 1Gi longer than what they take on disk: it may not have large files that are sparse, or that have many names",
		},
		"Names": {
			reason: "A file is read by each of its names.",
			limits: workdir.Limits{Holes: 1 << 20},
			make: func(t *testing.T, dir string) {
				t.Helper()

				file := touch(t, dir, "roles/x/a", strings.Repeat("x", 1<<20))
				for i := range 3 {
					must(t, os.Link(file, filepath.Join(dir, "roles/x", fmt.Sprint(i))))
				}
			},
			want: "its files are more than 1Mi longer than what they take on disk: it may not have large files that are sparse, or that have many names",
		},
		"Size": {
			reason: "What is on disk is limited as it is for runs.",
			limits: bounds(1 << 20),
			make:   func(t *testing.T, dir string) { t.Helper(); touch(t, dir, "roles/x/a", strings.Repeat("x", 2<<20)) },
			want:   "it takes more than 1Mi on disk, the limit of --max-run-size",
		},
		"Loop": {
			reason: "Links lead nowhere, and pipes are not read.",
			limits: bounds(1 << 20),
			make: func(t *testing.T, dir string) {
				t.Helper()
				touch(t, dir, "roles/x/a", "")
				must(t, os.Symlink(".", filepath.Join(dir, "roles/x/loop")))
				mkfifo(t, filepath.Join(dir, "roles/x/pipe"))
			},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.Mkdir(filepath.Join(dir, galaxy.CollectionsDir), 0o700))
			tc.make(t, dir)

			_, err := readTree(t.Context(), dir, tc.limits)
			if diff := cmp.Diff(tc.want, message(err)); diff != "" {
				t.Errorf("\n%s\nreadTree(...): -want error, +got error:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestManyItems has more collections, or roles, than a status can list, by links where
// they need next to nothing.
func TestManyItems(t *testing.T) {
	const meta = "version: 1.0.0\n"

	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, galaxy.CollectionsDir), 0o700))

	for i := range maxInstalled + 1 {
		touch(t, dir, fmt.Sprintf("roles/r%d/meta/.galaxy_install_info", i), meta)
	}

	_, err := newManifest(t.Context(), Set{Dir: dir}, requirements.File{}, workdir.Limits{})
	if diff := cmp.Diff("it has more than 1000 roles: divide them among configurations that require less each", strings.TrimPrefix(message(err), "cannot read a content set: ")); diff != "" {
		t.Errorf("newManifest(...): -want error, +got error:\n%s", diff)
	}

	dir = t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, galaxy.RolesDir), 0o700))

	for i := range 900 {
		touch(t, dir, fmt.Sprintf("collections/ansible_collections/acme/c%d/galaxy.yml", i), fmt.Sprintf("namespace: acme\nname: c%d\nversion: 1.0.0\n", i))
		must(t, os.Symlink("acme", filepath.Join(dir, fmt.Sprintf("collections/ansible_collections/link%d", i))))
	}

	m, err := newManifest(t.Context(), Set{Dir: dir}, requirements.File{}, workdir.Limits{})
	if err != nil || len(m.Collections) != 900 {
		t.Errorf("Links make no more collections of what is there.\nnewManifest(...): %d, %v", len(m.Collections), err)
	}
}

// TestReadCanceled gives up reading when nobody waits for it, and takes nothing for
// damaged that it did not read.
func TestReadCanceled(t *testing.T) {
	dir, r := t.TempDir(), &recorder{}
	fake := withCommand(func(_ context.Context, argv, _ []string, _ string, _ io.Writer) error { return install(argv, "x", 3) })
	req := request(t, inputs.Inputs{Requirements: "collections: [{name: acme.x, version: 1.0.0}]"})

	_, release := ensure(t, newStore(t, dir, fake), req)
	release()

	// It has not been read since the start.
	s := newStore(t, dir, fake, withObserver(r))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	if _, _, err := s.Ensure(ctx, req); !errors.Is(err, context.Canceled) {
		t.Errorf("\nEnsure(...): %v, want that it was canceled", err)
	}

	if !s.Resolution(req).Found || slices.Contains(r.removed, RemovedDamaged) {
		t.Error("\nA set that was not read is not damaged.")
	}
}

// TestLoadOddities starts a store among what is not of its making.
func TestLoadOddities(t *testing.T) {
	dir := t.TempDir()
	fake := withCommand(func(_ context.Context, argv, _ []string, _ string, _ io.Writer) error { return install(argv, "x", 3) })
	req := request(t, inputs.Inputs{Requirements: "collections: [{name: acme.x, version: 1.0.0}]"})
	s := newStore(t, dir, fake)

	set, release := ensure(t, s, req)
	release()

	touch(t, s.sets(), "file", "")
	must(t, os.Symlink("file", filepath.Join(s.sets(), "link")))
	touch(t, s.temp(), "x"+trashSuffix, "")
	touch(t, s.temp(), "y"+lockSuffix, "")
	touch(t, s.temp(), "y", "")
	mkfifo(t, filepath.Join(s.temp(), "z"+lockSuffix))

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
		oddity(t, filepath.Join(odd, manifestFile))
	}

	s = newStore(t, dir, fake)
	if diff := cmp.Diff(set.Dir, s.Resolution(req).Set.Dir); diff != "" {
		t.Errorf("\nWhat is whole goes on serving: -want, +got:\n%s", diff)
	}
}
