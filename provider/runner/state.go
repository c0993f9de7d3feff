package runner

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// Bounds of the search for the state: what has more files, or more bytes, may look at it. A file that is larger than
// maxSearched is none of a playbook or a role.
const (
	maxSearchedFiles = 5_000
	maxSearchedBytes = 32 << 20
	maxSearched      = 1 << 20
)

// errFound ends a search.
var errFound = errors.New("the content may look at the state")

// ignoresState is true for content that cannot do anything else in the state absent, since neither the provider's
// variable nor that of the state occurs in its text: in the private data directory, which was written, in installed
// roles, in playbooks, roles and plugins of installed collections, and in variables. Content from elsewhere, or that is
// encrypted, may.
func (r *Runner) ignoresState(run Spec, p plan) bool {
	params := run.Inputs.Parameters

	// Deletion runs what it says.
	if params.OnDelete != nil {
		return false
	}

	words := [][]byte{[]byte(common.ProviderVariable)}

	if params.StateVariable != nil {
		words = append(words, []byte(params.StateVariable.Name))
	}

	s := search{words: words}

	s.found = slices.ContainsFunc(p.Env, func(v string) bool { return r.leadsElsewhere(run, p.Dir, v) })

	// The image of another may have content.
	s.found = s.found || run.Inputs.Execution.Image != ""

	for _, raw := range []*runtime.RawExtension{params.Vars, params.UnsafeVars} {
		if raw != nil {
			s.text(raw.Raw)
		}
	}

	for _, f := range run.Inputs.VarFiles {
		s.text(f.Data)
	}

	s.directory(p.Dir, projectDir, inventoryDir)
	s.directory(run.Content.Dir, galaxy.RolesDir, path.Join(galaxy.CollectionsDir, "ansible_collections/*/*/roles"),
		path.Join(galaxy.CollectionsDir, "ansible_collections/*/*/playbooks"),
		path.Join(galaxy.CollectionsDir, "ansible_collections/*/*/plugins"))

	return !s.found
}

// leadsElsewhere is true for a variable of the environment by which roles or collections are found that are not
// searched.
func (r *Runner) leadsElsewhere(run Spec, dir, variable string) bool {
	name, paths, _ := strings.Cut(variable, "=")
	if name != "ANSIBLE_ROLES_PATH" && name != "ANSIBLE_COLLECTIONS_PATH" {
		return false
	}

	searched := []string{r.Shipped, run.Content.RolesPath(), run.Content.CollectionsPath()}

	return slices.ContainsFunc(filepath.SplitList(paths), func(at string) bool {
		if slices.Contains(searched, at) || strings.HasPrefix(at, filepath.Join(dir, projectDir)+"/") {
			return false
		}

		_, err := os.Lstat(at)

		return !filepath.IsAbs(at) || !errors.Is(err, fs.ErrNotExist)
	})
}

// A search for words.
type search struct {
	words        [][]byte
	files, bytes int
	// found is true once there is a word, or there may be.
	found bool
}

func (s *search) text(text []byte) {
	s.found = s.found || bytes.HasPrefix(text, []byte(inputs.VaultHeader)) ||
		slices.ContainsFunc(s.words, func(word []byte) bool { return bytes.Contains(text, word) })
}

// directory searches the files in those of its directories that patterns match.
func (s *search) directory(dir string, patterns ...string) {
	if dir == "" || s.found {
		return
	}

	root, err := os.OpenRoot(dir)
	if err != nil {
		s.found = true
		return
	}
	defer root.Close() //nolint:errcheck // It was only read.

	for _, pattern := range patterns {
		names, _ := fs.Glob(root.FS(), pattern) // The patterns are sound.
		for _, name := range names {
			if err := fs.WalkDir(root.FS(), name, s.file(root.FS())); err != nil {
				s.found = true
				return
			}
		}
	}
}

// file searches a file. What it links to is searched itself.
func (s *search) file(in fs.FS) fs.WalkDirFunc {
	return func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}

		info, err := d.Info()
		if err != nil || info.Size() > maxSearched {
			return err
		}

		s.files++
		s.bytes += int(info.Size())

		if s.files > maxSearchedFiles || s.bytes > maxSearchedBytes {
			return errFound
		}

		text, err := fs.ReadFile(in, name)
		if s.text(text); s.found {
			return errFound
		}

		return err
	}
}
