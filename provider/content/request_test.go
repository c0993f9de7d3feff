package content

import (
	"os"
	"path/filepath"
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
		Env:          map[string]string{"ANSIBLE_ROLE_PATH": dir, "GIT_SSH_COMMAND": "ssh -i ~/deploy_key"},
		Credentials:  []inputs.File{{Name: "password"}, {Name: "deploy_key"}, {Name: ".git-credentials"}, {Name: "ansible.cfg"}},
	}

	got, err := NewRequest(in)
	if err != nil {
		t.Fatal(err)
	}

	want := Request{
		Requirements: Requirements{Collections: []Collection{{Name: "a.b"}}, Roles: []Role{{Name: "c.d", Src: "c.d"}}},
		Credentials:  []inputs.File{{Name: "deploy_key"}, {Name: ".git-credentials"}, {Name: "ansible.cfg"}},
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
		Credentials:  []inputs.File{{Name: ".git-credentials", Data: []byte("x")}},
		Env:          map[string]string{"ANSIBLE_GALAXY_SERVER": "s", "ANSIBLE_FORKS": "5"},
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
				r.Credentials = []inputs.File{{Name: ".git-credentials", Data: []byte("y")}}

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
