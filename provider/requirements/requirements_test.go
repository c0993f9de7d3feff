package requirements

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// refused is the end of an error for a URL with a password.
const refused = " must not have a password or a token in a URL: write it into a credential of the configuration, " +
	".git-credentials for a repository or .netrc for an archive"

func TestParse(t *testing.T) {
	const unnamed = "roles[0] must have a name: the end of its src is not the name of a role"

	for name, tc := range map[string]struct {
		reason string
		text   string
		want   File
		err    string
	}{
		"Nothing":  {reason: "No requirements are fine.", text: ""},
		"Comments": {reason: "Only comments are fine.", text: "---\n# none\n"},
		"OldFormat": {
			reason: "A list is a list of roles.",
			text:   "- src: geerlingguy.java\n- geerlingguy.nginx,2.8.0,web",
			want: File{Roles: []Role{
				{Name: "geerlingguy.java", Src: "geerlingguy.java"},
				{Name: "web", Src: "geerlingguy.nginx", Version: "2.8.0"},
			}},
		},
		"Both": {
			reason: "Collections and roles, in full and as a string; versions as written.",
			text: `
roles:
- {name: web, src: "https://git.example.org/r.git", scm: git, version: 1.10}
- role: old.style
collections:
- acme.postgres
- {name: acme.web, version: "*", source: "https://galaxy.example.org", type: galaxy, signatures: [a, b]}
- {name: "https://git.example.org/c.git", type: git, version: v1.0}
`,
			want: File{
				Collections: []Collection{
					{Name: "acme.postgres"},
					{Name: "acme.web", Source: "https://galaxy.example.org", Type: "galaxy", Signatures: []string{"a", "b"}},
					{Name: "https://git.example.org/c.git", Type: "git", Version: "v1.0"},
				},
				Roles: []Role{
					{Name: "web", Src: "https://git.example.org/r.git", Scm: "git", Version: "1.10"},
					{Name: "old.style", Src: "old.style"},
				},
			},
		},
		"RoleNames": {
			reason: "A role without a name is named after its source, as ansible-galaxy does.",
			text: `
- src: git+https://git.example.org/repos/one.git
- src: https://example.org/two.tar.gz
- src: git@git.example.org:repos/three.git
  scm: git
- src: https://github.com/acme/four
`,
			want: File{Roles: []Role{
				{Name: "one", Src: "https://git.example.org/repos/one.git", Scm: "git"},
				{Name: "two", Src: "https://example.org/two.tar.gz"},
				{Name: "three", Src: "git@git.example.org:repos/three.git", Scm: "git"},
				{Name: "four", Src: "https://github.com/acme/four", Scm: "git"},
			}},
		},
		"Twice": {
			reason: "The same requirement twice is one.",
			text:   "{collections: [a.b, {name: a.b, version: '*'}], roles: [a.c, {src: a.c}]}",
			want:   File{Collections: []Collection{{Name: "a.b"}}, Roles: []Role{{Name: "a.c", Src: "a.c"}}},
		},
		"Anchors": {
			reason: "Aliases have the value of their anchor.",
			text:   "{collections: [{name: a.b, version: &v 1.0.0}, {name: a.c, version: *v}]}",
			want:   File{Collections: []Collection{{Name: "a.b", Version: "1.0.0"}, {Name: "a.c", Version: "1.0.0"}}},
		},
		"Conflict": {
			reason: "Two versions of one collection are an error.",
			text:   "{collections: [{name: a.b, version: 1.0.0}, a.c, {name: a.b, version: 2.0.0}]}",
			err:    `collections[0] and collections[2] both bring "a.b", but differ`,
		},
		"RoleConflict": {
			reason: "Two different roles of the same name are an error.",
			text:   "[a.b, {name: a.b, src: 'git+https://git.example.org/x'}]",
			err:    `roles[0] and roles[1] both bring "a.b", but differ`,
		},
		"UnknownRoot": {
			reason: "A misspelt list is not ignored.",
			text:   "collection: [a.b]",
			err:    `"collection" is neither collections nor roles`,
		},
		"UnknownField": {
			reason: "A misspelt field is not ignored.",
			text:   "collections: [{name: a.b, verison: 1.0.0}]",
			err:    "collections[0].verison is not a known field",
		},
		"KeyTwice": {
			reason: "A duplicate key is an error.",
			text:   "roles: [a.b]\nroles: [a.c]",
			err:    "roles is given twice",
		},
		"NotAList":     {reason: "The roles must be a list.", text: "roles: a.b", err: "roles must be a list"},
		"NotAMapping":  {reason: "The requirements must not be a mere text.", text: "a.b", err: "must be a mapping with collections and roles, or a list of roles"},
		"NotAString":   {reason: "A version must be a string or a number.", text: "roles: [{name: a.b, version: [1]}]", err: "roles[0].version must be a string"},
		"NoName":       {reason: "A role must have a name or a source.", text: "roles: [{version: 1.0}]", err: "roles[0] must have a name or a src"},
		"NoCollection": {reason: "A collection must have a name or a source.", text: "collections: [{version: 1.0}]", err: "collections[0] must have a name or a source"},
		"Type":         {reason: "The type must be one of ansible-galaxy.", text: "collections: [{name: a.b, type: svn}]", err: `collections[0].type must be galaxy, git, url, file, dir or subdirs, not "svn"`},
		"Include":      {reason: "Includes are not supported.", text: "[{include: other.yml}]", err: "roles[0].include is not a known field"},
		"Path":         {reason: "The name of a role, which becomes a directory, must not be a path.", text: "[{src: /roles/web.tar.gz}]", err: unnamed},
		"Query":        {reason: "The error does not show a name that was derived from src, since it may contain a secret.", text: "[{src: 'git+https://example.org/x?t=s3cret'}]", err: unnamed},
		"DotDot":       {reason: "The name of a role must not be the parent directory.", text: "[{src: a.b, name: ..}]", err: `roles[0].name: ".." is not the name of a role`},
		"Option":       {reason: "git must not take a version for an option.", text: "[{src: a.b, version: --exec=id}]", err: "roles[0].version must not start with a dash"},
		"GitOption":    {reason: "git must not take a URL for an option.", text: "collections: ['git+--upload-pack=id']", err: "collections[0] must not start with a dash"},
		"YAML":         {reason: "Requirements must be valid YAML.", text: "a: [", err: "is not valid YAML: yaml: line 1: did not find expected node content"},
		"Documents":    {reason: "A second document, which ansible-galaxy would ignore, is an error.", text: "roles: [a.b]\n---\nroles: [a.c]", err: "must be a single YAML document"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(tc.text)

			if diff := cmp.Diff(tc.err, needs.Message(err)); diff != "" {
				t.Errorf("\n%s\nParse(...): -want error, +got error:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nParse(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestParsePasswords has URLs with passwords: a URL is an argument of git, which every process can see.
func TestParsePasswords(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		text   string
		field  string
	}{
		"Role":       {reason: "The error names the field.", text: "roles: [a.b, {src: 'https://me:p@ss@example.org:8443/x.git'}]", field: "roles[1].src"},
		"RoleLine":   {reason: "The path of a role in one line is that of the item.", text: "roles: ['https://me:p@example.org/x.git,v1,x']", field: "roles[0]"},
		"NoPath":     {reason: "A role is not named after a password.", text: "roles: ['https://me:s3cret@example.org']", field: "roles[0]"},
		"Collection": {reason: "A token as the user in a URL is refused.", text: "collections: ['git+https://t0ken-0123456789abcdef@example.org/x.git']", field: "collections[0]"},
		"Name":       {reason: "The scheme of a URL may be in upper case.", text: "collections: [{name: 'HTTPS://me:p@example.org/x.git', type: git}]", field: "collections[0].name"},
		"Source":     {reason: "A password in the URL of a Galaxy server is refused.", text: "collections: [{name: a.b, source: 'https://me:p@example.org'}]", field: "collections[0].source"},
		"Signature":  {reason: "A password in the URL of a signature is refused.", text: "collections: [{name: a.b, signatures: ['file:///a', 'https://me:p@example.org/b.asc']}]", field: "collections[0].signatures[1]"},
		"SSH":        {reason: "A password in a URL of ssh is refused.", text: "roles: [{src: 'ssh://git:s3cret@example.org/x.git'}]", field: "roles[0].src"},
		"FTP":        {reason: "A password in a URL of ftp is refused.", text: "roles: [{src: 'ftp://me:s3cret@example.org/x.tar.gz'}]", field: "roles[0].src"},
		"Helper":     {reason: "A password after the name of a helper of git is refused.", text: "roles: [{src: 'git+foo::git+ssh://git:s3cret@example.org/x.git'}]", field: "roles[0].src"},
		"Quoted":     {reason: "A password after an escaped colon is refused.", text: "roles: [{src: 'https://me%3As3cret@example.org/x.git'}]", field: "roles[0].src"},
		"Query":      {reason: "A token in a parameter is refused.", text: "roles: ['https://example.org/x.git?ref=v1&access_token=t0ken']", field: "roles[0]"},
		"SCP":        {reason: "A password in the short form of ssh is refused.", text: "collections: [{name: 'git:s3cret@example.org:a/x.git', type: git}]", field: "collections[0].name"},
		"Parameter":  {reason: "Other parameters are allowed.", text: "roles: [{name: x, src: 'https://example.org/x.tar.gz?ref=token=1&tokens=2'}, {name: y, src: 'git.example.org:a/y@1.git'}]"},
		"NoPassword": {reason: "A user without a password is allowed.", text: "roles: ['ssh://git@example.org:22/x.git', 'ssh://APKA0123456789ABCDEF@example.org/y', {src: 'git@example.org:a/z.git'}, 'https://me@example.org:8443/u.git']"},
		"AfterHost":  {reason: "An @ in a path is allowed.", text: "roles: ['https://example.org:8443/@me/x.git', 'ssh://git@[::1]:22/y@z.git,v1@2,y']"},
	} {
		t.Run(name, func(t *testing.T) {
			want := ""
			if tc.field != "" {
				want = tc.field + refused
			}

			_, err := Parse(tc.text)
			if diff := cmp.Diff(want, needs.Message(err)); diff != "" {
				t.Errorf("\n%s\nParse(...): -want error, +got error:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestMerge(t *testing.T) {
	required := File{
		Collections: []Collection{{Name: "acme.postgres"}},
		Roles:       []Role{{Name: "web", Src: "https://git.example.org/web.git", Scm: "git", Version: "1.0"}},
	}

	for name, tc := range map[string]struct {
		reason string
		roles  []common.Role
		want   []Role
		err    string
	}{
		"Collection": {
			reason: "A role of a collection is not a requirement of its own.",
			roles:  []common.Role{{Name: "acme.postgres.server"}},
		},
		"Galaxy": {
			reason: "A two-part role is a requirement from Galaxy.",
			roles:  []common.Role{{Name: "acme.web"}, {Name: "acme.web"}},
			want:   []Role{{Name: "acme.web", Src: "acme.web"}},
		},
		"Found": {
			reason: "A two-part role that is installed already is no requirement.",
			roles:  []common.Role{{Name: "in.image"}},
		},
		"FoundButVersion": {
			reason: "A two-part role with a version is a requirement, although it is installed already.",
			roles:  []common.Role{{Name: "in.image", Version: "2.0"}},
			want:   []Role{{Name: "in.image", Src: "in.image", Version: "2.0"}},
		},
		"Brought": {
			reason: "A role that the requirements have needs no other requirement, also if its version or source is the same.",
			roles:  []common.Role{{Name: "web"}, {Name: "web", Version: "1.0"}, {Name: "web", Src: "git+https://git.example.org/web.git"}},
		},
		"Source": {
			reason: "A role with a source is a requirement.",
			roles:  []common.Role{{Name: "db", Src: "https://github.com/acme/db", Version: "2.0"}},
			want:   []Role{{Name: "db", Src: "https://github.com/acme/db", Scm: "git", Version: "2.0"}},
		},
		"VersionConflict": {
			reason: "A role cannot have two versions.",
			roles:  []common.Role{{Name: "acme.db"}, {Name: "web", Version: "2.0"}},
			err:    `spec.forProvider: role "web" is to be version "2.0" of git+https://git.example.org/web.git, but is required as version "1.0" of git+https://git.example.org/web.git`,
		},
		"SourceConflict": {
			reason: "A role cannot have two sources.",
			roles:  []common.Role{{Name: "web", Src: "acme.web"}},
			err:    `spec.forProvider: role "web" is to be version "1.0" of acme.web, but is required as version "1.0" of git+https://git.example.org/web.git`,
		},
		"Password": {
			reason: "A password in the URL of a run's role is refused.",
			roles:  []common.Role{{Name: "web"}, {Name: "db", Src: "ssh://git:s3cret@example.org/db.git"}},
			err:    `spec.forProvider: src of role "db"` + refused,
		},
		"Option": {
			reason: "git and hg must not take a source for an option.",
			roles:  []common.Role{{Name: "a.b", Src: "hg+ --config=alias.clone=!id"}},
			err:    `spec.forProvider: src of role "a.b" must not start with a dash`,
		},
		"OptionVersion": {
			reason: "git and hg must not take a version for an option.",
			roles:  []common.Role{{Name: "a.b", Version: " --exec=id"}},
			err:    `spec.forProvider: version of role "a.b" must not start with a dash`,
		},
		"Unprintable": {
			reason: "A source must be printable.",
			roles:  []common.Role{{Name: "a.b", Version: "1\x00"}},
			err:    `spec.forProvider: version of role "a.b" must be printable`,
		},
		"ItemConflict": {
			reason: "Two items of a run may contradict each other.",
			roles:  []common.Role{{Name: "a.b", Version: "1"}, {Name: "a.b", Version: "2"}},
			err:    `spec.forProvider: role "a.b" is to be version "2" of a.b, but is required as version "1" of a.b`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := required.Merge(tc.roles, func(name string) bool { return name == "in.image" })

			if diff := cmp.Diff(tc.err, needs.Message(err)); diff != "" {
				t.Errorf("\n%s\nMerge(...): -want error, +got error:\n%s", tc.reason, diff)
			}

			want := File{Collections: required.Collections, Roles: append(required.Roles[:1:1], tc.want...)}
			if diff := cmp.Diff(want, got); tc.err == "" && diff != "" {
				t.Errorf("\n%s\nMerge(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
