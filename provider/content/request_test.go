package content

import (
	order "cmp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// TestDigest tests which inputs share an installed set.
func TestDigest(t *testing.T) {
	const config = "[defaults]\nforks=5\n[galaxy]\nserver=s\n"

	in := func(change func(*inputs.Inputs)) inputs.Inputs {
		in := inputs.Inputs{
			Requirements: "{collections: [a.b], roles: [{src: 'ssh://git@git.example.org/x.git'}]}",
			Credentials: []inputs.File{
				{Name: ".git-credentials", Data: []byte("x")},
				{Name: "ansible.cfg", Data: []byte(config)},
				{Name: "other", Data: []byte("x")},
				{Name: "keys.gpg", Data: []byte("keys")},
				{Name: "known_hosts", Data: []byte("x")},
			},
			Env:          map[string]string{"ANSIBLE_GALAXY_SERVER": "s"},
			Verification: &common.Verification{Keyring: "keys.gpg", Signatures: "+1", Collections: []common.VerifiedContent{{Name: "a.b"}}},
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
		reason string
		in     inputs.Inputs
		// own is an additional variable in the provider's environment.
		key, tools, own string
		same            bool
	}{
		"Same":         {reason: "The digest is deterministic.", in: same, same: true},
		"Requirements": {reason: "Other requirements change the digest.", in: in(func(in *inputs.Inputs) { in.Requirements = "collections: [a.c]" })},
		"Project":      {reason: "A project changes the digest.", in: in(func(in *inputs.Inputs) { in.Parameters.Project = &common.Project{Src: "https://git.example.org/x.git"} })},
		"AnyVariable":  {reason: "Every variable changes the digest, since its effects are not known.", in: env("ANSIBLE_FORKS", "6")},
		"NoText":       {reason: "Bytes that are not valid UTF-8 change the digest.", in: env("ANSIBLE_GALAXY_SERVER", "s\xff")},
		"Credentials":  {reason: "A configuration without access to a source does not get content of another one.", in: file(0, "y")},
		"KnownHosts":   {reason: "known_hosts authenticates sources.", in: file(4, "y")},
		"NotGiven":     {reason: "A credential that the installer does not get has no effect.", in: file(2, "y"), same: true},
		"Sections":     {reason: "The whole ansible.cfg counts, since only Ansible knows which settings have an effect.", in: file(1, "[defaults]\nforks=6\n[galaxy]\nserver=s\n")},
		"Grant":        {reason: "A configuration without a right to a path does not get content from it.", in: in(func(in *inputs.Inputs) { in.Grant.Read = []string{"/a"} })},
		"Keyring":      {reason: "Another keyring changes the digest.", in: file(3, "other")},
		"Signatures":   {reason: "Another number of signatures changes the digest.", in: in(func(in *inputs.Inputs) { in.Verification.Signatures = "all" })},
		"Revision": {reason: "A required revision changes the digest.", in: in(func(in *inputs.Inputs) {
			in.Verification.Collections = []common.VerifiedContent{{Name: "a.b", Revision: strings.Repeat("0", 64)}}
		})},
		"NotVerified": {reason: "Unverified content is another set.", in: in(func(in *inputs.Inputs) { in.Verification = nil })},
		"Tools":       {reason: "Another ansible-galaxy may install something else.", in: same, tools: "2.20"},
		"Key":         {reason: "Another key changes the digest.", in: same, key: "other"},
		"Proxy":       {reason: "Another proxy may change the content.", in: same, own: "HTTPS_PROXY=b"},
		"Path":        {reason: "Other programs may change the content.", in: same, own: "PATH=/usr/bin"},
		"TimeZone":    {reason: "The time zone is not given to the installer.", in: same, own: "TZ=Europe/Berlin", same: true},
		"Other":       {reason: "The installer does not get other variables of the provider.", in: same, own: "HOSTNAME=pod-2", same: true},
	}

	digest := func(in inputs.Inputs, key, tools, own string) string {
		s := &Store{config: Config{
			Key: []byte(order.Or(key, "key")), Tools: order.Or(tools, "2.19"),
			Installer: galaxy.Installer{Environ: []string{"PATH=/bin", "HTTPS_PROXY=a", own}},
		}}

		return s.digest(request(t, in))
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := digest(tc.in, tc.key, tc.tools, tc.own)
			if diff := cmp.Diff(tc.same, got == digest(same, "", "", "")); diff != "" {
				t.Errorf("\n%s\ndigest(...): -want same, +got same:\n%s", tc.reason, diff)
			}
		})
	}
}
