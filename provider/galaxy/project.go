package galaxy

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// ProjectDir is the directory of a set that has the project.
const ProjectDir = "project"

// project is what is installed, for error messages.
const project = "project"

// maxRequirements is the size of the largest file of requirements in a project, in bytes.
const maxRequirements = 1 << 20

// Project is where the project is.
func (w Workspace) Project() string { return filepath.Join(w.Set(), ProjectDir) }

// repository is where the project is fetched to. It is beside the set's own directories, so that
// the project need not be copied.
func (w Workspace) repository() string { return filepath.Join(w.Set(), "repository") }

// patterns quotes a path for what git takes for a pattern.
// https://git-scm.com/docs/gitignore#_pattern_format
var patterns = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, " ", `\ `) //nolint:gochecknoglobals // It is never changed.

// A fetch of a project with git.
type fetch struct {
	Installer

	req Request
	w   Workspace
	r   Recipe
}

// project fetches the project of a request. It returns the request with the requirements of the project in place
// of the project, and which project it is.
func (i Installer) project(ctx context.Context, req Request, w Workspace,
	r Recipe,
) (Request, *common.ContentItem, error) {
	p := req.Requirements.Project
	f := fetch{Installer: i, req: req, w: w, r: r}

	version, err := f.do(ctx, p)
	if err != nil {
		return req, nil, err
	}

	required, err := requiredBy(w.Project())
	if err != nil {
		return req, nil, NewInstallError(project, err)
	}

	all, err := req.Requirements.Under(required, w.Project())
	if err != nil {
		return req, nil, NewInstallError(project, err)
	}

	all.Project = nil

	clean, passwords, err := all.WithoutPasswords()
	if err != nil {
		return req, nil, NewInstallError(project, err)
	}

	req.Requirements = clean
	req.Credentials = withPasswords(req.Credentials, passwords)

	return req, &common.ContentItem{Name: requirements.WithoutUser(p.Src), Version: version}, nil
}

// do fetch the project into its directory, and return its commit, or the sum of its archive. Of a repository only the
// files of that directory are fetched, and no history, if the server lets git choose.
func (f fetch) do(ctx context.Context, p *requirements.Project) (version string, err error) {
	defer workdir.Remove(f.w.repository()) //nolint:errcheck // The whole workspace goes when that fails.

	if p.Archive {
		if version, err = f.unpack(ctx, p); err != nil {
			return "", err
		}

		dir, err := inside(f.w.repository())
		if err != nil {
			return "", err
		}

		return version, f.take(ctx, p, dir)
	}

	version, err = f.clone(ctx, p, "--filter=blob:none")

	// Some servers leave out files, and do not hand them over afterwards.
	if e := new(InstallError); errors.As(err, &e) && strings.Contains(e.Reason, "unadvertised object") {
		if err := workdir.Remove(f.w.repository()); err != nil {
			return "", errors.Wrap(err, "cannot remove a temporary directory")
		}

		version, err = f.clone(ctx, p, "--no-filter")
	}

	if err != nil {
		return "", err
	}

	return version, f.take(ctx, p, f.w.repository())
}

// clone the repository, with a filter of objects, and check out what the project needs.
func (f fetch) clone(ctx context.Context, p *requirements.Project, filter string) (commit string, err error) {
	if err := os.Mkdir(f.w.repository(), 0o700); err != nil {
		return "", errors.Wrap(err, "cannot make a temporary directory")
	}

	// A template of the machine may have hooks.
	for _, args := range [][]string{{"init", "--quiet", "--template="}, {"remote", "add", "origin", p.Src}} {
		if _, err := f.git(ctx, args...); err != nil {
			return "", err
		}
	}

	if commit, err = f.find(ctx, p, filter); err != nil {
		return "", err
	}

	var steps [][]string
	if p.Path != "" {
		steps = append(steps, []string{"sparse-checkout", "set", "--no-cone", "/" + patterns.Replace(p.Path) + "/"})
	}

	steps = append(steps, []string{"checkout", "--quiet", "--detach", commit})
	if p.Submodules {
		steps = append(steps, []string{
			"submodule", "--quiet", "update", "--init", "--recursive", "--depth=1", "--",
			cmp.Or(p.Path, "."),
		})
	}

	for _, args := range steps {
		if _, err := f.git(ctx, args...); err != nil {
			return "", err
		}
	}

	return commit, nil
}

// find the version, and return its commit. Servers know the names of branches and tags, and most of them commits
// by their hash in full.
func (f fetch) find(ctx context.Context, p *requirements.Project, filter string) (string, error) {
	_, err := f.git(ctx, "fetch", "--quiet", "--no-tags", "--depth=1", filter, "origin", cmp.Or(p.Version, "HEAD"))
	at := "FETCH_HEAD"

	if e := new(InstallError); errors.As(err, &e) && p.IsCommit() {
		at = p.Version
		_, err = f.git(ctx, "fetch", "--quiet", "--no-tags", filter, "origin", "+refs/heads/*:refs/remotes/origin/*",
			"+refs/tags/*:refs/tags/*")
	}

	if err != nil {
		return "", f.notFound(p, err)
	}

	out, err := f.git(ctx, "rev-parse", "--verify", "--end-of-options", at+"^{commit}")

	return strings.TrimSpace(out), f.notFound(p, err)
}

// notFound says what git means when it does not find a version.
func (f fetch) notFound(p *requirements.Project, err error) error {
	e := new(InstallError)
	if !errors.As(err, &e) {
		return err
	}

	for _, said := range []string{"couldn't find remote ref", "Needed a single revision", "not our ref"} {
		if strings.Contains(e.Reason, said) {
			return NewInstallError(project, errors.Errorf("%s has no tag, branch or commit %q", requirements.WithoutUser(p.Src),
				cmp.Or(p.Version, "HEAD")))
		}
	}

	return err
}

// take the directory of the project out of the directory of its repository, or its archive.
func (f fetch) take(ctx context.Context, p *requirements.Project, from string) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return errors.Wrap(err, "cannot read a repository")
	}
	defer root.Close() //nolint:errcheck // It was only read.

	dir, in := "", ""
	if !p.Archive {
		in = fmt.Sprintf(" in %q", cmp.Or(p.Version, "HEAD"))
	}

	for part := range strings.SplitSeq(p.Path, "/") {
		if dir = path.Join(dir, part); dir == "" {
			continue
		}

		info, err := root.Lstat(dir)

		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && !info.IsDir():
			return NewInstallError(project,
				errors.Errorf("%s has no directory %q%s", requirements.WithoutUser(p.Src), p.Path, in))
		case err != nil:
			return errors.Wrap(err, "cannot read a repository")
		}
	}

	if err := os.Rename(filepath.Join(from, dir), f.w.Project()); err != nil {
		return errors.Wrap(err, "cannot move a project to its place")
	}

	return checkProject(ctx, f.w.Project())
}

// checkProject removes what git has left in a project for itself, and returns an error when a link leads out of
// the project: its target would not be there where the project runs.
func checkProject(ctx context.Context, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return errors.Wrap(err, "cannot read a project")
	}
	defer root.Close() //nolint:errcheck // It was only read.

	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(name, dir+string(filepath.Separator))

		switch {
		case err != nil:
			return errors.Wrap(err, "cannot read a project")
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case d.Name() == ".git" && d.IsDir():
			return cmp.Or(root.RemoveAll(rel), fs.SkipDir)
		case d.Name() == ".git":
			return root.Remove(rel)
		case d.Type()&fs.ModeSymlink == 0:
			return nil
		}

		if _, err := root.Stat(rel); err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}

		target, _ := os.Readlink(name)

		return NewInstallError(project,
			errors.Errorf("%s is a link to %s, which is not in the project: give a path that has both", rel, target))
	})
}

// requiredBy returns what the files of requirements in a project require.
func requiredBy(dir string) (requirements.File, error) {
	all := requirements.File{}

	root, err := os.OpenRoot(dir)
	if err != nil {
		return all, errors.Wrap(err, "cannot read a project")
	}
	defer root.Close() //nolint:errcheck // It was only read.

	for _, name := range []string{
		"requirements.yml", "requirements.yaml",
		"collections/requirements.yml", "collections/requirements.yaml",
		"roles/requirements.yml", "roles/requirements.yaml",
	} {
		text, err := workdir.ReadFile(root, name, maxRequirements)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}

		if err != nil {
			return all, err
		}

		f, err := requirements.ParseIn(string(text), func(name string) ([]byte, error) {
			return workdir.ReadFile(root, name, maxRequirements)
		})
		if err == nil {
			all, err = all.Both(f)
		}

		if err != nil {
			return all, errors.Wrap(err, name)
		}
	}

	return all, nil
}

// git runs git in the repository, and returns its output.
func (f fetch) git(ctx context.Context, args ...string) (string, error) {
	out := &tail{max: maxOutput}
	// Nothing of a repository is a program for git.
	argv := slices.Concat([]string{
		"git", "-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false", "-c",
		"gc.auto=0",
	}, args)

	err := f.run(ctx, f.req, f.w, f.r, project, Program{Argv: argv, Env: f.r.Env, Dir: f.w.repository(), Out: out}, out)

	return out.String(), err
}
