package security

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/test/canary"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
)

// foreign is the text of all files that an installation must not reach.
const foreign = "secret-of-another-tenant"

// attackScript is run in place of git, as if an attacker had taken git over. It prints OWNED for
// each file and directory that it reaches.
const attackScript = `
for f in TOKEN KUBE OTHER/project/.git-credentials STORE/tmp/other/home/ansible.cfg STORE/sets/other/galaxy.yml /proc/PROVIDER/environ; do
  cat "$f" >/dev/null && echo "OWNED $f"
done
for d in OTHER/project STORE/sets STORE/sets/other STORE/tmp STATE/runs; do
  ls "$d" >/dev/null && echo "OWNED $d"
  echo >"$d/evil" && echo "OWNED $d/evil"
done
`

// An installFixture adds malicious content to a fixture, in a directory that all installations may
// read, as if it came from a server.
type installFixture struct {
	*fixture

	mirror string
	// server belongs to the attacker. It keeps what it is sent.
	server *httptest.Server
	mu     sync.Mutex
	sent   strings.Builder
}

func newInstallFixture(t *testing.T) *installFixture {
	t.Helper()

	w := newFixture(t)
	l := &installFixture{fixture: w, mirror: filepath.Join(w.dir, "mirror")}

	l.server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()

		user, password, _ := r.BasicAuth()
		fmt.Fprintln(&l.sent, r.Header, user, password)
		http.NotFound(rw, r)
	}))
	t.Cleanup(l.server.Close)

	l.write(t, map[string]string{
		"TOKEN":                             foreign,
		"KUBE":                              foreign,
		"OTHER/project/.git-credentials":    foreign,
		"OTHER/project/token":               "token: " + foreign,
		"OTHER/project/galaxy.yml":          "namespace: other\nname: other\nversion: 1.0.0\nreadme: README.md\nauthors: [other]\n",
		"OTHER/project/README.md":           foreign,
		"OTHER/repo/meta/main.yml":          "galaxy_info: {author: other, description: " + foreign + ", license: none, min_ansible_version: '2.14'}\n",
		"OTHER/repo/tasks/main.yml":         "- ansible.builtin.debug: {msg: " + foreign + "}\n",
		"STORE/sets/other/galaxy.yml":       "namespace: other\nname: other\nversion: 1.0.0\nreadme: README.md\nauthors: [other]\n",
		"STORE/sets/other/README.md":        foreign,
		"STORE/tmp/other/home/ansible.cfg":  "[galaxy]\n# " + foreign,
		"MIRROR/collection/galaxy.yml":      "namespace: me\nname: mine\nversion: 1.0.0\nreadme: README.md\nauthors: [me]\ndependencies: {'git+file://OTHER/project': '*'}\n",
		"MIRROR/collection/README.md":       "# Mine\n",
		"MIRROR/linked/galaxy.yml":          "namespace: me\nname: linked\nversion: 1.0.0\nreadme: README.md\nauthors: [me]\n",
		"MIRROR/linked/README.md":           "# Linked\n",
		"MIRROR/plain/meta/main.yml":        "galaxy_info: {author: me, description: a role, license: none, min_ansible_version: '2.14'}\n",
		"MIRROR/plain/tasks/main.yml":       "[]\n",
		"MIRROR/bin/git":                    "#!/bin/sh\n{ " + attackScript + "} 2>/dev/null | grep OWNED >&2\nexit 1\n",
		"MIRROR/alternate/meta/main.yml":    "galaxy_info: {author: me, description: a role, license: none, min_ansible_version: '2.14'}\n",
		"MIRROR/alternate/tasks/main.yml":   "[]\n",
		"MIRROR/submodule/meta/main.yml":    "galaxy_info: {author: me, description: a role, license: none, min_ansible_version: '2.14'}\n",
		"MIRROR/submodule/.gitmodules":      "[submodule \"x\"]\n\tpath = x\n\turl = file://OTHER/repo\n",
		"MIRROR/submodule/.gitattributes":   "* filter=x diff=x merge=x\n",
		"MIRROR/submodule/tasks/main.yml":   "[]\n",
		"MIRROR/submodule/handlers/x.yml":   "[]\n",
		"MIRROR/submodule/defaults/all.yml": "{}\n",
	})

	needs.OK(t, os.Symlink(l.fill("TOKEN"), filepath.Join(l.mirror, "linked", "token")))
	needs.OK(t, os.Chmod(filepath.Join(l.mirror, "bin", "git"), 0o700))

	for _, dir := range []string{"OTHER/repo", "OTHER/project", "MIRROR/collection", "MIRROR/linked", "MIRROR/plain", "MIRROR/alternate", "MIRROR/submodule"} {
		sources.Commit(t, l.fill(dir))
	}

	// Objects of another repository, by the name of its commit.
	l.write(t, map[string]string{
		"MIRROR/alternate/.git/objects/info/alternates": "OTHER/repo/.git/objects\n",
		"MIRROR/alternate/.git/packed-refs":             sources.InGit(t, l.fill("OTHER/repo"), "rev-parse", "HEAD") + " refs/tags/theirs\n",
	})

	return l
}

// fill in the paths and addresses of the fixture.
func (l *installFixture) fill(s string) string {
	state := filepath.Join(l.dir, "state")

	return strings.NewReplacer(
		"TOKEN", filepath.Join(l.dir, "secrets/kubernetes.io/serviceaccount/token"), "KUBE", filepath.Join(l.dir, "kube/config"),
		"OTHER", filepath.Join(state, "runs/other"), "STORE", filepath.Join(state, "content"), "STATE", state,
		"MIRROR", l.mirror, "PROVIDER", fmt.Sprint(os.Getpid()), "SERVER", l.server.URL,
	).Replace(s)
}

func (l *installFixture) write(t *testing.T, files map[string]string) {
	t.Helper()

	for name, text := range files {
		needs.Write(t, "/", map[string]string{l.fill(name): l.fill(text)})
	}
}

// install the required content as the provider does, confined or not. It returns all that an
// attacker sees of the installation, and the foreign files that it has changed.
func (l *installFixture) install(t *testing.T, mode sandbox.Mode, in inputs.Inputs, path string) (seen string, changed string) {
	t.Helper()

	before := l.files(t)

	policy := l.policy()
	policy.Mode = mode
	policy.System = append(policy.System, system(t, l.dir)...)
	policy.Read = []string{l.mirror}

	// What serves other runs, and their installations, comes after the store has
	// looked at what an earlier process left.
	store := l.fill("STORE")
	hidden := filepath.Join(l.dir, "hidden")
	needs.OK(t, os.Rename(store, hidden))

	s, err := content.NewStore(content.Config{Dir: store, Installer: galaxy.Installer{
		Run: supervisor.Command.Run, Policy: policy, Environ: []string{"PATH=" + path},
	}})
	needs.OK(t, err)

	for _, name := range []string{"sets/other", "tmp/other"} {
		needs.OK(t, os.Rename(filepath.Join(hidden, name), filepath.Join(store, name)))
	}

	needs.OK(t, os.RemoveAll(hidden))

	req, err := content.NewRequest(in)
	needs.OK(t, err)

	set, release, err := s.Ensure(t.Context(), req)

	var all strings.Builder

	l.mu.Lock()
	defer l.mu.Unlock()

	fmt.Fprintln(&all, err, set.Collections, set.Roles, l.sent.String())

	if err == nil {
		for name, text := range canary.Files(t, set.Dir) {
			fmt.Fprintln(&all, name, text)
		}

		release()
		needs.OK(t, os.RemoveAll(set.Dir))
	}

	return all.String(), cmp.Diff(before, l.files(t))
}

// files that do not belong to the attacker, by their paths.
func (l *installFixture) files(t *testing.T) map[string]string {
	t.Helper()

	all := map[string]string{}

	for _, dir := range []string{"STATE/runs", "STORE/sets/other", "STORE/tmp/other", "TOKEN", "KUBE"} {
		maps.Copy(all, canary.Files(t, l.fill(dir)))
	}

	return all
}

// TestInstallAttacks has content, and configurations of tenants, attack others while the content
// is installed with the real ansible-galaxy and git, as the provider does it.
func TestInstallAttacks(t *testing.T) {
	if asUser(t) {
		return
	}

	cases := map[string]struct {
		reason       string
		requirements string
		credentials  map[string]string
		env          map[string]string
		// path of programs that come before those of the machine.
		path string
		// safe is true for attacks that the tools refuse, confined or not.
		safe bool
	}{
		"Repository": {
			reason:       "A requirement may not name a repository in another run's directory.",
			requirements: "roles: [{name: x, src: 'file://OTHER/repo', scm: git}]",
		},
		"Directory": {
			reason:       "A requirement may not name a directory of another run, of which ansible-galaxy makes a collection.",
			requirements: "collections: [{name: OTHER/project, type: dir}]",
		},
		"CollectionDependency": {
			reason:       "A collection may not name the files of another run in its dependencies.",
			requirements: "collections: [{name: 'file://MIRROR/collection', type: git}]",
		},
		"Link": {
			reason:       "A collection may not link to the token of the service account: its list of files would have the digest of the token.",
			requirements: "collections: [{name: 'file://MIRROR/linked', type: git}]",
			safe:         true,
		},
		"Alternate": {
			reason:       "A repository may not use the objects of another run's repository.",
			requirements: "roles: [{name: x, src: 'file://MIRROR/alternate', scm: git, version: theirs}]",
		},
		"Submodule": {
			reason:       "Submodules, filters and other drivers of a repository are not used.",
			requirements: "roles: [{name: x, src: 'file://MIRROR/submodule', scm: git}]",
			safe:         true,
		},
		"Token": {
			reason:       "A setting may not send another tenant's token to a server of the attacker.",
			requirements: "collections: [{name: acme.web}]",
			env:          map[string]string{"ANSIBLE_GALAXY_SERVER": "SERVER", "ANSIBLE_GALAXY_TOKEN_PATH": "OTHER/project/token"},
		},
		"LogInConfig": {
			reason:       "A log may not be written to content that others use.",
			requirements: "roles: [{name: x, src: 'file://MIRROR/plain', scm: git}]",
			credentials:  map[string]string{"ansible.cfg": "[defaults]\nlog_path = STORE/sets/other/README.md\n"},
		},
		"TakenOver": {
			reason:       "A program that an attacker has replaced reaches nothing more.",
			requirements: "roles: [{name: x, src: 'https://git.example.org/x', scm: git}]",
			path:         "MIRROR/bin",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			l := newInstallFixture(t)
			path := strings.TrimPrefix(l.fill(tc.path)+":"+os.Getenv("PATH"), ":")
			in := inputs.Inputs{Requirements: l.fill(tc.requirements), Env: map[string]string{}}

			for k, v := range tc.env {
				in.Env[k] = l.fill(v)
			}

			for k, v := range tc.credentials {
				in.Credentials = append(in.Credentials, inputs.File{Name: k, Data: []byte(l.fill(v))})
			}

			// The provider would refuse the request.
			needs.OK(t, in.Validate())

			for _, mode := range []sandbox.Mode{sandbox.Required, sandbox.Off} {
				seen, changed := l.install(t, mode, in, path)
				sum := sha256.Sum256([]byte(foreign))
				got := strings.Contains(seen, foreign) || strings.Contains(seen, hex.EncodeToString(sum[:])) || strings.Contains(seen, owned) || changed != ""

				if want := mode == sandbox.Off && !tc.safe; got != want {
					t.Errorf("%s\nWith confinement %s the attack succeeds: %t, want %t.\n%s\n%s", tc.reason, mode, got, want, seen, changed)
				}
			}
		})
	}
}

// TestInstallWorks installs what is harmless in the same way.
func TestInstallWorks(t *testing.T) {
	if asUser(t) {
		return
	}

	l := newInstallFixture(t)
	l.write(t, map[string]string{"MIRROR/collection/galaxy.yml": "namespace: me\nname: mine\nversion: 1.0.0\nreadme: README.md\nauthors: [me]\n"})
	sources.Commit(t, filepath.Join(l.mirror, "collection"))

	seen, changed := l.install(t, sandbox.Required, inputs.Inputs{
		Requirements: l.fill("{collections: [{name: 'file://MIRROR/collection', type: git}], roles: [{name: x, src: 'file://MIRROR/plain', scm: git}]}"),
	}, os.Getenv("PATH"))

	for _, want := range []string{"roles/x/tasks/main.yml", "ansible_collections/me/mine/README.md"} {
		if !strings.Contains(seen, want) {
			t.Errorf("%s should be installed:\n%s", want, seen)
		}
	}

	if changed != "" {
		t.Errorf("Nothing else should change: -before, +after:\n%s", changed)
	}
}
