package installed

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestMeasure(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		limits workdir.Limits
		make   func(t *testing.T, dir string)
		want   string
	}{
		"Bounded": {
			reason: "A small set is within all limits.",
			limits: Bounds(1 << 20),
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
			limits: Bounds(0),
			make: func(t *testing.T, dir string) {
				t.Helper()
				needs.OK(t, os.Truncate(touch(t, dir, "roles/x/a", ""), 1<<40))
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
					needs.OK(t, os.Link(file, filepath.Join(dir, "roles/x", fmt.Sprint(i))))
				}
			},
			want: "its files are more than 1Mi longer than what they take on disk: it may not have large files that are sparse, or that have many names",
		},
		"Size": {
			reason: "What is on disk is limited as it is for runs.",
			limits: Bounds(1 << 20),
			make:   func(t *testing.T, dir string) { t.Helper(); touch(t, dir, "roles/x/a", strings.Repeat("x", 2<<20)) },
			want:   "it takes more than 1Mi on disk, the limit of an installation",
		},
		"Loop": {
			reason: "Links lead nowhere, and pipes are not read.",
			limits: Bounds(1 << 20),
			make: func(t *testing.T, dir string) {
				t.Helper()
				touch(t, dir, "roles/x/a", "")
				needs.OK(t, os.Symlink(".", filepath.Join(dir, "roles/x/loop")))
				needs.OK(t, unix.Mkfifo(filepath.Join(dir, "roles/x/pipe"), 0o600))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			needs.OK(t, os.Mkdir(filepath.Join(dir, galaxy.CollectionsDir), 0o700))
			tc.make(t, dir)

			_, err := measure(t.Context(), dir, tc.limits)
			if diff := cmp.Diff(tc.want, message(err)); diff != "" {
				t.Errorf("\n%s\nmeasure(...): -want error, +got error:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestLongVersion has a collection, or a role, with a version that would fill the status.
func TestLongVersion(t *testing.T) {
	version := "1.0.0+" + strings.Repeat("a", maxVersion)

	for file, text := range map[string]string{
		"collections/ansible_collections/acme/web/MANIFEST.json": `{"collection_info": {"namespace": "acme", "name": "web", "version": "` + version + `"}}`,
		"roles/acme.web/meta/.galaxy_install_info":               "version: " + version + "\n",
	} {
		dir := t.TempDir()
		needs.OK(t, os.MkdirAll(filepath.Join(dir, galaxy.CollectionsDir, "ansible_collections"), 0o700))
		needs.OK(t, os.MkdirAll(filepath.Join(dir, galaxy.RolesDir), 0o700))
		touch(t, dir, file, text)

		_, err := New(t.Context(), dir, "", requirements.File{}, nil, nil, workdir.Limits{})
		if diff := cmp.Diff("the version of acme.web has more than 253 characters", strings.TrimPrefix(message(err), "cannot read a content set: ")); diff != "" {
			t.Errorf("%s\nNew(...): -want error, +got error:\n%s", file, diff)
		}
	}
}

// TestManyItems has more collections, or roles, than a status can list, by links where
// they need next to nothing.
func TestManyItems(t *testing.T) {
	const meta = "version: 1.0.0\n"

	dir := t.TempDir()
	needs.OK(t, os.Mkdir(filepath.Join(dir, galaxy.CollectionsDir), 0o700))

	for i := range maxInstalled + 1 {
		touch(t, dir, fmt.Sprintf("roles/r%d/meta/.galaxy_install_info", i), meta)
	}

	_, err := New(t.Context(), dir, "", requirements.File{}, nil, nil, workdir.Limits{})
	if diff := cmp.Diff("it has more than 1000 roles: divide them among configurations that require less each", strings.TrimPrefix(message(err), "cannot read a content set: ")); diff != "" {
		t.Errorf("New(...): -want error, +got error:\n%s", diff)
	}

	dir = t.TempDir()
	needs.OK(t, os.Mkdir(filepath.Join(dir, galaxy.RolesDir), 0o700))

	for i := range 900 {
		touch(t, dir, fmt.Sprintf("collections/ansible_collections/acme/c%d/MANIFEST.json", i), fmt.Sprintf(`{"collection_info": {"namespace": "acme", "name": "c%d", "version": "1.0.0"}}`, i))
		needs.OK(t, os.Symlink("acme", filepath.Join(dir, fmt.Sprintf("collections/ansible_collections/link%d", i))))
	}

	m, err := New(t.Context(), dir, "", requirements.File{}, nil, nil, workdir.Limits{})
	if err != nil || len(m.Collections) != 900 {
		t.Errorf("Links make no more collections of what is there.\nNew(...): %d, %v", len(m.Collections), err)
	}
}
