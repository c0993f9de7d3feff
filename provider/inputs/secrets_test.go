package inputs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/vaulted"
)

func TestSecrets(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     Inputs
		want   []string
	}{
		"Files": {
			reason: "Files from Secrets are, none of them empty.",
			in: Inputs{
				VarFiles:    []File{{Data: []byte("a"), Secret: true}, {Data: []byte("public")}},
				Inventories: []File{{Data: []byte("b"), Secret: true}},
				Credentials: []File{{Data: []byte("c"), Secret: true}, {Secret: true}},
			},
			want: []string{"a", "b", "c"},
		},
		"Environment": {
			reason: "A configuration is not for everybody to read, and some have nowhere else to put a secret.",
			in: Inputs{Env: map[string]string{
				"AWS_SECRET_ACCESS_KEY": "a", "PGPASSWORD": "b", "ANSIBLE_GALAXY_SERVER_HUB_TOKEN": "c", "Client_Secret": "d",
				"ANSIBLE_HOST_KEY_CHECKING": "True", "ANSIBLE_PRIVATE_KEY_FILE": "id_rsa", "GIT_SSL_KEY": "client.key", "AWS_REGION": "eu-west-1",
				"HTTPS_PROXY": "http://me:pr0xy@proxy.example.org:3128",
			}},
			want: []string{"c", "a", "d", "pr0xy", "b"},
		},
		"URLs": {
			reason: "A password in a URL is one, and so is a token in the place of a user.",
			in: Inputs{
				Requirements: "roles: [{src: 'https://me:one@git.example.org/a.git'}, 'https://gitlab-ci-token:two@git.example.org/b.git', 'https://0123456789abcdef0123@git.example.org/c.git', 'ssh://git@git.example.org/d.git', 'https://abcdef0123456789abcd:x-oauth-basic@git.example.org/e.git']",
				Roles:        []common.Role{{Name: "a.b", Src: "git+https://me:three@git.example.org/a.git"}},
			},
			want: []string{"one", "two", "0123456789abcdef0123", "abcdef0123456789abcd", "x-oauth-basic", "three"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, s := range tc.in.Secrets() {
				got = append(got, string(s))
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nSecrets(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestInstallSecrets(t *testing.T) {
	cfg := "[galaxy]\nserver_list = hub\n[galaxy_server.hub]\nurl=https://hub.example.org/\nauth_url: https://u:p@sso.example.org\ntoken = abcd\n"
	in := Inputs{Credentials: []File{{Name: "ansible.cfg", Data: []byte(cfg), Secret: true}}}

	got := strings.Fields(string(in.InstallSecrets()[0]))
	want := []string{"auth_url:", "https://u:p@sso.example.org", "token", "=", "abcd"}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("\nWhich server failed may be said; what else is there may not.\nInstallSecrets(): -want, +got:\n%s", diff)
	}
}

func TestVaulted(t *testing.T) {
	encrypt := func(password, text string) string {
		t.Helper()

		return vaulted.Text(t, needs.Program(t, "ansible-vault"), "", password, text)
	}

	block := func(text string) []byte {
		return []byte("a: !vault |\n  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") + "\n")
	}

	one, two := encrypt("first", "one"), encrypt("second", "two")
	params := common.AnsibleRunParameters{
		PlaybookInline: "- hosts: all\n  vars:\n    a: !vault |\n      " + strings.ReplaceAll(one, "\n", "\n      "),
		Vars:           &runtime.RawExtension{Raw: []byte(`{"a": {"__ansible_vault": "` + strings.ReplaceAll(two, "\n", `\n`) + `"}}`)},
	}
	in := Inputs{
		Parameters:  params,
		VarFiles:    []File{{Data: []byte(encrypt("first", "of_file: three\n"))}},
		Inventories: []File{{Data: block(two)}},
		Credentials: []File{{Name: "one", Data: []byte("first\n")}, {Name: "two", Data: []byte("second")}, {Name: "third", Data: []byte("third")}},
	}

	cases := map[string]struct {
		reason string
		env    map[string]string
		config string
		want   []string
	}{
		"None":     {reason: "What Ansible cannot decrypt is not decrypted."},
		"File":     {reason: "The environment may name the file of the one password.", env: map[string]string{"ANSIBLE_VAULT_PASSWORD_FILE": "one"}, want: []string{"one", "of_file: three\n"}},
		"Identity": {reason: "Or of several.", env: map[string]string{"ANSIBLE_VAULT_IDENTITY_LIST": "a@one, b@./two"}, want: []string{"one", "two", "of_file: three\n", "two"}},
		"Lines":    {reason: "A list may take several lines.", config: "[defaults]\nvault_identity_list = a@one,\n  b@two\n", want: []string{"one", "two", "of_file: three\n", "two"}},
		"Default":  {reason: "Options of the section DEFAULT are those of all sections.", config: "[DEFAULT]\nvault_password_file = two\n[defaults]\nforks = 1\n", want: []string{"two", "two"}},
		"Config":   {reason: "So may an ansible.cfg.", config: "[defaults]\nvault_password_file = two\n", want: []string{"two", "two"}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := in
			in.Env = tc.env

			if tc.config != "" {
				in.Credentials = append([]File{{Name: "ansible.cfg", Data: []byte(tc.config)}}, in.Credentials...)
			}

			var got []string
			for _, s := range in.Vaulted() {
				got = append(got, string(s))
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nVaulted(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
