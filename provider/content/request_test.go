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

// TestDigest says which inputs share an installed set.
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
		// own environment of the provider, beside that of the key and the tools.
		key, tools, own string
		same            bool
	}{
		"Same":         {reason: "The digest does not depend on chance.", in: same, same: true},
		"Requirements": {reason: "Other requirements are another set.", in: in(func(in *inputs.Inputs) { in.Requirements = "collections: [a.c]" })},
		"Project":      {reason: "So is a project.", in: in(func(in *inputs.Inputs) { in.Parameters.Project = &common.Project{Src: "https://git.example.org/x.git"} })},
		"AnyVariable":  {reason: "All that variables can do is not known.", in: env("ANSIBLE_FORKS", "6")},
		"NoText":       {reason: "Bytes that are no text count, too.", in: env("ANSIBLE_GALAXY_SERVER", "s\xff")},
		"Credentials":  {reason: "A configuration that may not read a source does not get what another was given.", in: file(0, "y")},
		"KnownHosts":   {reason: "Hosts are known by it.", in: file(4, "y")},
		"NotGiven":     {reason: "What the installer is not given changes nothing.", in: file(2, "y"), same: true},
		"Sections":     {reason: "Only Ansible can tell which settings count.", in: file(1, "[defaults]\nforks=6\n[galaxy]\nserver=s\n")},
		"Grant":        {reason: "A path that may not be read is not read by way of another configuration.", in: in(func(in *inputs.Inputs) { in.Grant.Read = []string{"/a"} })},
		"Keyring":      {reason: "Other keys sign other content.", in: file(3, "other")},
		"Signatures":   {reason: "What must be signed twice is not what is signed once.", in: in(func(in *inputs.Inputs) { in.Verification.Signatures = "all" })},
		"Revision": {reason: "Only content of that revision is served.", in: in(func(in *inputs.Inputs) {
			in.Verification.Collections = []common.VerifiedContent{{Name: "a.b", Revision: strings.Repeat("0", 64)}}
		})},
		"NotVerified": {reason: "Content that was not verified is not served.", in: in(func(in *inputs.Inputs) { in.Verification = nil })},
		"Tools":       {reason: "Another ansible-galaxy may install something else.", in: same, tools: "2.20"},
		"Key":         {reason: "Without the key no digest can be guessed.", in: same, key: "other"},
		"Proxy":       {reason: "What comes over another proxy may be something else.", in: same, own: "HTTPS_PROXY=b"},
		"Path":        {reason: "So may what other programs install.", in: same, own: "PATH=/usr/bin"},
		"TimeZone":    {reason: "The time zone is not given to the installer.", in: same, own: "TZ=Europe/Berlin", same: true},
		"Other":       {reason: "Nor is what is the provider's only.", in: same, own: "HOSTNAME=pod-2", same: true},
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
