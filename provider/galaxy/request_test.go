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
		t.Errorf("\nThe request has requirements that are not installed elsewhere, and the credentials that they need.\nNewRequest(...): -want, +got:\n%s", diff)
	}

	in.Requirements = "rolse: []"
	_, err = NewRequest(in)

	if diff := cmp.Diff(`ProviderConfig "x": spec.requirements: "rolse" is neither collections nor roles`, needs.Message(err)); diff != "" {
		t.Errorf("\nThe error names the field with the mistake.\nNewRequest(...): -want error, +got error:\n%s", diff)
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
			reason: "Keys are left out where git does not use ssh, so that a change of them causes no installation.",
			in: inputs.Inputs{
				Requirements: "collections: [{name: 'https://git.example.org/x.git', type: git}]",
				Credentials:  []inputs.File{{Name: "id_rsa"}, {Name: "known_hosts"}},
			},
		},
		"OverSSH": {
			reason: "Keys are passed where git uses ssh, with the line end that ssh requires.",
			in: inputs.Inputs{
				Requirements: "roles: [{src: 'ssh://git@git.example.org:2222/x.git', scm: git}]",
				Credentials:  []inputs.File{{Name: "id_rsa", Data: []byte("k")}, {Name: "known_hosts", Data: []byte("h")}, {Name: "other"}},
			},
			want: []inputs.File{{Name: "id_rsa", Data: []byte("k\n")}, {Name: "known_hosts", Data: []byte("h")}},
		},
		"Mentioned": {
			reason: "Files that the ansible.cfg names are passed, except keys, which are for ssh only.",
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

// TestNewRequestErrors has errors that would quote the requirements.
func TestNewRequestErrors(t *testing.T) {
	for name, tc := range map[string]struct{ reason, requirements string }{
		"Password": {reason: "The error does not contain a password.", requirements: "roles: [{src: 'https://me:hunter22@git.example.org', scm: git}]"},
		"Long":     {reason: "The error is cut to a length.", requirements: "? '" + strings.Repeat("\u200b", 300_000) + "'\n: 1\n"},
		"Secret":   {reason: "The error does not contain a part of a secret at the place where it is cut.", requirements: `{"roles": [{"name": "` + strings.Repeat("a", 80_000) + `!"}]}`},
		"Many":     {reason: "Lists are bounded.", requirements: "- a" + strings.Repeat("\n- a", 1000)},
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
