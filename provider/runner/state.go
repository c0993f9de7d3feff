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

// Limits of the search for uses of the state. Content with more files or bytes is assumed to use the state. A file that
// is larger than maxSearched is not searched: it is not a file of a playbook or a role.
const (
	maxSearchedFiles = 5_000
	maxSearchedBytes = 32 << 20
	maxSearched      = 1 << 20
)

// errFound ends a search.
var errFound = errors.New("the content may look at the state")

// ignoresState is true for content that does the same in the state absent as in the state present, because neither the
// name of the provider's variable nor that of the state variable occurs in its text. The text is the private data
// directory on disk, installed roles, playbooks, roles and plugins of installed collections, and variables. The result
// is false for encrypted content and for content from other places.
func (r *Runner) ignoresState(run Spec, p plan) bool {
	params := run.Inputs.Parameters

	// The user has said what a deletion does.
	if params.OnDelete != nil {
		return false
	}

	words := [][]byte{[]byte(common.ProviderVariable)}

	if params.StateVariable != nil {
		words = append(words, []byte(params.StateVariable.Name))
	}

	s := search{words: words}

	s.found = slices.ContainsFunc(p.Env, func(v string) bool { return r.leadsElsewhere(run, p.Dir, v) })

	// An image of the user may contain roles and collections.
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

// leadsElsewhere is true for an environment variable, as name=value, with a search path of roles or collections that
// has a directory outside the search of ignoresState.
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
	// found is true once a word was found, or text was not readable.
	found bool
}

func (s *search) text(text []byte) {
	s.found = s.found || bytes.HasPrefix(text, []byte(inputs.VaultHeader)) ||
		slices.ContainsFunc(s.words, func(word []byte) bool { return bytes.Contains(text, word) })
}

// directory searches the files in the directories of dir that match the patterns.
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
		names, _ := fs.Glob(root.FS(), pattern) // The patterns are valid.
		for _, name := range names {
			if err := fs.WalkDir(root.FS(), name, s.file(root.FS())); err != nil {
				s.found = true
				return
			}
		}
	}
}

// file returns a function that searches a regular file. Links lead to files that are searched as well.
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
