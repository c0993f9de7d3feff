package content

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/certs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
)

// Credentials of several cases.
const (
	cfgToken = "[galaxy]\nserver_list = hub\n[galaxy_server.hub]\nurl = $HUB/\ntoken = $SECRET\n"
	cfgBasic = "[galaxy]\nserver_list = hub\n[galaxy_server.hub]\nurl = $HUB/api/\nusername = me\npassword = $SECRET\n"
	cfgHub   = "[galaxy]\nserver_list = published, public\n" +
		"[galaxy_server.published]\nurl = $HUB/api/galaxy/content/published/\nauth_url = $LOGIN/auth/token\ntoken = refresh-$SECRET\n" +
		"[galaxy_server.public]\nurl = $PUBLIC/\n"
	gitLogin = "https://other:wrong@git.example.org\nhttps://other:wrong@127.0.0.1:1\nhttps://me:$SECRET@$GITHOST\n"
	netLogin = "machine $FILEHOST login me password $SECRET\n"
)

// noRevision ignores revisions and servers, which differ in each
// test.
var noRevision = cmpopts.IgnoreFields(common.ContentItem{}, "Revision", "Source")

// A sourceCase installs from a server. The credentials have the certificate of the authority, ca.crt, unless the case
// sets it, and ansible-galaxy uses the public server of the test.
type sourceCase struct {
	reason       string
	requirements string
	project      *common.Project
	credentials  map[string]string
	vars         map[string]string

	collections, roles []common.ContentItem
	// version of the project, and its files; empty to not compare them.
	version string
	files   []string
	err     string
}

// check tests cases.
func (w *world) check(t *testing.T, cases map[string]sourceCase) {
	t.Helper()

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			credentials := map[string]string{"ca.crt": "$CA"}
			maps.Copy(credentials, tc.credentials)

			vars := map[string]string{"ANSIBLE_GALAXY_SERVER": "$PUBLIC"}
			if credentials["ca.crt"] != "" && tc.vars["GIT_SSL_CAINFO"] == "" {
				vars["SSL_CERT_FILE"] = "ca.crt"
			}

			maps.Copy(vars, tc.vars)

			in := w.inputs(tc.requirements, credentials, vars)
			if tc.project != nil {
				tc.project.Src = w.expand(tc.project.Src)
				in.Parameters.Project = tc.project
			}

			set, err := installs(t, in)
			got := sourceCase{collections: set.Collections, roles: set.Roles, err: strings.TrimPrefix(w.collapse(err), "cannot install ")}
			want := sourceCase{collections: tc.collections, roles: tc.roles, version: tc.version, files: tc.files, err: tc.err}

			if set.Project != nil {
				got.version = set.Project.Version
			}

			if tc.files != nil {
				got.files = filesOf(t, set.ProjectPath())
			}

			if diff := cmp.Diff(want, got, cmp.AllowUnexported(sourceCase{}), cmpopts.EquateEmpty(), noRevision); diff != "" {
				t.Errorf("\n%s\nEnsure(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestSources installs from servers of each type, with the real ansible-galaxy, git and ssh.
func TestSources(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	w := newWorld(t)

	t.Run("Content", func(t *testing.T) {
		t.Cleanup(func() {
			if got := strings.Join(w.public.Requests(), "\n"); strings.Count(got, "/artifacts/") != 1 {
				t.Errorf("\nOnly the server of a collection should be used: the other server should have served one collection only.\n%s", got)
			}
		})
		w.check(t, contents())
	})

	for name, cases := range map[string]map[string]sourceCase{"Failures": refusals(), "Projects": w.projects(t), "Archives": w.archives(t)} {
		t.Run(name, func(t *testing.T) { w.check(t, cases) })
	}
}

// contents returns cases of collections and roles.
func contents() map[string]sourceCase {
	web := func(version string) []common.ContentItem {
		return []common.ContentItem{{Name: "acme.base", Version: "1.5.0"}, {Name: "acme.web", Version: version}}
	}
	tools := []common.ContentItem{{Name: "acme.tools", Version: "0.1.0"}}
	motd := []common.ContentItem{{Name: "motd", Version: "v1"}}

	return map[string]sourceCase{
		"GalaxyToken": {
			reason: "A range resolves to its latest version, with the dependencies.", requirements: "collections: [{name: acme.web, version: '>=1.0.0,<2.0.0'}]",
			credentials: map[string]string{"ansible.cfg": cfgToken}, collections: web("1.2.0"),
		},
		"GalaxyPassword": {
			reason: "Without a version, the latest version is installed.", requirements: "collections: [acme.web]",
			credentials: map[string]string{"ansible.cfg": cfgBasic}, collections: web("2.0.0"),
		},
		"GalaxyTokenFile": {
			reason: "A single server needs no ansible.cfg.", requirements: "collections: [{name: acme.web, version: 1.0.0}]",
			credentials: map[string]string{"galaxy_token": "token: $SECRET\n"},
			vars:        map[string]string{"ANSIBLE_GALAXY_SERVER": "$HUB", "ANSIBLE_GALAXY_TOKEN_PATH": "galaxy_token"},
			collections: web("1.0.0"),
		},
		"AutomationHub": {
			reason: "A hub has a login of its own, and other servers follow it in the list.", requirements: "collections: [{name: acme.web, version: '>=1,<2'}]",
			credentials: map[string]string{"ansible.cfg": cfgHub}, collections: web("1.2.0"),
		},
		"ServerOfRequirement": {
			reason: "A requirement may name its server.", requirements: "collections: [{name: acme.base, source: public}]",
			credentials: map[string]string{"ansible.cfg": cfgHub},
			collections: []common.ContentItem{{Name: "acme.base", Version: "1.5.0"}},
		},
		"GitHTTPS": {
			reason:       "git uses the password for the host and port.",
			requirements: "{collections: [{name: $GIT/tools.git, version: v1}], roles: [{src: $GIT/motd.git, version: v1}]}",
			credentials:  map[string]string{".git-credentials": gitLogin}, collections: tools, roles: motd,
		},
		"GitNetrc": {
			reason:       "git reads a .netrc. A directory of the provider's image may contain collections.",
			requirements: "{collections: [{name: $ROOT/tools.git, type: dir}], roles: [{src: $GIT/motd.git, version: v1}]}",
			credentials:  map[string]string{".netrc": netLogin}, vars: map[string]string{"GIT_SSL_CAINFO": "ca.crt"}, collections: tools, roles: motd,
		},
		"Mixed": {
			reason: "ssh needs only a key and known_hosts, archives use a password of a .netrc, and a server has the latest version of a role. " +
				"A galaxy.yml may have a manifest with directives, for which ansible-galaxy needs another Python package.",
			requirements: "{collections: [{name: $SSH/tools.git, type: git}, $FILES/acme-base-1.5.0.tar.gz, {name: 'file://$ROOT/chosen.git', type: git}], " +
				"roles: [{src: $SSH/motd.git, version: v1}, {src: $FILES/issue.tar.gz, name: archive}, {name: issue, src: acme.issue}]}",
			credentials: map[string]string{"id_ed25519": "$KEY", "known_hosts": "$KNOWN", ".netrc": netLogin},
			collections: []common.ContentItem{{Name: "acme.base", Version: "1.5.0"}, {Name: "acme.chosen", Version: "0.1.0"}, tools[0]},
			roles:       []common.ContentItem{{Name: "archive"}, {Name: "issue", Version: "1.1.0"}, motd[0]},
		},
		"GitSSHKeyOfAnsible": {
			reason:       "The key may have any name that ansible.cfg contains, and no newline at its end.",
			requirements: "roles: [{src: $SSH/motd.git, version: v1}]",
			credentials: map[string]string{
				"ansible.cfg": "[defaults]\nprivate_key_file = deploy\n", "deploy": "$KEY", "id_rsa": "$OTHERKEY", "known_hosts": "$KNOWN",
			},
			roles: motd,
		},
	}
}

// TestSourcesAuthorities has the authority of one server in the directory of the system,
// and another one in the configuration.
func TestSourcesAuthorities(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	system, err := certs.New("Test authority")
	needs.OK(t, err)

	private, err := certs.New("Test authority")
	needs.OK(t, err)

	root, certs := t.TempDir(), t.TempDir()
	gitRepo(t, filepath.Join(root, "motd.git"), roleFiles())
	gitRepo(t, filepath.Join(root, "issue.git"), roleFiles())
	needs.OK(t, os.WriteFile(filepath.Join(certs, "system.pem"), system.PEM, 0o600))

	git := sources.Git(t, root)
	a, b := sources.Start(t, git, sources.Options{CA: system}), sources.Start(t, git, sources.Options{CA: private})
	s := newStore(t, Config{Dir: t.TempDir(), Installer: galaxy.Installer{Environ: []string{"SSL_CERT_DIR=" + certs}}})

	set, _ := ensure(t, s, request(t, inputs.Inputs{
		Requirements: "roles: [" + a.URL + "/motd.git, " + b.URL + "/issue.git]",
		Credentials:  []inputs.File{{Name: "ca.crt", Data: private.PEM}},
		Env:          map[string]string{"SSL_CERT_FILE": "ca.crt"},
	}))

	if diff := cmp.Diff([]common.ContentItem{{Name: "issue"}, {Name: "motd"}}, set.Roles, noRevision); diff != "" {
		t.Errorf("\nThe authorities of the system should stay valid.\nEnsure(...): -want, +got:\n%s", diff)
	}
}
