package content

import (
	"archive/tar"
	order "cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/canary"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// stolen is the text of a file of the provider outside of the store.
const stolen = "stolen-from-the-provider"

// TestAttacks installs malicious content, with the real
// ansible-galaxy and git, and without any confinement. An installation may fail or succeed; it
// must not write or read outside of its set.
func TestAttacks(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	meta := regular("x/meta/main.yml", roleFiles()["meta/main.yml"])

	for name, tc := range map[string]struct {
		reason string
		// archive of a role, if any. OUT stands for the directory around the store.
		archive []member
		// repository has the files of a role or a collection, and links has links in it, by name.
		repository, links map[string]string
		requirements      string
		// fails is true if the installation must fail.
		fails bool
	}{
		"ArchiveUp":       {reason: "A path leads out of the archive.", archive: []member{meta, regular("x/../../../../../../../../../../../../OUT/evil", "x")}},
		"ArchiveAbsolute": {reason: "A path starts at the root.", archive: []member{meta, regular("/OUT/evil", "x")}},
		"ArchiveLink":     {reason: "A file is written through a link.", archive: []member{meta, symlink("x/tasks", "/OUT"), regular("x/tasks/evil", "x")}},
		"ArchiveHardLink": {reason: "A hard link leads to another file.", archive: []member{meta, {Header: tar.Header{Name: "x/tasks/main.yml", Typeflag: tar.TypeLink, Linkname: "/OUT/canary"}}}},
		"ArchiveDevice":   {reason: "A role contains a device.", archive: []member{meta, {Header: tar.Header{Name: "x/tasks/main.yml", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 5}}}},
		"ArchivePipe":     {reason: "A file never ends.", archive: []member{meta, {Header: tar.Header{Name: "x/meta/.galaxy_install_info", Typeflag: tar.TypeFifo}}, {Header: tar.Header{Name: "x/tasks/main.yml", Typeflag: tar.TypeFifo}}}},
		"RoleInfoLink": {
			reason: "The file with the installed version is a link to a file of the provider.", repository: roleFiles(),
			links: map[string]string{"meta/.galaxy_install_info": "/OUT/canary"},
		},
		"CollectionLink": {
			reason: "The same link is in a collection.", repository: map[string]string{"README.md": "x", "roles/x/tasks/main.yml": "[]"},
			links: map[string]string{"galaxy.yml": "/OUT/canary", "MANIFEST.json": "/OUT/canary"}, requirements: "collections: [{name: 'file://REPO', type: git}]",
			fails: true,
		},
		"Ext":        {reason: "A URL is a command.", requirements: "collections: [{name: 'ext::sh -c \"touch% /OUT/evil\"', type: git}]", fails: true},
		"ExtOfRole":  {reason: "A URL of a role is a command.", requirements: "roles: [{name: x, src: 'ext::sh -c \"touch% /OUT/evil\"', scm: git}]", fails: true},
		"SSHOption":  {reason: "A host is an option of ssh.", requirements: "roles: [{name: x, src: 'ssh://-oProxyCommand=touch$IFS/OUT/evil/x.git'}]", fails: true},
		"GitOption":  {reason: "A version is an option of git.", requirements: "collections: [{name: 'file://REPO', type: git, version: '--upload-pack=touch /OUT/evil'}]", fails: true},
		"CommaTrick": {reason: "A version after a comma is an option of git.", requirements: "collections: ['git+file://REPO,--upload-pack=touch /OUT/evil']", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			out := t.TempDir()
			fill := func(s string) string {
				return strings.NewReplacer("/OUT", out, "OUT", strings.TrimPrefix(out, "/"), "REPO", filepath.Join(out, "repo")).Replace(s)
			}

			needs.Write(t, out, map[string]string{"canary": "version: " + stolen + "\nnamespace: acme\nname: web\n"})

			required := tc.requirements

			switch {
			case tc.archive != nil:
				for i, m := range tc.archive {
					tc.archive[i].Name, tc.archive[i].Linkname = fill(m.Name), fill(m.Linkname)
				}

				pack(t, filepath.Join(out, "x.tar.gz"), tc.archive...)

				required = "roles: [{name: x, src: '" + filepath.Join(out, "x.tar.gz") + "'}]"
			case tc.repository != nil:
				for name, text := range tc.repository {
					needs.Write(t, filepath.Join(out, "repo"), map[string]string{name: fill(text)})
				}

				for name, target := range tc.links {
					needs.OK(t, os.Symlink(fill(target), filepath.Join(out, "repo", name)))
				}

				gitRepo(t, filepath.Join(out, "repo"), nil)
				fallthrough
			default:
				required = fill(order.Or(required, "roles: [{name: x, src: 'file://REPO', scm: git}]"))
			}

			before := canary.Files(t, out)
			s := newStore(t, Config{Dir: t.TempDir()})

			req, err := NewRequest(inputs.Inputs{Requirements: required})

			var set Set
			if err == nil {
				var release func()
				if set, release, err = s.Ensure(t.Context(), req); err == nil {
					defer release()
				}
			}

			if tc.fails && err == nil {
				t.Errorf("\n%s\nEnsure(...): want an error", tc.reason)
			}

			if got := fmt.Sprint(err, set.Collections, set.Roles); strings.Contains(got, stolen) {
				t.Errorf("\n%s\nEnsure(...): %s", tc.reason, got)
			}

			if diff := cmp.Diff(before, canary.Files(t, out)); diff != "" {
				t.Errorf("\n%s\nFiles outside of the store should not change: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
