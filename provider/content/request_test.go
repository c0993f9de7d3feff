package content

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

func TestNewRequest(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "in.image"), 0o700); err != nil {
		t.Fatal(err)
	}

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
	if err != nil {
		t.Fatal(err)
	}

	want := Request{
		Requirements: Requirements{Collections: []Collection{{Name: "a.b"}}, Roles: []Role{{Name: "c.d", Src: "c.d"}}},
		Credentials:  []inputs.File{{Name: "ca.crt"}, {Name: ".git-credentials"}, {Name: "ansible.cfg"}},
		Env:          in.Env,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("\nThe request has what is not there yet, and the credentials that installing it needs.\nNewRequest(...): -want, +got:\n%s", diff)
	}

	in.Requirements = "rolse: []"
	_, err = NewRequest(in)

	if diff := cmp.Diff(`ProviderConfig "x": spec.requirements: "rolse" is neither collections nor roles`, message(err)); diff != "" {
		t.Errorf("\nThe error says where the mistake is.\nNewRequest(...): -want error, +got error:\n%s", diff)
	}
}

func TestDigest(t *testing.T) {
	base := Request{
		Requirements: Requirements{Collections: []Collection{{Name: "a.b"}}},
		Credentials: []inputs.File{
			{Name: ".git-credentials", Data: []byte("x")},
			{Name: "ansible.cfg", Data: []byte("[defaults]\nforks=5\n[galaxy]\nserver=s\n")},
		},
		Env: map[string]string{"ANSIBLE_GALAXY_SERVER": "s", "ANSIBLE_FORKS": "5"},
	}

	cases := map[string]struct {
		reason string
		change func(*Request) (key, tools string)
		same   bool
	}{
		"Same": {
			reason: "The digest does not depend on chance.",
			change: func(*Request) (string, string) { return "key", "2.19" },
			same:   true,
		},
		"Requirements": {
			reason: "Other requirements are another set.",
			change: func(r *Request) (string, string) {
				r.Requirements.Collections = []Collection{{Name: "a.b", Version: "1.0.0"}}

				return "key", "2.19"
			},
		},
		"Server": {
			reason: "The same name on another server is another collection.",
			change: func(r *Request) (string, string) {
				r.Env = map[string]string{"ANSIBLE_GALAXY_SERVER": "other", "ANSIBLE_FORKS": "5"}

				return "key", "2.19"
			},
		},
		"OtherSetting": {
			reason: "What does not change what is installed is left out.",
			change: func(r *Request) (string, string) {
				r.Env = map[string]string{"ANSIBLE_GALAXY_SERVER": "s", "ANSIBLE_FORKS": "6"}

				return "key", "2.19"
			},
			same: true,
		},
		"Credentials": {
			reason: "Who may not read a source does not get what another was given.",
			change: func(r *Request) (string, string) {
				r.Credentials = []inputs.File{{Name: ".git-credentials", Data: []byte("y")}, r.Credentials[1]}

				return "key", "2.19"
			},
		},
		"OtherSections": {
			reason: "Settings of plays are none of Galaxy's.",
			change: func(r *Request) (string, string) {
				r.Credentials = []inputs.File{r.Credentials[0], {Name: "ansible.cfg", Data: []byte("[defaults]\nforks=6\n[galaxy]\nserver=s\n")}}

				return "key", "2.19"
			},
			same: true,
		},
		"GalaxySections": {
			reason: "Its own are.",
			change: func(r *Request) (string, string) {
				r.Credentials = []inputs.File{r.Credentials[0], {Name: "ansible.cfg", Data: []byte("[defaults]\nforks=5\n[galaxy]\nserver=t\n")}}

				return "key", "2.19"
			},
		},
		"Tools": {
			reason: "Another ansible-galaxy may install something else.",
			change: func(*Request) (string, string) { return "key", "2.20" },
		},
		"Key": {
			reason: "Without the key no digest can be guessed.",
			change: func(*Request) (string, string) { return "other", "2.19" },
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := base
			key, tools := tc.change(&r)

			a, erra := base.digest([]byte("key"), "2.19")
			b, errb := r.digest([]byte(key), tools)

			if erra != nil || errb != nil {
				t.Fatal(erra, errb)
			}

			if diff := cmp.Diff(tc.same, a == b); diff != "" {
				t.Errorf("\n%s\ndigest(...): -want same, +got same:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestNewRequestCredentials(t *testing.T) {
	cfg := "[defaults]\nforks = 5\nprivate_key_file = key\n[galaxy]\nserver_list = hub\n[galaxy_server.hub]\nurl = https://hub.example.org/\n" +
		"token = token\n[galaxy]\ngpg_keyring = ./keys.kbx\n"

	cases := map[string]struct {
		reason string
		in     inputs.Inputs
		want   []inputs.File
		err    string
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
		"OverSSHOfRun": {
			reason: "So they are for a role that the run brings.",
			in: inputs.Inputs{
				Roles:       []common.Role{{Name: "x", Src: "git+git@git.example.org:x.git"}},
				Credentials: []inputs.File{{Name: "id_ed25519", Data: []byte("k\n")}},
			},
			want: []inputs.File{{Name: "id_ed25519", Data: []byte("k\n")}},
		},
		"Mentioned": {
			reason: "What the settings of Galaxy mention belongs to them; what those of plays mention does not.",
			in: inputs.Inputs{
				Requirements: "collections: [a.b]",
				Credentials:  []inputs.File{{Name: "ansible.cfg", Data: []byte(cfg)}, {Name: "keys.kbx"}, {Name: "key"}},
			},
			want: []inputs.File{{Name: "ansible.cfg", Data: []byte(cfg)}, {Name: "keys.kbx"}},
		},
		"PasswordInURL": {
			reason: "A password of a URL goes to the file that git reads, before the lines that are there.",
			in: inputs.Inputs{
				Requirements: "roles: [{src: 'https://me:p@ss@git.example.org:8443/x.git', scm: git}]",
				Credentials:  []inputs.File{{Name: ".git-credentials", Data: []byte("https://you:q@git.example.com\n")}},
			},
			want: []inputs.File{{
				Name: ".git-credentials",
				Data: []byte("https://me:p%40ss@git.example.org:8443\nhttps://you:q@git.example.com\n"),
			}},
		},
		"TokenInURL": {
			reason: "A token has no password, and is as secret.",
			in: inputs.Inputs{
				Requirements: "collections: ['git+https://p-ss-0123456789abcdef@git.example.org/x.git']\nroles: [{src: 'https://me@git.example.org/y.git'}]",
			},
			want: []inputs.File{{Name: ".git-credentials", Data: []byte("https://p-ss-0123456789abcdef:@git.example.org\n")}},
		},
		"PasswordsInURLs": {
			reason: "Which of two passwords is meant git could not tell.",
			in: inputs.Inputs{
				Config:       `ProviderConfig "x"`,
				Requirements: "collections: ['git+https://a:b@git.example.org/x.git', 'git+https://a:c@git.example.org/y.git']",
			},
			err: `ProviderConfig "x": spec.requirements: several passwords for https://git.example.org: ` +
				"one user must have access to all that is required from there",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := NewRequest(tc.in)
			if diff := cmp.Diff(tc.err, message(err)); diff != "" {
				t.Errorf("\n%s\nNewRequest(...): -want error, +got error:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.want, got.Credentials); diff != "" {
				t.Errorf("\n%s\nNewRequest(...): -want, +got:\n%s", tc.reason, diff)
			}

			if text := fmt.Sprint(got.Requirements); strings.Contains(text, "p@ss") || strings.Contains(text, "p-ss") {
				t.Errorf("\nNo password is left where arguments are made from.\nNewRequest(...): %s", text)
			}
		})
	}
}
