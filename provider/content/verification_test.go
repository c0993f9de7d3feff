package content

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
)

// TestVerification installs signed and unsigned collections, with the real
// ansible-galaxy and gpg.
func TestVerification(t *testing.T) {
	needs.Ansible(t)
	needs.Program(t, "gpg")

	src := t.TempDir()
	hub := sources.NewGalaxy(t)
	ours := newSigner(t, "ours")

	for name, by := range map[string]signer{"plain": "", "signed": ours, "forged": newSigner(t, "theirs")} {
		archive, manifest := buildCollection(t, src, name, "1.0.0", "", nil)
		hub.Publish(t, archive)

		if by != "" {
			hub.Sign("acme", name, "1.0.0", by.sign(t, manifest))
		}
	}

	server := sources.Start(t, hub, sources.Options{})

	refused := func(name string) string {
		return "cannot install collections: Signature verification failed for 'acme." + name + "': no successful signatures" +
			"; it must be signed with a key in the keyring, which has public keys as gpg --export writes them, without --armor"
	}

	for name, tc := range map[string]struct {
		reason, collection, signatures string
		env                            map[string]string
		cfg, want                      string
	}{
		"Signed":     {reason: "One valid signature is enough.", collection: "signed", signatures: "+1"},
		"Plain":      {reason: "A collection without a signature is refused.", collection: "plain", signatures: "+1", want: refused("plain")},
		"PlainLoose": {reason: "Without a + the signature may be missing.", collection: "plain", signatures: "1"},
		"Forged": {
			reason: "A signature with a key that is not in the keyring is invalid, and settings cannot turn the verification off.", collection: "forged", signatures: "+1", want: refused("forged"),
			env: map[string]string{"ANSIBLE_GALAXY_DISABLE_GPG_VERIFY": "1"}, cfg: "[galaxy]\ndisable_gpg_verify = true\nrequired_valid_signature_count = 1\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			in := inputs.Inputs{
				Requirements: "collections: [{name: acme." + tc.collection + ", version: 1.0.0}]",
				Verification: &common.Verification{Keyring: "keys.gpg", Signatures: tc.signatures},
				Env:          map[string]string{"ANSIBLE_GALAXY_SERVER": server.URL},
				Credentials:  []inputs.File{{Name: "keys.gpg", Data: ours.public(t)}, {Name: "ansible.cfg", Data: []byte(tc.cfg)}},
			}

			maps.Copy(in.Env, tc.env)

			needs.OK(t, in.Validate())

			_, _, err := newStore(t, Config{Dir: t.TempDir()}).Ensure(t.Context(), request(t, in))
			if got := needs.Message(err); got != tc.want {
				t.Errorf("\n%s\nEnsure(...): want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

// TestRevisions installs a collection and a role with the real ansible-galaxy, before and after their source
// changes the files of the same version.
func TestRevisions(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	// try installs the files of a source with the text in an empty store.
	try := func(text, ofCollection, ofRole string) (Set, string) {
		src := t.TempDir()
		files := sources.Start(t, sources.Files(src), sources.Options{})

		web, _ := buildCollection(t, src, "web", "1.0.0", "", map[string]string{"roles/hello/tasks/main.yml": text})
		pack(t, filepath.Join(src, "motd.tar.gz"), regular("motd/meta/main.yml", roleFiles()["meta/main.yml"]), regular("motd/tasks/main.yml", text))

		in := inputs.Inputs{
			Requirements: "{collections: [{name: acme.web, version: 1.0.0}], roles: [{name: motd, src: '" + files.URL + "/motd.tar.gz'}]}",
			Env:          map[string]string{"ANSIBLE_GALAXY_SERVER": sources.Start(t, sources.NewGalaxy(t, web), sources.Options{}).URL},
			Verification: &common.Verification{
				Collections: []common.VerifiedContent{{Name: "acme.web", Revision: ofCollection}},
				Roles:       []common.VerifiedContent{{Name: "motd", Revision: ofRole}},
			},
		}
		needs.OK(t, in.Validate())

		s := newStore(t, Config{Dir: t.TempDir()})
		set, _, err := s.Ensure(t.Context(), request(t, in))
		wantNoLeftovers(t, s)

		if IsOwn(err) {
			t.Errorf("\nContent of a source should not be the provider's own error.\nEnsure(...): %v", err)
		}

		return set, needs.Message(err)
	}

	found := regexp.MustCompile(`[0-9a-f]{64}`)
	refused := `cannot install content: "acme.web" has the revision R, version "1.0.0", which is not that in spec.verification.collections; ` +
		`"motd" has the revision R, version "", which is not that in spec.verification.roles`

	_, said := try("[] # good", "", "")
	if diff := cmp.Diff(refused, found.ReplaceAllString(said, "R")); diff != "" {
		t.Fatalf("\nWithout revisions, the error should have the actual ones.\nEnsure(...): -want, +got:\n%s", diff)
	}

	good := found.FindAllString(said, -1)

	set, said := try("[] # good", good[0], good[1])
	if said != "" || set.Roles[0].Revision != good[1] {
		t.Errorf("\nContent with its revision should be installed, and the revisions in the error should be valid.\nEnsure(...): %v, %q", set.Roles, said)
	}

	_, said = try("[] # evil", good[0], good[1])
	if diff := cmp.Diff(refused, found.ReplaceAllString(said, "R")); diff != "" || strings.Contains(said, good[0]) || strings.Contains(said, good[1]) {
		t.Errorf("\nContent with other revisions should be refused.\nEnsure(...): -want, +got:\n%s", diff)
	}
}

// TestVerifyNothing has a verification without requirements.
func TestVerifyNothing(t *testing.T) {
	in := inputs.Inputs{
		Config:       `ProviderConfig "x"`,
		Verification: &common.Verification{Roles: []common.VerifiedContent{{Name: "motd", Revision: strings.Repeat("a", 64)}}},
	}

	_, err := NewRequest(in)
	if diff := cmp.Diff(`ProviderConfig "x": "motd" in spec.verification.roles was not installed: nothing requires it`, needs.Message(err)); diff != "" {
		t.Errorf("NewRequest(...): -want error, +got error:\n%s", diff)
	}
}

// A signer is a directory of gpg with one key.
type signer string

func newSigner(t *testing.T, name string) signer {
	t.Helper()

	// The paths of the agent's sockets must be short.
	dir, err := os.MkdirTemp("/tmp", "gpg") //nolint:usetesting // See above.
	needs.OK(t, err)
	t.Cleanup(func() {
		_ = exec.Command("gpgconf", "--homedir", dir, "--kill", "all").Run()
		_ = os.RemoveAll(dir)
	})

	s := signer(dir)
	s.gpg(t, "--passphrase", "", "--quick-gen-key", name+"@example.org", "ed25519", "sign", "never")

	return s
}

func (s signer) sign(t *testing.T, text string) string {
	t.Helper()

	file := filepath.Join(string(s), "text")
	needs.OK(t, os.WriteFile(file, []byte(text), 0o600))

	return string(s.gpg(t, "--armor", "--output", "-", "--detach-sign", file))
}

func (s signer) public(t *testing.T) []byte {
	t.Helper()

	return s.gpg(t, "--export")
}

func (s signer) gpg(t *testing.T, args ...string) []byte {
	t.Helper()

	out, err := exec.Command("gpg", append([]string{"--homedir", string(s), "--batch", "--quiet"}, args...)...).Output()
	if err != nil {
		t.Fatalf("gpg %v: %v", args, err)
	}

	return out
}
