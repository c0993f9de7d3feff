package inputs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
)

func TestSecrets(t *testing.T) {
	secret := func(name, data string) File {
		return File{Name: name, Data: []byte(data), Secret: true, From: redact.Source{Secret: "s", Key: name}}
	}

	for name, tc := range map[string]struct {
		reason string
		in     Inputs
		// text has secrets, and want is the redacted text.
		text, want string
		from       redact.Source
	}{
		"Variables": {
			"The values of a variable file from a Secret are secrets, other variables are not.",
			Inputs{VarFiles: []File{secret("vars.yml", "a: {b: hunter22}"), {Data: []byte("c: public-value")}}},
			"hunter22 public-value", "******** public-value",
			redact.Source{Secret: "s", Key: "vars.yml"},
		},
		"WholeSecret": {
			"Each value of a whole Secret is a secret, and its source is the key.",
			Inputs{VarFiles: []File{{Data: []byte(`!unsafe {"password": "hunter22", "user": "{{ me }}-and-you"}`), Secret: true, From: redact.Source{Secret: "db"}}}},
			"{{ me }}-and-you hunter22", "******** ********",
			redact.Source{Secret: "db", Key: "user"},
		},
		"Inventory": {
			"The values of an inventory from a Secret are secrets, in any format.",
			Inputs{Inventories: []File{secret("hosts", "h1 ansible_password=hunter22\n"), secret("hosts.yml", "all: {vars: {unlock: sw0rdfish}}")}},
			"sw0rdfish hunter22", "******** ********",
			redact.Source{Secret: "s", Key: "hosts.yml"},
		},
		"Credentials": {
			"The lines of credentials are secrets, except the public keys of hosts.",
			Inputs{Credentials: []File{secret("known_hosts", "git.example.org ssh-ed25519 AAAAC3Nz\n"), secret("token", "sw0rdfish\n")}},
			"git.example.org ssh-ed25519 AAAAC3Nz sw0rdfish", "git.example.org ssh-ed25519 AAAAC3Nz ********",
			redact.Source{Secret: "s", Key: "token"},
		},
		"PlayEnvironment": {
			"Environment variables from Secrets are secrets.",
			Inputs{PlayEnv: []File{{Name: "LOGIN", Data: []byte("hunter22"), Secret: true, From: redact.Source{Secret: "s", Key: "k"}}, {Name: "REGION", Data: []byte("eu-central-1")}}},
			"hunter22 eu-central-1", "******** eu-central-1",
			redact.Source{Secret: "s", Key: "k"},
		},
		"Environment": {
			"Environment variables of the configuration with names of secrets are secrets.",
			Inputs{Env: map[string]string{
				"AWS_SECRET_ACCESS_KEY": "hunter22", "ANSIBLE_PRIVATE_KEY_FILE": "id_ed25519", "GIT_SSL_KEY": "client.key",
				"HTTPS_PROXY": "http://me:pr0xy-pr0xy@proxy.example.org:3128",
			}},
			"hunter22 id_ed25519 client.key pr0xy-pr0xy", "******** id_ed25519 client.key ********",
			redact.Source{Key: "AWS_SECRET_ACCESS_KEY"},
		},
		"URLs": {
			"A password in a URL, and a token in place of the user, are secrets.",
			Inputs{
				Requirements: "roles: [{src: 'https://me:one-one-one@git.example.org/a.git'}, 'https://0123456789abcdef0123@git.example.org/c.git', 'ssh://git@git.example.org/d.git']",
				Roles:        []common.Role{{Name: "a.b", Src: "git+https://me:two-two-two@git.example.org/a.git"}},
			},
			"one-one-one two-two-two 0123456789abcdef0123 git.example.org", "******** ******** ******** git.example.org",
			redact.Source{},
		},
		"Shown": {
			"A value that the spec shows is not a secret.",
			Inputs{
				VarFiles: []File{secret("vars.yml", "{a: hunter22, b: eu-central-1, c: db.example.org}")},
				Parameters: common.AnsibleRunParameters{
					Vars:       &runtime.RawExtension{Raw: []byte(`{"region": "eu-central-1"}`)},
					UnsafeVars: &runtime.RawExtension{Raw: []byte(`{"hosts": ["db.example.org"]}`)},
				},
			},
			"eu-central-1 db.example.org hunter22", "eu-central-1 db.example.org ********",
			redact.Source{Secret: "s", Key: "vars.yml"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			set := tc.in.Secrets()
			if diff := cmp.Diff(tc.want, set.Text(tc.text)); diff != "" {
				t.Errorf("%s\nSecrets().Text(...): -want, +got:\n%s", tc.reason, diff)
			}

			from, secret := set.In(tc.text)
			if diff := cmp.Diff(tc.from, from); diff != "" || !secret {
				t.Errorf("%s\nSecrets().In(...): %t; -want, +got:\n%s", tc.reason, secret, diff)
			}
		})
	}
}

func TestInstallSecrets(t *testing.T) {
	const cfg = "[galaxy]\nserver_list = hub-of-example\n[galaxy_server.hub-of-example]\nurl=https://hub.example.org/\nauth_url: https://u:hunter22@sso.example.org\ntoken = sw0rdfish\n"

	in := Inputs{
		Credentials: []File{{Name: "ansible.cfg", Data: []byte(cfg), Secret: true}},
		VarFiles:    []File{{Data: []byte("a: hub.example.org\n"), Secret: true}},
	}

	got := in.InstallSecrets().Text("hub-of-example https://hub.example.org/ hunter22 sw0rdfish")
	if diff := cmp.Diff("hub-of-example https://hub.example.org/ ******** ********", got); diff != "" {
		t.Errorf("\nThe name of a server should be shown, but no other value of a credential. An installation has no variables.\nInstallSecrets(): -want, +got:\n%s", diff)
	}
}
