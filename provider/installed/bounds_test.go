package installed

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestBounds has an installation beyond each limit.
func TestBounds(t *testing.T) {
	const role, unread = "roles/acme.web/meta/.galaxy_install_info", "cannot read an installation: "

	long := "1.0.0+" + strings.Repeat("a", maxVersion)
	many := map[string]string{}

	for i := range maxInstalled + 1 {
		many[fmt.Sprintf("roles/r%d/meta/.galaxy_install_info", i)] = "version: 1.0.0\n"
	}

	for name, tc := range map[string]struct {
		reason string
		files  map[string]string
		limits workdir.Limits
		// length of a sparse file of the role.
		length int64
		want   string
	}{
		"Entries": {
			reason: "The number of files and directories is limited.", files: map[string]string{"roles/x/a": ""}, limits: workdir.Limits{Entries: 4},
			want: "it has more than 4 files and directories: divide it among configurations that require less each",
		},
		"Sparse": {
			reason: "The length of sparse files is limited.", files: map[string]string{role: ""}, length: 1 << 40, limits: Bounds(0),
			want: "the lengths of its files exceed their size on disk by more than 1Gi: it must not have large sparse files, or large files with many hard links",
		},
		"Size": {
			reason: "The size on disk is limited.", files: map[string]string{"roles/x/a": strings.Repeat("x", 2<<20)}, limits: Bounds(1 << 20),
			want: "it takes more than 1Mi on disk, the limit of an installation",
		},
		"CollectionVersion": {
			reason: "The length of a collection's version is limited, since it is in the status.",
			files: map[string]string{
				"collections/ansible_collections/acme/web/MANIFEST.json": `{"collection_info": {"namespace": "acme", "name": "web", "version": "` + long + `"}}`,
			},
			want: unread + "the version of acme.web has more than 253 characters",
		},
		"RoleVersion": {
			reason: "The length of a role's version is limited, since it is in the status.", files: map[string]string{role: "version: " + long + "\n"},
			want: unread + "the version of acme.web has more than 253 characters",
		},
		"Roles": {
			reason: "The number of roles is limited, since the status lists them.", files: many,
			want: unread + "it has more than 1000 roles: divide them among configurations that require less each",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			needs.OK(t, os.Mkdir(filepath.Join(dir, "collections"), 0o700))
			needs.OK(t, os.Mkdir(filepath.Join(dir, "roles"), 0o700))
			needs.Write(t, dir, tc.files)

			if tc.length > 0 {
				needs.OK(t, os.Truncate(filepath.Join(dir, role), tc.length))
			}

			_, err := New(t.Context(), dir, "", requirements.File{}, nil, nil, tc.limits)
			if diff := cmp.Diff(tc.want, needs.Message(err)); diff != "" {
				t.Errorf("\n%s\nNew(...): -want error, +got error:\n%s", tc.reason, diff)
			}
		})
	}
}
