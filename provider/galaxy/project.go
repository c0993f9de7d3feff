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

// ProjectDir is the directory of the project in an installation.
const ProjectDir = "project"

// project is the subject of error messages.
const project = "project"

// maxRequirements is the size of the largest file of requirements in a project, in bytes.
const maxRequirements = 1 << 20

// project is the directory of the project.
func (w Workspace) project() string { return filepath.Join(w.Set, ProjectDir) }

// repository is the directory of the clone or the unpacked archive. It is on the same file system as project, so that
// the project is moved and not copied.
func (w Workspace) repository() string { return filepath.Join(w.Set, "repository") }

// patterns escapes the characters of a path that have a meaning in a pattern of git.
// https://git-scm.com/docs/gitignore#_pattern_format
var patterns = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, " ", `\ `) //nolint:gochecknoglobals // It is never changed.

// project fetches the project of the request, and returns its URL and version. It merges the requirements of the
// project into those of the request.
func (in *installation) project(ctx context.Context) (*common.ContentItem, error) {
	p := in.req.Requirements.Project

	version, err := in.fetch(ctx, p)
	if err != nil {
		return nil, err
	}

	required, err := readRequirements(in.w.project())
	if err != nil {
		return nil, NewInstallError(project, err)
	}

	all, err := in.req.Requirements.WithProject(required, in.w.project())
	if err != nil {
		return nil, NewInstallError(project, err)
	}

	in.req.Requirements = all

	return &common.ContentItem{Name: requirements.WithoutUser(p.URL()), Version: version}, nil
}

// fetch the project into its directory, and return its commit, or the digest of its archive. A clone has no history
// and, if the server supports filters, only the files of the project's path.
func (in *installation) fetch(ctx context.Context, p *requirements.Project) (version string, err error) {
	defer workdir.Remove(in.w.repository()) //nolint:errcheck // The workspace is removed later.

	switch {
	case p.Tree != "":
		// The tree may be a link. os.DirFS can read links.
		tree, _ := os.DirFS(p.Tree).(fs.ReadLinkFS)
		err = errors.Wrap(os.CopyFS(in.w.repository(), workTree{tree}), "cannot copy the project")
	case p.IsArchive():
		version, err = in.unpack(ctx, p)
	default:
		version, err = in.clone(ctx, p, "--filter=blob:none")

		// Some servers apply the filter, but later refuse to send the omitted files.
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

	return version, in.moveProject(ctx, p)
}

// A workTree is the file system of a directory without git's own files, sockets, pipes and devices.
type workTree struct{ fs.ReadLinkFS }

func (t workTree) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(t.ReadLinkFS, name)

	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return e.Name() == ".git" || e.Type()&^(fs.ModeDir|fs.ModeSymlink) != 0
	}), err
}

// clone the repository, with a filter of objects, and check out the files that the project needs.
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

	at, err := in.fetchVersion(ctx, p, filter)
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

// fetchVersion fetches the version, and returns its name in the clone. Servers find branches and tags by name, and most
// of them commits by the full hash. For any other commit it fetches all branches and tags.
func (in *installation) fetchVersion(
	ctx context.Context, p *requirements.Project, filter string,
) (at string, err error) {
	fetch := []string{"fetch", "--quiet", "--no-tags", filter, "origin"}

	_, err = in.git(ctx, append(slices.Clip(fetch), "--depth=1", cmp.Or(p.Version, "HEAD"))...)
	if !errors.As(err, new(*InstallError)) || !p.IsCommit() {
		return "FETCH_HEAD", err
	}

	_, err = in.git(ctx, append(fetch, "+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")...)

	return p.Version, err
}

// moveProject moves the directory of the project from its repository or archive to its place. Archives of git hosts
// have all files in one directory, which is named after the version.
func (in *installation) moveProject(ctx context.Context, p *requirements.Project) error {
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

// checkProject removes git's own files from a project. It returns an error for a link that leads out of the project,
// since its target is missing where the project runs.
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

// readRequirements returns the requirements in the files of a project.
func readRequirements(dir string) (requirements.File, error) {
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
			all, err = all.Union(f)
		}

		if err != nil {
			return all, errors.Wrap(err, name)
		}
	}

	return all, nil
}

// git runs git in the repository, and returns its output. It runs no hooks.
func (in *installation) git(ctx context.Context, args ...string) (string, error) {
	argv := []string{"git", "-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false", "-c", "gc.auto=0"}

	return in.run(ctx, project, in.w.repository(), append(argv, args...)...)
}
