package inputs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAnsibleConfig(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		text   string
		want   AnsibleConfig
	}{
		"Empty":    {reason: "An empty file sets nothing.", want: AnsibleConfig{}},
		"Sections": {reason: "An option belongs to its section.", text: "[a]\nx = 1\n[b]\nx: 2", want: AnsibleConfig{{"a", "x"}: "1", {"b", "x"}: "2"}},
		"Case":     {reason: "The case of options does not matter; that of sections and values does.", text: "[A]\nX=Y", want: AnsibleConfig{{"A", "x"}: "Y"}},
		"Comments": {
			reason: "A comment is a line, or begins with white space and a semicolon.",
			text:   "[a]\n# x=1\n;x=1\nx = a;b#c # d\t; e\r\ny = ; z\n",
			want:   AnsibleConfig{{"a", "x"}: "a;b#c # d", {"a", "y"}: ""},
		},
		"Lines": {
			reason: "A value continues in lines with a deeper indentation, also after comments and empty lines.",
			text:   "[a]\n  x = a@b,\n    c@d,\n# no\n\n    e=f\n  y = 1\n",
			want:   AnsibleConfig{{"a", "x"}: "a@b,\nc@d,\ne=f", {"a", "y"}: "1"},
		},
		"Mistakes": {reason: "A line that is neither a section nor an option is skipped.", text: "[a]\nword\nx=1", want: AnsibleConfig{{"a", "x"}: "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := Inputs{Credentials: []File{{Name: "ansible.cfg", Data: []byte(tc.text)}}}

			if diff := cmp.Diff(tc.want, in.AnsibleConfig()); diff != "" {
				t.Errorf("%s\nAnsibleConfig(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}

	if got := (Inputs{}).AnsibleConfig(); got != nil {
		t.Errorf("AnsibleConfig(): want nil without the file, got %v", got)
	}
}
