package requirements

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// FuzzRequirements merges a role into requirements, and parses the text that is written for ansible-galaxy.
func FuzzRequirements(f *testing.F) {
	f.Add("collections: [acme.web, {name: 'git+https://example.org/x.git,v1', version: '*'}]\nroles: [{src: acme.x}]\n", "acme.y", "", "1.0")
	f.Add("- src: &a git+--upload-pack=x\n- *a\n- a,-b,c\n", "x", "git+https://github.com/a/b", "v1")
	f.Add("a: &a [*a]\ncollections: *a\n", "x.y", "hg+ssh://-oProxyCommand=x", "")
	f.Add("roles: [{name: ../x, src: 'https://github.com/x'}]\n", "a.b", "https://example.org/a.tar.gz", "")

	f.Fuzz(func(t *testing.T, text, name, src, version string) {
		in := inputs.Inputs{Requirements: text, Roles: []common.Role{{Name: name, Src: src, Version: version}}}
		in.Parameters.Role = name

		got, err := Parse(text)
		if err != nil || in.Validate() != nil {
			return
		}

		if got, err = got.Merge(in.Roles, func(string) bool { return false }); err != nil {
			return
		}

		for _, c := range got.Collections {
			for _, s := range []string{c.Name, c.Source, c.Version} {
				if isOption(s) {
					t.Errorf("Parse(%q): %q is an option", text, s)
				}
			}
		}

		for _, r := range got.Roles {
			if isOption(r.Src) || isOption(r.Version) || strings.ContainsAny(r.Name, "/\x00\n") || r.Name[0] == '-' || r.Name == ".." {
				t.Errorf("Parse(%q): %q is not a role to install", text, r)
			}
		}

		written, err := json.Marshal(got)
		needs.OK(t, err)

		again, err := Parse(string(written))
		if err != nil {
			t.Fatalf("Parse(%s): %v", written, err)
		}

		if diff := cmp.Diff(got, again); diff != "" {
			t.Errorf("Parse(%s): the parsed requirements should be the written ones: -want, +got:\n%s", written, diff)
		}
	})
}
