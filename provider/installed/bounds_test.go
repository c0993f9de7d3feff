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

// TestBounds has in a set what is beyond a bound.
func TestBounds(t *testing.T) {
	const role, unread = "roles/acme.web/meta/.galaxy_install_info", "cannot read a content set: "

	long := "1.0.0+" + strings.Repeat("a", maxVersion)
	many := map[string]string{}

	for i := range maxInstalled + 1 {
		many[fmt.Sprintf("roles/r%d/meta/.galaxy_install_info", i)] = "version: 1.0.0\n"
	}

	for name, tc := range map[string]struct {
		reason string
		files  map[string]string
		limits workdir.Limits
		// length that a file of the role is said to have.
		length int64
		want   string
	}{
		"Entries": {
			reason: "Files and directories are counted.", files: map[string]string{"roles/x/a": ""}, limits: workdir.Limits{Entries: 4},
			want: "it has more than 4 files and directories: divide it among configurations that require less each",
		},
		"Sparse": {
			reason: "What is not on disk may not be endless.", files: map[string]string{role: ""}, length: 1 << 40, limits: Bounds(0),
			want: "its files are more than 1Gi longer than what they take on disk: it may not have large files that are sparse, or that have many names",
		},
		"Size": {
			reason: "What is on disk is limited as it is for runs.", files: map[string]string{"roles/x/a": strings.Repeat("x", 2<<20)}, limits: Bounds(1 << 20),
			want: "it takes more than 1Mi on disk, the limit of an installation",
		},
		"CollectionVersion": {
			reason: "A version of a collection would fill the status.",
			files: map[string]string{
				"collections/ansible_collections/acme/web/MANIFEST.json": `{"collection_info": {"namespace": "acme", "name": "web", "version": "` + long + `"}}`,
			},
			want: unread + "the version of acme.web has more than 253 characters",
		},
		"RoleVersion": {
			reason: "Or that of a role.", files: map[string]string{role: "version: " + long + "\n"},
			want: unread + "the version of acme.web has more than 253 characters",
		},
		"Roles": {
			reason: "A status lists no more.", files: many,
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
