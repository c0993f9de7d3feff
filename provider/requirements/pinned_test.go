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
		"Nothing":            {reason: "Nothing does not move.", text: "", want: true},
		"Exact":              {reason: "An exact version does not move.", text: `collections: [{name: a.b, version: 1.2.3-rc.1}, {name: a.c, version: ==1.0.0}, {name: a.d, version: =1.0.0}]`, want: true},
		"Latest":             {reason: "The latest version moves.", text: `collections: [a.b]`},
		"Any":                {reason: "So does any version.", text: `collections: [{name: a.b, version: "*"}]`},
		"Range":              {reason: "And a range.", text: `collections: [{name: a.b, version: ">=1.0.0"}]`},
		"Bounds":             {reason: "Also one with two ends.", text: `collections: [{name: a.b, version: ">=1.0.0,<1.1.0"}]`},
		"Not":                {reason: "What it is not does not say what it is.", text: `collections: [{name: a.b, version: "!=1.0.0"}]`},
		"GalaxyHash":         {reason: "A Galaxy server has no commits.", text: `collections: [{name: a.b, version: 0123456789abcdef0123456789abcdef01234567}]`},
		"Commit":             {reason: "A commit does not move.", text: `roles: [{src: "git+https://example.org/a.git", version: 0123456789abcdef0123456789abcdef01234567}]`, want: true},
		"ShortCommit":        {reason: "However it is abbreviated.", text: `collections: [{name: "https://example.org/a.git", type: git, version: 0123abc}]`, want: true},
		"Tag":                {reason: "A tag that is a version does not move.", text: `roles: [{src: "git+https://example.org/a.git", version: v1.0}]`, want: true},
		"MajorTag":           {reason: "A tag that is the start of versions does.", text: `roles: [{src: "git+https://example.org/a.git", version: v1}]`},
		"Branch":             {reason: "So does a branch.", text: `roles: [{src: "git+https://example.org/a.git", version: main}]`},
		"Head":               {reason: "And the default branch.", text: `collections: ["git+https://example.org/a.git"]`},
		"CommaTag":           {reason: "A tag may be a part of the URL.", text: `collections: ["git+https://example.org/a.git,1.0.0"]`, want: true},
		"CommaBranch":        {reason: "A branch may be, too.", text: `collections: ["git@example.org:a/b.git,main"]`},
		"URL":                {reason: "An archive that says its version is that version.", text: `collections: [{name: "https://example.org/acme-tools-1.2.3.tar.gz?raw=1"}]`, want: true},
		"URLOfTag":           {reason: "Also where it is named by its version alone.", text: `collections: [{source: "https://example.org/archive/v1.2.3.tar.gz", type: url}]`, want: true},
		"URLOfBranch":        {reason: "A branch moves, also one that is named like a release.", text: `collections: [{name: "https://example.org/archive/refs/heads/release-1.2.tar.gz"}]`},
		"RoleURLOfBranch":    {reason: "For roles, too.", text: `roles: [{src: "https://example.org/archive/refs/heads/v1.2.tar.gz", name: role}]`},
		"URLLatest":          {reason: "An archive that does not may be any.", text: `collections: [{name: "https://example.org/latest/acme-tools.tar.gz", version: 1.2.3}]`},
		"File":               {reason: "An archive on disk is like one on the web.", text: `collections: [/srv/acme-tools-1.2.3.tar.gz]`, want: true},
		"Directory":          {reason: "A directory may change.", text: `collections: [{name: /srv/acme-tools-1.2.3, type: dir, version: 1.2.3}, {name: /srv/other}]`},
		"Role":               {reason: "A role on Galaxy has versions, too.", text: `roles: [{name: a.b, version: 1.2.3}]`, want: true},
		"RoleLatest":         {reason: "Or is the latest.", text: `roles: [a.b]`},
		"RoleArchive":        {reason: "The version of an archive is a mere label.", text: `roles: [{src: "https://example.org/role.tar.gz", version: 1.2.3, name: role}]`},
		"RoleArchiveVersion": {reason: "Its name says more.", text: `roles: [{src: "https://example.org/role-1.2.3.tgz", name: role}]`, want: true},
		"OneOfSeveral":       {reason: "One is enough.", text: `{collections: [{name: a.b, version: 1.0.0}], roles: [{name: a.b, version: main}]}`},
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

// TestPinArchive says what a project from an archive may be.
func TestPinArchive(t *testing.T) {
	released := File{Project: &Project{Project: common.Project{Src: "https://git.example.org/site/archive/v1.2.3.tar.gz"}}}
	latest := File{Project: &Project{Project: common.Project{Src: "https://files.example.org/site.zip"}}}

	if !released.Pinned() || latest.Pinned() {
		t.Error("An archive that says its version is that version, and another one may be any.")
	}
}
