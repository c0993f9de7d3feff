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
	"slices"
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
		must(t, hub.Publish(archive))

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

	cases := map[string]struct {
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
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			in := inputs.Inputs{
				Requirements: "collections: [{name: acme." + tc.collection + ", version: 1.0.0}]",
				Verification: tc.verification,
				Env:          map[string]string{"ANSIBLE_GALAXY_SERVER": server.URL},
				Credentials:  []inputs.File{{Name: "keys.gpg", Data: ours.public(t)}, {Name: "ansible.cfg", Data: []byte(tc.cfg)}},
			}

			maps.Copy(in.Env, tc.env)

			must(t, in.ValidateConfig())

			_, release, err := newStore(t, t.TempDir()).Ensure(t.Context(), request(t, in))
			if err == nil {
				release()
			}

			if got := message(err); got != tc.want {
				t.Errorf("\n%s\nEnsure(...): want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

func verify(signatures string) *common.Verification {
	return &common.Verification{Keyring: "keys.gpg", Signatures: signatures}
}

// TestRevisions installs content from each kind of source with the real
// ansible-galaxy, before and after the source has changed what it serves.
func TestRevisions(t *testing.T) {
	needs.Ansible(t)

	collection := func(t *testing.T, dir, text string) {
		t.Helper()

		files := collectionFiles("web", "1.0.0")
		files["roles/hello/tasks/main.yml"] = text
		write(t, filepath.Join(dir, "web"), files)
		command(t, filepath.Join(dir, "web"), "ansible-galaxy", "collection", "build", "--output-path", dir)
	}
	role := func(text string) map[string]string {
		files := roleFiles()
		files["tasks/main.yml"] = text

		return files
	}

	cases := map[string]struct {
		reason       string
		requirements string
		publish      func(t *testing.T, dir, text string)
		role         bool
	}{
		"Galaxy": {
			reason: "A server may serve something else as the same version.", requirements: "collections: [{name: acme.web, version: 1.0.0}]", publish: collection,
		},
		"Archive": {reason: "An archive may be replaced.", requirements: "collections: [{name: $FILES/acme-web-1.0.0.tar.gz, type: url}]", publish: collection},
		"Repository": {
			reason: "A branch moves.", requirements: "collections: [{name: 'file://$DIR/web', type: git, version: v1}]",
			publish: func(t *testing.T, dir, text string) {
				t.Helper()

				files := collectionFiles("web", "1.0.0")
				files["roles/hello/tasks/main.yml"] = text
				gitRepo(t, filepath.Join(dir, "web"), files)
			},
		},
		"Role": {
			reason: "A role of an archive is what the archive is.", requirements: "roles: [{name: web, src: $FILES/web.tar.gz}]", role: true,
			publish: func(t *testing.T, dir, text string) {
				t.Helper()
				tarball(t, filepath.Join(dir, "web"), role(text))
			},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			dir := filepath.Join(t.TempDir(), "src")
			files := serve(t, sources.Files(dir), sources.Options{})

			// ensure what a source with the text serves, in an empty store.
			ensure := func(text, revision string) (Set, string) {
				must(t, os.RemoveAll(dir))
				must(t, os.Mkdir(dir, 0o700))
				tc.publish(t, dir, text)

				hub := sources.NewGalaxy()

				archives, err := filepath.Glob(filepath.Join(dir, "acme-*.tar.gz"))
				must(t, err)

				for _, a := range archives {
					must(t, hub.Publish(a))
				}

				in := inputs.Inputs{
					Requirements: strings.NewReplacer("$FILES", files.URL, "$DIR", dir).Replace(tc.requirements),
					Env:          map[string]string{"ANSIBLE_GALAXY_SERVER": serve(t, hub, sources.Options{}).URL},
					Verification: &common.Verification{Collections: []common.VerifiedContent{{Name: "acme.web", Revision: revision}}},
				}
				if tc.role {
					in.Verification = &common.Verification{Roles: []common.VerifiedContent{{Name: "web", Revision: revision}}}
				}

				must(t, in.ValidateConfig())

				s := newStore(t, t.TempDir())

				set, release, err := s.Ensure(t.Context(), request(t, in))
				if err == nil {
					release()
				}

				wantNoLeftovers(t, s)

				if IsOwn(err) {
					t.Errorf("\nWhat a source serves is no fault of the provider.\nEnsure(...): %v", err)
				}

				return set, message(err)
			}

			_, said := ensure("[] # good", "")

			good := regexp.MustCompile(`[0-9a-f]{64}`).FindString(said)
			if !strings.HasPrefix(said, "cannot install content: ") || good == "" {
				t.Fatalf("\nWithout a revision the error says which it is.\nEnsure(...): %q", said)
			}

			set, said := ensure("[] # good", good)
			if said != "" {
				t.Fatalf("\nWhat has its revision is installed.\nEnsure(...): %q", said)
			}

			for _, item := range slices.Concat(set.Collections, set.Roles) {
				if item.Revision != "" && item.Revision != good {
					t.Errorf("\nWhat is shown is what is to be copied.\nEnsure(...): want %s, got %v", good, item)
				}
			}

			_, said = ensure("[] # evil", good)
			if !strings.HasPrefix(said, "cannot install content: ") || strings.Contains(said, good) {
				t.Errorf("\n%s\nEnsure(...): %q", tc.reason, said)
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
	must(t, err)
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
	must(t, os.WriteFile(file, text, 0o600))

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
	must(t, err)
	defer f.Close()

	z, err := gzip.NewReader(f)
	must(t, err)

	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		must(t, err)

		if h.Name == "MANIFEST.json" {
			text, err := io.ReadAll(r)
			must(t, err)

			return text
		}
	}
}

// TestValidateVerification says what verifies nothing.
func TestValidateVerification(t *testing.T) {
	const config = `ProviderConfig "x": spec.verification.`

	cases := map[string]struct {
		reason string
		file   inputs.File
		v      *common.Verification
		want   string
	}{
		"Missing": {reason: "A keyring is a credential.", file: inputs.File{Name: "other"}, want: config + `keyring: Invalid value: "keys.gpg": must be the filename of one of the credentials`},
		"Empty":   {reason: "It has keys.", file: inputs.File{Name: "keys.gpg"}, want: config + `keyring: Invalid value: "keys.gpg": must have public keys as gpg --export writes them without --armor`},
		"Armored": {
			reason: "gpg reads no other.", file: inputs.File{Name: "keys.gpg", Data: []byte("-----BEGIN PGP PUBLIC KEY BLOCK-----")},
			want: config + `keyring: Invalid value: "keys.gpg": must have public keys as gpg --export writes them without --armor`,
		},
		"Keys":    {reason: "As gpg writes them.", file: inputs.File{Name: "keys.gpg", Data: []byte{0x98}}},
		"Nothing": {reason: "It would look as if something was verified.", v: &common.Verification{Signatures: "+1"}, want: `ProviderConfig "x": spec.verification: Required value: one of keyring, collections and roles must be set`},
		"Unknown": {reason: "It may not be known yet.", v: &common.Verification{Collections: []common.VerifiedContent{{Name: "acme.web"}}}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.v == nil {
				tc.v = verify("+1")
			} else {
				tc.file.Name = "other"
			}

			in := inputs.Inputs{Config: `ProviderConfig "x"`, Credentials: []inputs.File{tc.file}, Verification: tc.v}
			if diff := cmp.Diff(tc.want, message(in.ValidateConfig())); diff != "" {
				t.Errorf("\n%s\nValidateConfig(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
