package content

import (
	order "cmp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// TestDigest says which inputs share an installed set.
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
		"AnyVariable":  {reason: "Nobody knows all that variables can do.", in: env("ANSIBLE_FORKS", "6")},
		"Credentials":  {reason: "Who may not read a source does not get what another was given.", in: file(0, "y")},
		"NotGiven":     {reason: "What the installer is not given changes nothing.", in: file(2, "y"), same: true},
		"Sections":     {reason: "Nobody but Ansible can tell which settings count.", in: file(1, "[defaults]\nforks=6\n[galaxy]\nserver=s\n")},
		"Tools":        {reason: "Another ansible-galaxy may install something else.", in: same, tools: "2.20"},
		"Key":          {reason: "Without the key no digest can be guessed.", in: same, key: "other"},
	}

	want := digestFor(t, same, "key", "2.19")

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := digestFor(t, tc.in, order.Or(tc.key, "key"), order.Or(tc.tools, "2.19"))

			if diff := cmp.Diff(tc.same, got == want); diff != "" {
				t.Errorf("\n%s\ndigest(...): -want same, +got same:\n%s", tc.reason, diff)
			}
		})
	}
}

// digestFor what inputs require, in an empty environment.
func digestFor(t *testing.T, in inputs.Inputs, key, tools string, environ ...string) string {
	t.Helper()

	return digestOf([]byte(key), tools, galaxy.Installer{Environ: environ}.Recipe(request(t, in).Request))
}
