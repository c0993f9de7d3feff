package installed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/yamltext"
	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

const (
	// maxVersion is the length of the longest version and source of an item, in bytes. They are in the status.
	maxVersion = 253
	// maxInfo is the size of the largest file that says what was installed, in bytes.
	maxInfo = 4 << 20
)

// Names in a set.
const (
	// collections has the namespaces of collections, and beside each collection that comes from a server a directory
	// *.info with where it came from.
	collections = galaxy.CollectionsDir + "/ansible_collections"
	// collectionInfo says what a collection is, and roleInfo which version of a role was installed.
	collectionInfo = "MANIFEST.json"
	roleInfo       = "meta/.galaxy_install_info"
	// pythonCache is a directory with bytecode, which Python runs in place of the source beside it. Whether it does may
	// depend on the time of a file.
	pythonCache = "__pycache__"
)

// A tree is what a walk over a set finds.
type tree struct {
	root *os.Root
	// collections and roles by name. A role that was required without a version may have none.
	collections, roles []common.ContentItem
	// sums of the collections, the roles and the project, by their paths; nil if none are wanted.
	sums map[string]hash.Hash
}

// walk a set, the size of which is known to be bounded, in lexical order. It removes bytecode, and what says how the
// set was installed: that differs from one installation to the next, so that it could not be in a revision, and content
// must not be able to go by what is in none. What a collection says of itself is reduced to what is shown of it.
func walk(ctx context.Context, dir string, sums map[string]hash.Hash) (*tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, errors.Wrap(err, "cannot read a content set")
	}
	defer root.Close() //nolint:errcheck // It was only read.

	t := &tree{root: root, sums: sums}

	for _, sub := range []string{galaxy.CollectionsDir, galaxy.RolesDir, galaxy.ProjectDir} {
		err := filepath.WalkDir(filepath.Join(dir, sub), func(name string, d fs.DirEntry, err error) error {
			switch {
			case sub == galaxy.ProjectDir && d == nil && errors.Is(err, fs.ErrNotExist):
				return nil // Few sets have a project.
			case err != nil:
				return err
			case ctx.Err() != nil:
				return context.Cause(ctx)
			}

			return t.visit(strings.TrimPrefix(name, dir+"/"), d)
		})
		if err != nil {
			return nil, errors.Wrap(err, "cannot read a content set")
		}
	}

	return t, nil
}

// visit a file or a directory by its path in the set.
func (t *tree) visit(name string, d fs.DirEntry) error {
	item, rest := itemOf(name)
	ofCollection, ofRole := strings.HasPrefix(item, collections+"/"), strings.HasPrefix(item, galaxy.RolesDir+"/")

	switch {
	case ofCollection && rest == collectionInfo:
		return t.collection(item)
	case ofRole && rest == roleInfo:
		values, err := t.readScalars(name)
		if err != nil {
			return err
		}

		t.roles = append(t.roles, common.ContentItem{Name: path.Base(item), Version: values["version"]})

		if err := check(t.roles, "roles"); err != nil {
			return err
		}
	case path.Base(name) == pythonCache, ofCollection && rest == "FILES.json",
		path.Dir(name) == collections && strings.HasSuffix(name, ".info"):
	case item == "", d.IsDir(), t.sums == nil:
		return nil
	default:
		return t.sum(item, rest, name)
	}

	return t.erase(name, d)
}

// erase what is no content, also from a directory that is read only.
func (t *tree) erase(name string, d fs.DirEntry) error {
	file := filepath.Join(t.root.Name(), name)
	if err := os.Chmod(filepath.Dir(file), 0o700); err != nil { //nolint:gosec // It is a directory.
		return err
	}

	if err := workdir.Remove(file); err != nil || !d.IsDir() {
		return err
	}

	return fs.SkipDir
}

// collection at a path, with the version that it was built with, and the server that it came from.
func (t *tree) collection(item string) error {
	type info struct {
		Namespace    string   `json:"namespace"`
		Name         string   `json:"name"`
		Version      string   `json:"version"`
		Dependencies struct{} `json:"dependencies"`
	}

	m := struct {
		Format int  `json:"format"`
		Info   info `json:"collection_info"`
	}{}

	file := path.Join(item, collectionInfo)
	if _, err := read(t.root, file, maxInfo, func(text []byte) error { return json.Unmarshal(text, &m) }); err != nil {
		return err
	}

	c := common.ContentItem{Name: m.Info.Namespace + "." + m.Info.Name, Version: m.Info.Version}
	if collectionPath(c.Name) != item { // Its name leads to it.
		return errors.Errorf("the collection in %s says that it is another", item)
	}

	if !strings.Contains(c.Version, "/") {
		values, _ := t.readScalars(path.Join(collections, c.Name+"-"+c.Version+".info", "GALAXY.yml"))
		c.Source = requirements.WithoutUser(values["server"])
	}

	t.collections = append(t.collections, c)

	if err := check(t.collections, "collections"); err != nil {
		return err
	}

	// As ansible-galaxy and content look it up.
	m.Format = 1

	text, err := json.Marshal(m)
	if err != nil {
		return err
	}

	return workdir.WriteFile(filepath.Join(t.root.Name(), file), text)
}

// check the item that was found last: the content's author may have put anything into its version.
func check(items []common.ContentItem, kind string) error {
	last := items[len(items)-1]

	switch {
	case len(items) > maxInstalled:
		return errors.Errorf("it has more than %d %s: divide them among configurations that require less each",
			maxInstalled, kind)
	case len(last.Version)+len(last.Source) > maxVersion:
		return errors.Errorf("the version of %s has more than %d characters", last.Name, maxVersion)
	}

	return nil
}

// readScalars of a mapping in a file of YAML; none where there is no such file.
func (t *tree) readScalars(file string) (values map[string]string, err error) {
	_, err = read(t.root, file, maxInfo, func(text []byte) (err error) {
		values, err = yamltext.Scalars(text)

		return err
	})

	return values, err
}

// read and decode a file of at most so many bytes; false when there is none. The content's author
// may have put anything in its place: a link to a file of the provider's, or a file that never ends.
// So the error must not have what was read.
func read(root *os.Root, file string, most int64, decode func([]byte) error) (bool, error) {
	text, err := workdir.ReadFile(root, file, most)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}

	if err != nil {
		return false, errors.Wrap(err, "cannot read what was installed")
	}

	if decode(text) != nil {
		return false, errors.Errorf("cannot decode %s", file)
	}

	return true, nil
}

// sum a file of an item, with its kind and content.
func (t *tree) sum(item, rest, name string) error {
	sum, err := sumFile(filepath.Join(t.root.Name(), name))
	if err != nil {
		return err
	}

	if t.sums[item] == nil {
		t.sums[item] = sha256.New()
	}

	fmt.Fprintf(t.sums[item], "%s\x00%s\n", rest, sum) //nolint:errcheck // Hashes do not fail.

	return nil
}

func sumFile(name string) (string, error) {
	info, err := os.Lstat(name)

	switch {
	case err != nil:
		return "", err
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(name)

		// The end of a target must not look like the next file.
		return "link " + strconv.Quote(target), err
	case !info.Mode().IsRegular():
		return info.Mode().Type().String(), nil
	}

	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // It was only read.

	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}

	kind := "file"
	if info.Mode()&0o100 != 0 {
		kind = "program"
	}

	return kind + " " + hex.EncodeToString(h.Sum(nil)), nil
}

// revision of the collection, the role or the project at a path: a sum of the paths and contents of its files, and of
// whether they can be executed; empty when it has none. The same content has the same, whenever and however it was
// installed.
func (t *tree) revision(item string) string {
	if h := t.sums[item]; h != nil {
		return hex.EncodeToString(h.Sum(nil))
	}

	return ""
}

// itemOf is the collection, role or project that a file belongs to, and the path of the file in it.
func itemOf(path string) (item, rest string) {
	depth := 2

	switch {
	case strings.HasPrefix(path, galaxy.CollectionsDir+"/"):
		depth = 4
	case strings.HasPrefix(path, galaxy.ProjectDir+"/"):
		depth = 1
	}

	parts := strings.SplitN(path, "/", depth+1)
	if len(parts) <= depth {
		return "", ""
	}

	return strings.Join(parts[:depth], "/"), parts[depth]
}

// collectionPath is where a collection is in a set, and rolePath where a role is.
func collectionPath(name string) string {
	namespace, name, _ := strings.Cut(name, ".")

	return path.Join(collections, namespace, name)
}

func rolePath(name string) string { return path.Join(galaxy.RolesDir, name) }
