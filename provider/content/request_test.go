package content

import (
	order "cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
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
		Requirements: requirements.File{Collections: []requirements.Collection{{Name: "a.b"}}, Roles: []requirements.Role{{Name: "c.d", Src: "c.d"}}},
		Credentials:  []inputs.File{{Name: "ca.crt"}, {Name: ".git-credentials"}, {Name: "ansible.cfg"}},
		Env:          in.Env,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Request{})); diff != "" {
		t.Errorf("\nThe request has what is not there yet, and the credentials that installing it needs.\nNewRequest(...): -want, +got:\n%s", diff)
	}

	in.Requirements = "rolse: []"
	_, err = NewRequest(in)

	if diff := cmp.Diff(`ProviderConfig "x": spec.requirements: "rolse" is neither collections nor roles`, message(err)); diff != "" {
		t.Errorf("\nThe error says where the mistake is.\nNewRequest(...): -want error, +got error:\n%s", diff)
	}
}

// TestDigest is about who gets what was installed for another.
func TestDigest(t *testing.T) {
	const config = "[defaults]\nforks=5\n[galaxy]\nserver=s\n"

	in := func(change func(*inputs.Inputs)) inputs.Inputs {
		in := inputs.Inputs{
			Requirements: "collections: [a.b]",
			Credentials: []inputs.File{
				{Name: ".git-credentials", Data: []byte("x")}, {Name: "ansible.cfg", Data: []byte(config)}, {Name: "other", Data: []byte("x")},
			},
			Env: map[string]string{"ANSIBLE_GALAXY_SERVER": "s"},
		}
		change(&in)

		return in
	}
	env := func(name, value string) inputs.Inputs { return in(func(in *inputs.Inputs) { in.Env[name] = value }) }
	file := func(i int, text string) inputs.Inputs {
		return in(func(in *inputs.Inputs) { in.Credentials[i].Data = []byte(text) })
	}
	same := in(func(*inputs.Inputs) {})

	cases := map[string]struct {
		reason     string
		in         inputs.Inputs
		key, tools string
		same       bool
	}{
		"Same":         {reason: "The digest does not depend on chance.", in: same, same: true},
		"Requirements": {reason: "Other requirements are another set.", in: in(func(in *inputs.Inputs) { in.Requirements = "collections: [a.c]" })},
		"Server":       {reason: "The same name on another server is another collection.", in: env("ANSIBLE_GALAXY_SERVER", "other")},
		"Proxy":        {reason: "So it is over another proxy.", in: env("http_proxy", "http://mine.example.org")},
		"Domain":       {reason: "So it is where names mean other hosts.", in: env("LOCALDOMAIN", "mine.example.org")},
		"Resolver":     {reason: "So it is.", in: env("RES_OPTIONS", "ndots:9")},
		"HostAliases":  {reason: "So it is.", in: env("HOSTALIASES", "./other")},
		"GPG":          {reason: "Whom gpg trusts is up to its directory.", in: env("GNUPGHOME", ".")},
		"Mercurial":    {reason: "What hg does is up to its configuration.", in: env("HGRCPATH", "other")},
		"AnyVariable":  {reason: "Nobody knows all that variables can do.", in: env("ANSIBLE_FORKS", "6")},
		"Credentials":  {reason: "Who may not read a source does not get what another was given.", in: file(0, "y")},
		"NotGiven":     {reason: "What the installer is not given changes nothing.", in: file(2, "y"), same: true},
		"Sections":     {reason: "Nobody but Ansible can tell which settings count.", in: file(1, "[defaults]\nforks=6\n[galaxy]\nserver=s\n")},
		"Indented":     {reason: "A section that is indented is one to Ansible.", in: file(1, config+"  [galaxy]\n  server=mine\n")},
		"IndentedOnly": {reason: "So it is without another.", in: file(1, "[defaults]\nforks=5\n \t[galaxy]\nserver=s\n")},
		"Continued":    {reason: "A line that is indented goes on with the one before.", in: file(1, config+"\n\n mine\n")},
		"Tools":        {reason: "Another ansible-galaxy may install something else.", in: same, tools: "2.20"},
		"Key":          {reason: "Without the key no digest can be guessed.", in: same, key: "other"},
	}

	want, err := request(t, same).digest([]byte("key"), "2.19", nil)
	must(t, err)

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := request(t, tc.in).digest([]byte(order.Or(tc.key, "key")), order.Or(tc.tools, "2.19"), nil)
			must(t, err)

			if diff := cmp.Diff(tc.same, got == want); diff != "" {
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
			reason: "What the ansible.cfg names may be for Galaxy. A key is for ssh only.",
			in: inputs.Inputs{
				Requirements: "collections: [a.b]",
				Credentials:  []inputs.File{{Name: "ansible.cfg", Data: []byte(cfg)}, {Name: "keys.kbx"}, {Name: "key"}, {Name: "password"}},
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
