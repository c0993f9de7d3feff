package content

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// siteFiles are those of a repository with two projects. One needs a collection and two roles.
func siteFiles() map[string]string {
	return map[string]string{
		"site.yml":                     "- hosts: all\n",
		"requirements.yml":             "collections: [{name: $ROOT/tools.git, type: git, version: v1}]\n",
		"roles/requirements.yml":       "- {src: 'git+file://$ROOT/motd.git', version: v1}\n",
		"roles/web/tasks/main.yml":     "[]\n",
		"web/prod/site.yml":            "- hosts: web\n",
		"web/prod/run.sh":              "#!/bin/sh\n",
		"web/prod/__pycache__/x":       "compiled\n",
		"web/shared/vars.yml":          "a: 1\n",
		"web/large":                    strings.Repeat("large\n", 1000),
		"local/galaxy.yml":             collectionFiles("local", "0.3.0")["galaxy.yml"],
		"local/README.md":              "# A collection\n",
		"nested/requirements.yml":      "collections: [{name: ./local, type: dir}]\n",
		"nested/local/galaxy.yml":      collectionFiles("local", "0.3.0")["galaxy.yml"],
		"nested/local/README.md":       "# A collection\n",
		"outside/requirements.yml":     "collections: [{name: ../local, type: dir}]\n",
		"strange/requirements.yml":     "collection: [acme.web]\n",
		"twice/requirements.yml":       "roles: [{name: motd, src: 'git+file://$ROOT/motd.git', version: v1}]\n",
		"twice/roles/requirements.yml": "roles: [{name: motd, src: 'git+file://$ROOT/motd.git', version: v2}]\n",
	}
}

// git in a repository of a test, and what it says.
func git(tb testing.TB, dir string, args ...string) string {
	tb.Helper()

	cmd := exec.Command(needs.Program(tb, "git"), append([]string{"-C", dir, "-c", "user.name=acme", "-c", "user.email=acme@example.org", "-c", "protocol.file.allow=always"}, args...)...)

	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("git %v: %v\n%s", args, err, out)
	}

	return strings.TrimSpace(string(out))
}

// TestProjects installs projects, with the real git and ssh.
func TestProjects(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	w := newWorld(t)
	files := siteFiles()
	for name, text := range files {
		files[name] = w.expand(text)
	}

	repo := gitRepo(t, filepath.Join(w.root, "site.git"), files)
	git(t, repo, "config", "uploadpack.allowFilter", "true")
	git(t, repo, "branch", "-M", "trunk")

	first := git(t, repo, "rev-parse", "HEAD")

	needs.OK(t, os.Symlink("../shared/vars.yml", filepath.Join(repo, "web/prod/vars.yml")))
	needs.OK(t, os.Symlink("/etc/passwd", filepath.Join(repo, "web/users")))
	needs.OK(t, os.Symlink("nested", filepath.Join(repo, "linked")))
	git(t, repo, "add", ".")
	git(t, repo, "commit", "-q", "-m", "links")
	git(t, repo, "submodule", "--quiet", "add", "file://"+w.root+"/motd.git", "nested/roles/motd")
	git(t, repo, "commit", "-q", "-m", "submodule")

	last := git(t, repo, "rev-parse", "HEAD")

	type want struct {
		version            string
		collections, roles []common.ContentItem
		files              []string
		err                string
	}

	prod := []string{"run.sh", "site.yml"}
	tools, motd := []common.ContentItem{{Name: "acme.tools", Version: "0.1.0"}}, []common.ContentItem{{Name: "motd", Version: "v1"}}
	local := []common.ContentItem{{Name: "acme.local", Version: "0.3.0"}}
	nested := []string{"local/README.md", "local/galaxy.yml", "requirements.yml"}

	for name, tc := range map[string]struct {
		reason       string
		project      common.Project
		requirements string
		credentials  map[string]string
		want         want
	}{
		"HTTPS": {
			reason: "A directory comes over https, without what is beside it.", project: common.Project{Src: "$GIT/site.git", Version: "v1", Path: "web/prod"},
			credentials: map[string]string{".git-credentials": gitLogin, "ca.crt": "$CA"}, want: want{version: first, files: prod},
		},
		"SSH": {
			reason: "A repository over ssh needs a key and a known host.", project: common.Project{Src: "$SSH/site.git", Version: "v1", Path: "web/prod"},
			credentials: map[string]string{"id_ed25519": "$KEY", "known_hosts": "$KNOWN"}, want: want{version: first, files: prod},
		},
		"SSHCommit": {
			reason:      "A server of the older protocol does not hand over commits by their hashes, nor files that it has left out.",
			project:     common.Project{Src: "$SSH/site.git", Version: first, Path: "web/prod"},
			credentials: map[string]string{"id_ed25519": "$KEY", "known_hosts": "$KNOWN"}, want: want{version: first, files: prod},
		},
		"Commit": {
			reason: "A commit is found by its hash.", project: common.Project{Src: "file://$ROOT/site.git", Version: first, Path: "web/prod"},
			want: want{version: first, files: prod},
		},
		"ShortCommit": {
			reason: "A hash may be abbreviated.", project: common.Project{Src: "file://$ROOT/site.git", Version: first[:8], Path: "web/prod"},
			want: want{version: first, files: prod},
		},
		"Requirements": {
			reason: "What the project requires is installed, too.", project: common.Project{Src: "file://$ROOT/site.git", Version: "v1"},
			want: want{version: first, collections: tools, roles: motd},
		},
		"ConfigurationWins": {
			reason:       "What the configuration requires counts, where the project requires the same.",
			project:      common.Project{Src: "file://$ROOT/site.git", Version: "v1"},
			requirements: "roles: [{name: motd, src: 'git+file://$ROOT/motd.git', version: HEAD}]",
			want:         want{version: first, collections: tools, roles: []common.ContentItem{{Name: "motd", Version: "HEAD"}}},
		},
		"HeadWithoutSubmodules": {
			reason:  "Without a version it is the branch that the repository names; submodules are empty, and a relative path is in the project.",
			project: common.Project{Src: "file://$ROOT/site.git", Path: "nested"}, want: want{version: last, collections: local, files: nested},
		},
		"Submodules": {
			reason:  "Submodules come if they are asked for.",
			project: common.Project{Src: "file://$ROOT/site.git", Version: "trunk", Path: "nested", Submodules: true},
			want:    want{version: last, collections: local, files: append(nested[:3:3], "roles/motd/meta/main.yml", "roles/motd/tasks/main.yml")},
		},
		"NoVersion": {
			reason: "A version that is not there is named.", project: common.Project{Src: "file://$ROOT/site.git", Version: "v9"},
			want: want{err: `cannot install project: file://$ROOT/site.git has no tag, branch or commit "v9"`},
		},
		"NoCommit": {
			reason: "So is a commit.", project: common.Project{Src: "file://$ROOT/site.git", Version: strings.Repeat("1", 40)},
			want: want{err: `cannot install project: file://$ROOT/site.git has no tag, branch or commit "` + strings.Repeat("1", 40) + `"`},
		},
		"NoPath": {
			reason: "So is a directory.", project: common.Project{Src: "file://$ROOT/site.git", Version: "v1", Path: "web/production"},
			want: want{err: `cannot install project: file://$ROOT/site.git has no directory "web/production" in "v1"`},
		},
		"PathIsFile": {
			reason: "A file is no directory.", project: common.Project{Src: "file://$ROOT/site.git", Version: "v1", Path: "site.yml"},
			want: want{err: `cannot install project: file://$ROOT/site.git has no directory "site.yml" in "v1"`},
		},
		"PathIsLink": {
			reason: "A link is no directory, so that it leads nowhere.", project: common.Project{Src: "file://$ROOT/site.git", Version: "trunk", Path: "linked"},
			want: want{err: `cannot install project: file://$ROOT/site.git has no directory "linked" in "trunk"`},
		},
		"LinkOut": {
			reason:  "A link to what is beside the directory leads nowhere.",
			project: common.Project{Src: "file://$ROOT/site.git", Version: "trunk", Path: "web/prod"},
			want:    want{err: "cannot install project: vars.yml is a link to ../shared/vars.yml, which is not in the project: give a path that has both"},
		},
		"LinkToMachine": {
			reason:  "A link to a file of the machine leads out of each project.",
			project: common.Project{Src: "file://$ROOT/site.git", Version: "trunk", Path: "web"},
			want:    want{err: "cannot install project: users is a link to /etc/passwd, which is not in the project: give a path that has both"},
		},
		"RequirementOutside": {
			reason: "A path of a requirement is in the project.", project: common.Project{Src: "file://$ROOT/site.git", Version: "v1", Path: "outside"},
			want: want{err: `cannot install project: collection "../local" is outside of the project`},
		},
		"RequirementStrange": {
			reason:  "A mistake in the requirements of a project is one of the project.",
			project: common.Project{Src: "file://$ROOT/site.git", Version: "v1", Path: "strange"},
			want:    want{err: `cannot install project: requirements.yml: "collection" is neither collections nor roles`},
		},
		"RequirementTwice": {
			reason: "It is not known which of two is meant.", project: common.Project{Src: "file://$ROOT/site.git", Version: "v1", Path: "twice"},
			want: want{err: `cannot install project: roles/requirements.yml: roles[0] and roles[1] both bring "motd", but differ`},
		},
		"WrongPassword": {
			reason: "The advice is that for all repositories.", project: common.Project{Src: "$GIT/site.git", Version: "v1"},
			credentials: map[string]string{".git-credentials": "https://me:wrong@$GITHOST", "ca.crt": "$CA"},
			want: want{err: "cannot install project: Authentication failed for '$GIT/site.git/'; " +
				"the credential .git-credentials must have a line https://USER:PASSWORD@HOST for this host and port"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			in := w.inputs(tc.requirements, tc.credentials, map[string]string{"SSL_CERT_FILE": "ca.crt"})
			tc.project.Src = w.expand(tc.project.Src)
			in.Parameters.Project = &tc.project

			set, err := installs(t, in)

			got := want{collections: set.Collections, roles: set.Roles, err: w.collapse(err)}
			if set.Project != nil {
				got.version = set.Project.Version
			}

			if tc.want.files != nil && err == "" {
				got.files = filesOf(t, set.ProjectPath())
			}

			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{}), cmpopts.EquateEmpty(), noRevision); diff != "" {
				t.Errorf("\n%s\nEnsure(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestProjectPartly fetches neither other directories nor history.
func TestProjectPartly(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	repo := gitRepo(t, filepath.Join(t.TempDir(), "site"), siteFiles())
	git(t, repo, "config", "uploadpack.allowFilter", "true")

	large := git(t, repo, "rev-parse", "HEAD:web/large")
	old := git(t, repo, "rev-parse", "HEAD:web/prod/site.yml")

	write(t, repo, map[string]string{"web/prod/site.yml": "- hosts: other\n"})
	git(t, repo, "commit", "-q", "-am", "second")

	now := git(t, repo, "rev-parse", "HEAD:web/prod/site.yml")

	var objects string

	s := newStore(t, t.TempDir(), withCommand(func(ctx context.Context, argv, env []string, dir string, out io.Writer) error {
		err := execute(ctx, argv, env, dir, out)
		if slices.Contains(argv, "checkout") {
			objects = git(t, dir, "cat-file", "--batch-all-objects", "--batch-check")
		}

		return err
	}))

	in := inputs.Inputs{Parameters: common.AnsibleRunParameters{Project: &common.Project{Src: repoURL(repo), Path: "web/prod"}}}

	ensure(t, s, request(t, in))

	if !strings.Contains(objects, now) || strings.Contains(objects, large) || strings.Contains(objects, old) {
		t.Errorf("want %s, and neither %s nor %s, among:\n%s", now, large, old, objects)
	}
}
