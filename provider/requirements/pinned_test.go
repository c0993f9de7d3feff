package requirements

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestPinned(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		text   string
		want   bool
	}{
		"Nothing":            {reason: "Empty requirements are pinned.", text: "", want: true},
		"Exact":              {reason: "An exact version is pinned.", text: `collections: [{name: a.b, version: 1.2.3-rc.1}, {name: a.c, version: ==1.0.0}, {name: a.d, version: =1.0.0}]`, want: true},
		"Latest":             {reason: "The latest version is not pinned.", text: `collections: [a.b]`},
		"Any":                {reason: "Any version is not pinned.", text: `collections: [{name: a.b, version: "*"}]`},
		"Range":              {reason: "A range is not pinned.", text: `collections: [{name: a.b, version: ">=1.0.0"}]`},
		"Bounds":             {reason: "A range with two ends is not pinned.", text: `collections: [{name: a.b, version: ">=1.0.0,<1.1.0"}]`},
		"Not":                {reason: "An excluded version is not pinned.", text: `collections: [{name: a.b, version: "!=1.0.0"}]`},
		"GalaxyHash":         {reason: "A hash on a Galaxy server, which has no commits, is not pinned.", text: `collections: [{name: a.b, version: 0123456789abcdef0123456789abcdef01234567}]`},
		"Commit":             {reason: "A commit is pinned.", text: `roles: [{src: "git+https://example.org/a.git", version: 0123456789abcdef0123456789abcdef01234567}]`, want: true},
		"ShortCommit":        {reason: "An abbreviated commit is pinned.", text: `collections: [{name: "https://example.org/a.git", type: git, version: 0123abc}]`, want: true},
		"Tag":                {reason: "A tag that is a version is pinned.", text: `roles: [{src: "git+https://example.org/a.git", version: v1.0}]`, want: true},
		"MajorTag":           {reason: "A tag that is the start of versions is not pinned.", text: `roles: [{src: "git+https://example.org/a.git", version: v1}]`},
		"Branch":             {reason: "A branch is not pinned.", text: `roles: [{src: "git+https://example.org/a.git", version: main}]`},
		"Head":               {reason: "The default branch is not pinned.", text: `collections: ["git+https://example.org/a.git"]`},
		"CommaTag":           {reason: "A tag in the URL is pinned.", text: `collections: ["git+https://example.org/a.git,1.0.0"]`, want: true},
		"CommaBranch":        {reason: "A branch in the URL is not pinned.", text: `collections: ["git@example.org:a/b.git,main"]`},
		"URL":                {reason: "An archive with a version in its name is pinned.", text: `collections: [{name: "https://example.org/acme-tools-1.2.3.tar.gz?raw=1"}]`, want: true},
		"URLOfTag":           {reason: "An archive with only a version as its name is pinned.", text: `collections: [{source: "https://example.org/archive/v1.2.3.tar.gz", type: url}]`, want: true},
		"URLOfBranch":        {reason: "An archive of a branch that is named like a release is not pinned.", text: `collections: [{name: "https://example.org/archive/refs/heads/release-1.2.tar.gz"}]`},
		"RoleURLOfBranch":    {reason: "A role from an archive of a branch is not pinned.", text: `roles: [{src: "https://example.org/archive/refs/heads/v1.2.tar.gz", name: role}]`},
		"URLLatest":          {reason: "An archive without a version in its name is not pinned.", text: `collections: [{name: "https://example.org/latest/acme-tools.tar.gz", version: 1.2.3}]`},
		"File":               {reason: "An archive on disk with a version in its name is pinned.", text: `collections: [/srv/acme-tools-1.2.3.tar.gz]`, want: true},
		"Directory":          {reason: "A directory is not pinned.", text: `collections: [{name: /srv/acme-tools-1.2.3, type: dir, version: 1.2.3}, {name: /srv/other}]`},
		"Role":               {reason: "An exact version of a role on Galaxy is pinned.", text: `roles: [{name: a.b, version: 1.2.3}]`, want: true},
		"RoleLatest":         {reason: "The latest version of a role is not pinned.", text: `roles: [a.b]`},
		"RoleArchive":        {reason: "A version beside an archive is a mere label, and does not pin it.", text: `roles: [{src: "https://example.org/role.tar.gz", version: 1.2.3, name: role}]`},
		"RoleArchiveVersion": {reason: "A role from an archive with a version in its name is pinned.", text: `roles: [{src: "https://example.org/role-1.2.3.tgz", name: role}]`, want: true},
		"OneOfSeveral":       {reason: "Requirements are not pinned if one of them is not.", text: `{collections: [{name: a.b, version: 1.0.0}], roles: [{name: a.b, version: main}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Parse(tc.text)
			needs.OK(t, err)

			if diff := cmp.Diff(tc.want, r.Pinned()); diff != "" {
				t.Errorf("\n%s\nPinned(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestPinArchive checks projects from archives.
func TestPinArchive(t *testing.T) {
	released := File{Project: &Project{Project: common.Project{Src: "https://git.example.org/site/archive/v1.2.3.tar.gz"}}}
	latest := File{Project: &Project{Project: common.Project{Src: "https://files.example.org/site.zip"}}}

	if !released.Pinned() || latest.Pinned() {
		t.Error("An archive with a version in its name should be pinned, and another one should not.")
	}
}
