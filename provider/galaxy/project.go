package galaxy

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
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

// project is where the project is.
func (w Workspace) project() string { return filepath.Join(w.Set, ProjectDir) }

// repository is where the project is fetched to. It is beside the set's own directories, so that
// the project need not be copied.
func (w Workspace) repository() string { return filepath.Join(w.Set, "repository") }

// patterns quotes a path for what git takes for a pattern.
// https://git-scm.com/docs/gitignore#_pattern_format
var patterns = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, " ", `\ `) //nolint:gochecknoglobals // It is never changed.

// project fetches the project of the request, and says which project it is. What the project requires takes its place
// in the request.
func (in *installation) project(ctx context.Context) (*common.ContentItem, error) {
	p := in.req.Requirements.Project

	version, err := in.fetch(ctx, p)
	if err != nil {
		return nil, err
	}

	required, err := requiredBy(in.w.project())
	if err != nil {
		return nil, NewInstallError(project, err)
	}

	all, err := in.req.Requirements.Under(required, in.w.project())
	if err != nil {
		return nil, NewInstallError(project, err)
	}

	in.req.Requirements = all

	return &common.ContentItem{Name: requirements.WithoutUser(p.URL()), Version: version}, nil
}

// fetch the project into its directory, and return its commit, or the sum of its archive. Of a repository only the
// files of that directory are fetched, and no history, if the server lets git choose.
func (in *installation) fetch(ctx context.Context, p *requirements.Project) (version string, err error) {
	defer workdir.Remove(in.w.repository()) //nolint:errcheck // The whole workspace goes when that fails.

	switch {
	case p.Tree != "":
		// The tree may be a link. That of a directory reads links.
		tree, _ := os.DirFS(p.Tree).(fs.ReadLinkFS)
		err = errors.Wrap(os.CopyFS(in.w.repository(), workTree{tree}), "cannot copy the project")
	case p.IsArchive():
		version, err = in.unpack(ctx, p)
	default:
		version, err = in.clone(ctx, p, "--filter=blob:none")

		// Some servers leave out files, and do not hand them over afterwards.
		if e := new(InstallError); errors.As(err, &e) && strings.Contains(e.Reason, "unadvertised object") {
			err = errors.Wrap(workdir.Remove(in.w.repository()), "cannot remove a temporary directory")
			if err == nil {
				version, err = in.clone(ctx, p, "--no-filter")
			}
		}
	}

	if err != nil {
		return "", err
	}

	return version, in.take(ctx, p)
}

// A workTree is the file system of a directory without what git has there for itself, and without what is neither a
// directory, a link nor a file.
type workTree struct{ fs.ReadLinkFS }

func (t workTree) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(t.ReadLinkFS, name)

	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return e.Name() == ".git" || e.Type()&^(fs.ModeDir|fs.ModeSymlink) != 0
	}), err
}

// clone the repository, with a filter of objects, and check out what the project needs.
func (in *installation) clone(ctx context.Context, p *requirements.Project, filter string) (commit string, err error) {
	if err := os.Mkdir(in.w.repository(), 0o700); err != nil {
		return "", errors.Wrap(err, "cannot make a temporary directory")
	}

	// A template of the machine may have hooks.
	for _, args := range [][]string{{"init", "--quiet", "--template="}, {"remote", "add", "origin", p.URL()}} {
		if _, err := in.git(ctx, args...); err != nil {
			return "", err
		}
	}

	at, err := in.find(ctx, p, filter)
	if err != nil {
		return "", err
	}

	var steps [][]string
	if p.Path != "" {
		steps = append(steps, []string{"sparse-checkout", "set", "--no-cone", "/" + patterns.Replace(p.Path) + "/"})
	}

	steps = append(steps, []string{"checkout", "--quiet", "--detach", at})
	if p.Submodules {
		steps = append(steps, []string{
			"submodule", "--quiet", "update", "--init", "--recursive", "--depth=1", "--",
			cmp.Or(p.Path, "."),
		})
	}

	for _, args := range append(steps, []string{"rev-parse", "HEAD"}) {
		if commit, err = in.git(ctx, args...); err != nil {
			return "", err
		}
	}

	return strings.TrimSpace(commit), nil
}

// find the version, and return its name in the clone. Servers know the names of branches and tags, and most of them
// commits by their hash in full.
func (in *installation) find(ctx context.Context, p *requirements.Project, filter string) (at string, err error) {
	fetch := []string{"fetch", "--quiet", "--no-tags", filter, "origin"}

	_, err = in.git(ctx, append(slices.Clip(fetch), "--depth=1", cmp.Or(p.Version, "HEAD"))...)
	if !errors.As(err, new(*InstallError)) || !p.IsCommit() {
		return "FETCH_HEAD", err
	}

	_, err = in.git(ctx, append(fetch, "+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")...)

	return p.Version, err
}

// take the directory of the project out of that of its repository, or of its archive. Archives of git hosts have all
// files in a directory that is named by the version.
func (in *installation) take(ctx context.Context, p *requirements.Project) error {
	from, at := in.w.repository(), ""

	if !p.IsArchive() {
		at = fmt.Sprintf(" in %q", cmp.Or(p.Version, "HEAD"))
	} else if top, _ := os.ReadDir(from); p.Tree == "" && len(top) == 1 && top[0].IsDir() {
		from = filepath.Join(from, top[0].Name())
	}

	root, err := os.OpenRoot(from)
	if err != nil {
		return errors.Wrap(err, "cannot read a repository")
	}
	defer root.Close() //nolint:errcheck // It was only read.

	info, err := root.Lstat(cmp.Or(p.Path, "."))
	if err != nil || !info.IsDir() {
		return NewInstallError(project,
			errors.Errorf("%s has no directory %q%s", requirements.WithoutUser(p.URL()), p.Path, at))
	}

	if err := os.Rename(filepath.Join(from, p.Path), in.w.project()); err != nil {
		return errors.Wrap(err, "cannot move a project to its place")
	}

	return checkProject(ctx, in.w.project())
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

		f, err := requirements.Parse(string(text))
		if err == nil {
			all, err = all.Both(f)
		}

		if err != nil {
			return all, errors.Wrap(err, name)
		}
	}

	return all, nil
}

// git runs git in the repository, and returns its output. Nothing of a repository is a program for git.
func (in *installation) git(ctx context.Context, args ...string) (string, error) {
	argv := []string{"git", "-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false", "-c", "gc.auto=0"}

	return in.run(ctx, project, in.w.repository(), append(argv, args...)...)
}
