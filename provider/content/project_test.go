package content

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// siteFiles are the files of a repository with two projects. One needs a collection and two roles.
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
		"twice/requirements.yml":       "roles: [{name: motd, src: 'git+file://$ROOT/motd.git', version: v1}]\n",
		"twice/roles/requirements.yml": "roles: [{name: motd, src: 'git+file://$ROOT/motd.git', version: v2}]\n",
	}
}

// git executes git in a repository of a test, and returns its output.
func git(tb testing.TB, dir string, args ...string) string {
	tb.Helper()

	cmd := exec.Command(needs.Program(tb, "git"), append([]string{"-C", dir, "-c", "user.name=acme", "-c", "user.email=acme@example.org", "-c", "protocol.file.allow=always"}, args...)...)

	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("git %v: %v\n%s", args, err, out)
	}

	return strings.TrimSpace(string(out))
}

// projects returns cases of projects in a repository.
func (w *world) projects(t *testing.T) map[string]sourceCase {
	t.Helper()

	files := siteFiles()
	for name, text := range files {
		files[name] = w.expand(text)
	}

	repo := gitRepo(t, filepath.Join(w.root, "site.git"), files)
	git(t, repo, "config", "uploadpack.allowFilter", "true")
	git(t, repo, "branch", "-M", "trunk")

	first := git(t, repo, "rev-parse", "HEAD")

	needs.OK(t, os.Symlink("../shared/vars.yml", filepath.Join(repo, "web/prod/vars.yml")))
	needs.OK(t, os.Symlink("nested", filepath.Join(repo, "linked")))
	git(t, repo, "add", ".")
	git(t, repo, "commit", "-q", "-m", "links")
	git(t, repo, "submodule", "--quiet", "add", "file://"+w.root+"/motd.git", "nested/roles/motd")
	git(t, repo, "commit", "-q", "-m", "submodule")

	last := git(t, repo, "rev-parse", "HEAD")

	prod := []string{"run.sh", "site.yml"}
	tools := []common.ContentItem{{Name: "acme.tools", Version: "0.1.0"}}
	local := []common.ContentItem{{Name: "acme.local", Version: "0.3.0"}}
	nested := []string{"local/README.md", "local/galaxy.yml", "requirements.yml"}

	at := func(version, path string) *common.Project {
		return &common.Project{Src: "file://$ROOT/site.git", Version: version, Path: path}
	}

	return map[string]sourceCase{
		"HTTPS": {
			reason: "A directory of a repository is fetched over https.", project: &common.Project{Src: "$GIT/site.git", Version: "v1", Path: "web/prod"},
			credentials: map[string]string{".git-credentials": gitLogin}, version: first, files: prod,
		},
		"SSHCommit": {
			reason:      "A server with the older protocol serves neither commits by hash nor files that a partial clone has left out.",
			project:     &common.Project{Src: "$SSH/site.git", Version: first, Path: "web/prod"},
			credentials: map[string]string{"id_ed25519": "$KEY", "known_hosts": "$KNOWN"}, version: first, files: prod,
		},
		"ShortCommit": {reason: "A hash may be abbreviated.", project: at(first[:8], "web/prod"), version: first, files: prod},
		"ConfigurationWins": {
			reason:       "Requirements of the configuration take precedence over those of the project.",
			project:      at("v1", ""),
			requirements: "roles: [{name: motd, src: 'git+file://$ROOT/motd.git', version: HEAD}]",
			version:      first, collections: tools, roles: []common.ContentItem{{Name: "motd", Version: "HEAD"}},
		},
		"HeadWithoutSubmodules": {
			reason:  "Without a version, the default branch is used; submodules are empty, and a relative path is in the project.",
			project: at("", "nested"), version: last, collections: local, files: nested,
		},
		"Submodules": {
			reason:  "Submodules are fetched on request.",
			project: &common.Project{Src: "file://$ROOT/site.git", Version: "trunk", Path: "nested", Submodules: true},
			version: last, collections: local, files: append(nested[:3:3], "roles/motd/meta/main.yml", "roles/motd/tasks/main.yml"),
		},
		"NoVersion":          {reason: "The error names a missing version.", project: at("v9", ""), err: "project: couldn't find remote ref v9"},
		"NoPath":             {reason: "The error names a missing directory.", project: at("v1", "web/production"), err: `project: file://$ROOT/site.git has no directory "web/production" in "v1"`},
		"PathIsLink":         {reason: "A link is not a directory.", project: at("trunk", "linked"), err: `project: file://$ROOT/site.git has no directory "linked" in "trunk"`},
		"LinkOut":            {reason: "A link out of the directory is refused.", project: at("trunk", "web/prod"), err: "project: vars.yml is a link to ../shared/vars.yml, which is not in the project: give a path that has both"},
		"RequirementOutside": {reason: "A path of a requirement must be in the project.", project: at("v1", "outside"), err: `project: collection "../local" is outside of the project`},
		"RequirementTwice":   {reason: "Two different requirements of one role are ambiguous.", project: at("v1", "twice"), err: `project: roles/requirements.yml: roles[0] and roles[1] both bring "motd", but differ`},
	}
}

// TestProjectPartly fetches a project without other directories and without history.
func TestProjectPartly(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	repo := gitRepo(t, filepath.Join(t.TempDir(), "site"), siteFiles())
	git(t, repo, "config", "uploadpack.allowFilter", "true")

	large := git(t, repo, "rev-parse", "HEAD:web/large")
	old := git(t, repo, "rev-parse", "HEAD:web/prod/site.yml")

	needs.Write(t, repo, map[string]string{"web/prod/site.yml": "- hosts: other\n"})
	git(t, repo, "commit", "-q", "-am", "second")

	now := git(t, repo, "rev-parse", "HEAD:web/prod/site.yml")

	var objects string

	s := newStore(t, Config{Dir: t.TempDir(), Installer: galaxy.Installer{Run: func(p supervisor.Command, ctx context.Context) (int, error) {
		code, err := p.Run(ctx)
		if slices.Contains(p.Argv, "checkout") {
			objects = git(t, p.Dir, "cat-file", "--batch-all-objects", "--batch-check")
		}

		return code, err
	}}})

	in := inputs.Inputs{Parameters: common.AnsibleRunParameters{Project: &common.Project{Src: repoURL(repo), Path: "web/prod"}}}

	ensure(t, s, request(t, in))

	if !strings.Contains(objects, now) || strings.Contains(objects, large) || strings.Contains(objects, old) {
		t.Errorf("want %s, and neither %s nor %s, among:\n%s", now, large, old, objects)
	}
}
