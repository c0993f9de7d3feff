package galaxy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestNewRequest(t *testing.T) {
	dir := t.TempDir()
	needs.OK(t, os.Mkdir(filepath.Join(dir, "in.image"), 0o700))

	in := inputs.Inputs{
		Config:       `ProviderConfig "x"`,
		Requirements: "collections: [a.b]",
		Roles:        []common.Role{{Name: "a.b.c"}, {Name: "in.image"}, {Name: "c.d"}},
		Env:          map[string]string{"ANSIBLE_ROLE_PATH": dir, "SSL_CERT_FILE": "ca.crt"},
		Credentials: []inputs.File{
			{Name: "password"}, {Name: "ca.crt"}, {Name: ".git-credentials"}, {Name: "ansible.cfg"}, {Name: "id_rsa"}, {Name: "known_hosts"},
		},
	}

	got, err := NewRequest(in)
	needs.OK(t, err)

	want := Request{
		Requirements: requirements.File{Collections: []requirements.Collection{{Name: "a.b"}}, Roles: []requirements.Role{{Name: "c.d", Src: "c.d"}}},
		Credentials:  []inputs.File{{Name: "ca.crt"}, {Name: ".git-credentials"}, {Name: "ansible.cfg"}},
		Env:          in.Env,
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Request{}, "Redact")); diff != "" {
		t.Errorf("\nThe request has what is not there yet, and the credentials that installing it needs.\nNewRequest(...): -want, +got:\n%s", diff)
	}

	in.Requirements = "rolse: []"
	_, err = NewRequest(in)

	if diff := cmp.Diff(`ProviderConfig "x": spec.requirements: "rolse" is neither collections nor roles`, needs.Message(err)); diff != "" {
		t.Errorf("\nThe error says where the mistake is.\nNewRequest(...): -want error, +got error:\n%s", diff)
	}
}

func TestNewRequestCredentials(t *testing.T) {
	cfg := "[defaults]\nforks = 5\nprivate_key_file = key\n[galaxy]\nserver_list = hub\n[galaxy_server.hub]\nurl = https://hub.example.org/\n" +
		"token = token\n[galaxy]\ngpg_keyring = ./keys.kbx\n"

	for name, tc := range map[string]struct {
		reason string
		in     inputs.Inputs
		want   []inputs.File
	}{
		"NotOverSSH": {
			reason: "Keys are of no use where git does not use ssh, and their changing installs nothing.",
			in: inputs.Inputs{
				Requirements: "collections: [{name: 'https://git.example.org/x.git', type: git}]",
				Credentials:  []inputs.File{{Name: "id_rsa"}, {Name: "known_hosts"}},
			},
		},
		"OverSSH": {
			reason: "Where it does, they are used. ssh wants a key's last line to end.",
			in: inputs.Inputs{
				Requirements: "roles: [{src: 'ssh://git@git.example.org:2222/x.git', scm: git}]",
				Credentials:  []inputs.File{{Name: "id_rsa", Data: []byte("k")}, {Name: "known_hosts", Data: []byte("h")}, {Name: "other"}},
			},
			want: []inputs.File{{Name: "id_rsa", Data: []byte("k\n")}, {Name: "known_hosts", Data: []byte("h")}},
		},
		"Mentioned": {
			reason: "What the ansible.cfg names may be for Galaxy. A key is for ssh only.",
			in: inputs.Inputs{
				Requirements: "collections: [a.b]",
				Credentials:  []inputs.File{{Name: "ansible.cfg", Data: []byte(cfg)}, {Name: "keys.kbx"}, {Name: "key"}, {Name: "password"}},
			},
			want: []inputs.File{{Name: "ansible.cfg", Data: []byte(cfg)}, {Name: "keys.kbx"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := NewRequest(tc.in)
			needs.OK(t, err)

			if diff := cmp.Diff(tc.want, got.Credentials); diff != "" {
				t.Errorf("\n%s\nNewRequest(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// An error may quote what is required.
func TestNewRequestErrors(t *testing.T) {
	for name, tc := range map[string]struct{ reason, requirements string }{
		"Password": {reason: "A password stays where it is.", requirements: "roles: [{src: 'https://me:hunter22@git.example.org', scm: git}]"},
		"Long":     {reason: "Only so much fits into a status.", requirements: "? '" + strings.Repeat("\u200b", 300_000) + "'\n: 1\n"},
		"Secret":   {reason: "Nor does a secret of the configuration, at the edge of that.", requirements: `{"roles": [{"name": "` + strings.Repeat("a", 80_000) + `!"}]}`},
		"Many":     {reason: "Lists have an end.", requirements: "- a" + strings.Repeat("\n- a", 1000)},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewRequest(inputs.Inputs{
				Requirements: tc.requirements,
				Credentials:  []inputs.File{{Name: "token", Data: []byte(strings.Repeat("a", 40_000) + "0"), Secret: true}},
			})
			if err == nil || strings.Contains(err.Error(), "hunter22") || strings.Contains(err.Error(), "aaaaaaaa") || len(err.Error()) > maxError {
				t.Errorf("%s\nNewRequest(...): %.200v", tc.reason, err)
			}
		})
	}
}
