package content

import (
	"archive/tar"
	"compress/gzip"
	"io"
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

// TestVerification installs collections that are signed, or not, with the real
// ansible-galaxy and gpg.
func TestVerification(t *testing.T) {
	needs.Ansible(t)
	needs.Program(t, "gpg")

	src := t.TempDir()
	hub := sources.NewGalaxy()
	ours, theirs := newSigner(t, "ours"), newSigner(t, "theirs")

	for name, signers := range map[string][]signer{"plain": nil, "signed": {ours}, "both": {ours, theirs}, "forged": {theirs}} {
		archive := buildCollection(t, filepath.Join(src, name), name, "1.0.0")
		needs.OK(t, hub.Publish(archive))

		for _, s := range signers {
			hub.Sign("acme", name, "1.0.0", s.sign(t, manifestIn(t, archive)))
		}
	}

	server := serve(t, hub, sources.Options{})

	refused := func(name, why string) string {
		return "cannot install collections: Signature verification failed for 'acme." + name + "': " + why +
			"; it must be signed with a key in the keyring, which has public keys as gpg --export writes them, without --armor"
	}

	const none, some, few = "no successful signatures", "some signatures failed", "fewer successful signatures than required"

	for name, tc := range map[string]struct {
		reason       string
		collection   string
		verification *common.Verification
		env          map[string]string
		cfg          string
		want         string
	}{
		"Signed":      {reason: "One valid signature is enough.", collection: "signed", verification: verify("+1")},
		"Plain":       {reason: "None is not.", collection: "plain", verification: verify("+1"), want: refused("plain", none)},
		"PlainLoose":  {reason: "Unless it may be missing.", collection: "plain", verification: verify("1")},
		"Forged":      {reason: "A key that is not in the keyring signs nothing.", collection: "forged", verification: verify("+1"), want: refused("forged", none)},
		"ForgedLoose": {reason: "Also where a signature may be missing.", collection: "forged", verification: verify("1"), want: refused("forged", few)},
		"All":         {reason: "All that there are must be valid.", collection: "both", verification: verify("all"), want: refused("both", some)},
		"Two":         {reason: "Or so many.", collection: "both", verification: verify("2"), want: refused("both", few)},
		"Off": {
			reason: "Settings do not turn it off.", collection: "forged", verification: verify("+1"), want: refused("forged", none),
			env: map[string]string{"ANSIBLE_GALAXY_DISABLE_GPG_VERIFY": "1"}, cfg: "[galaxy]\ndisable_gpg_verify = true\nrequired_valid_signature_count = 1\n",
		},
		"None": {reason: "Without a keyring nothing is verified.", collection: "forged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			in := inputs.Inputs{
				Requirements: "collections: [{name: acme." + tc.collection + ", version: 1.0.0}]",
				Verification: tc.verification,
				Env:          map[string]string{"ANSIBLE_GALAXY_SERVER": server.URL},
				Credentials:  []inputs.File{{Name: "keys.gpg", Data: ours.public(t)}, {Name: "ansible.cfg", Data: []byte(tc.cfg)}},
			}

			maps.Copy(in.Env, tc.env)

			needs.OK(t, in.Validate())

			_, _, err := newStore(t, t.TempDir()).Ensure(t.Context(), request(t, in))
			if got := message(err); got != tc.want {
				t.Errorf("\n%s\nEnsure(...): want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

func verify(signatures string) *common.Verification {
	return &common.Verification{Keyring: "keys.gpg", Signatures: signatures}
}

// TestRevisions installs a collection and a role with the real ansible-galaxy, before and after their source has
// changed what it serves as the same version.
func TestRevisions(t *testing.T) {
	needs.Ansible(t)

	for name, tc := range map[string]struct {
		requirements string
		verification func(revision string) *common.Verification
		refused      string
	}{
		"Collection": {
			requirements: "collections: [{name: acme.web, version: 1.0.0}]",
			verification: func(revision string) *common.Verification {
				return &common.Verification{Collections: []common.VerifiedContent{{Name: "acme.web", Revision: revision}}}
			},
			refused: `"acme.web" has the revision R, version "1.0.0", which is not that in spec.verification.collections`,
		},
		"Role": {
			requirements: "roles: [{name: motd, src: $FILES/motd.tar.gz}]",
			verification: func(revision string) *common.Verification {
				return &common.Verification{Roles: []common.VerifiedContent{{Name: "motd", Revision: revision}}}
			},
			refused: `"motd" has the revision R, version "", which is not that in spec.verification.roles`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			// try to install what a source with the text serves, in an empty store.
			try := func(text, revision string) (Set, string) {
				src, hub := t.TempDir(), sources.NewGalaxy()
				tasks := map[string]string{"roles/hello/tasks/main.yml": text, "tasks/main.yml": text}
				files := serve(t, sources.Files(src), sources.Options{})

				write(t, filepath.Join(src, "web"), collectionFiles("web", "1.0.0"))
				write(t, filepath.Join(src, "web"), tasks)
				command(t, filepath.Join(src, "web"), "ansible-galaxy", "collection", "build", "--output-path", src)
				needs.OK(t, hub.Publish(filepath.Join(src, "acme-web-1.0.0.tar.gz")))
				write(t, filepath.Join(src, "motd"), roleFiles())
				tarball(t, filepath.Join(src, "motd"), tasks)

				in := inputs.Inputs{
					Requirements: strings.ReplaceAll(tc.requirements, "$FILES", files.URL),
					Env:          map[string]string{"ANSIBLE_GALAXY_SERVER": serve(t, hub, sources.Options{}).URL},
					Verification: tc.verification(revision),
				}
				needs.OK(t, in.Validate())

				s := newStore(t, t.TempDir())
				set, _, err := s.Ensure(t.Context(), request(t, in))
				wantNoLeftovers(t, s)

				if IsOwn(err) {
					t.Errorf("\nWhat a source serves is no fault of the provider.\nEnsure(...): %v", err)
				}

				return set, message(err)
			}

			_, said := try("[] # good", "")

			good := regexp.MustCompile(`[0-9a-f]{64}`).FindString(said)
			if diff := cmp.Diff("cannot install content: "+strings.Replace(tc.refused, "R", good, 1), said); diff != "" || good == "" {
				t.Fatalf("\nWithout a revision the error says which it is.\nEnsure(...): -want, +got:\n%s", diff)
			}

			set, said := try("[] # good", good)
			if said != "" {
				t.Fatalf("\nWhat has its revision is installed.\nEnsure(...): %q", said)
			}

			for _, item := range set.Roles {
				if item.Revision != good {
					t.Errorf("\nWhat is shown is what is to be copied.\nEnsure(...): want %s, got %v", good, item)
				}
			}

			if _, said = try("[] # evil", good); !strings.HasPrefix(said, "cannot install content: ") || strings.Contains(said, good) {
				t.Errorf("\nWhat has another revision is refused.\nEnsure(...): %q", said)
			}
		})
	}
}

// TestVerifyNothing names what is to be verified where nothing is required.
func TestVerifyNothing(t *testing.T) {
	in := inputs.Inputs{
		Config:       `ProviderConfig "x"`,
		Verification: &common.Verification{Roles: []common.VerifiedContent{{Name: "motd", Revision: strings.Repeat("a", 64)}}},
	}

	_, err := NewRequest(in)
	if diff := cmp.Diff(`ProviderConfig "x": "motd" in spec.verification.roles was not installed: nothing requires it`, message(err)); diff != "" {
		t.Errorf("NewRequest(...): -want error, +got error:\n%s", diff)
	}
}

// A signer has a key, in a directory of its own.
type signer string

func newSigner(t *testing.T, name string) signer {
	t.Helper()

	// Sockets of the agent have short names.
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

func (s signer) sign(t *testing.T, text []byte) string {
	t.Helper()

	file := filepath.Join(string(s), "text")
	needs.OK(t, os.WriteFile(file, text, 0o600))

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

// manifestIn an archive of a collection, which is what is signed.
func manifestIn(t *testing.T, archive string) []byte {
	t.Helper()

	f, err := os.Open(archive)
	needs.OK(t, err)
	defer f.Close()

	z, err := gzip.NewReader(f)
	needs.OK(t, err)

	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		needs.OK(t, err)

		if h.Name == "MANIFEST.json" {
			text, err := io.ReadAll(r)
			needs.OK(t, err)

			return text
		}
	}
}
