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
	// maxVersion is the longest version and source of an item together, in bytes. They are in the status.
	maxVersion = 253
	// maxInfo is the size of the largest file with metadata of an item, in bytes.
	maxInfo = 4 << 20
)

// Names in an installation.
const (
	// collections has the namespaces of collections and, for each collection from a server, a directory *.info with its
	// source.
	collections = galaxy.CollectionsDir + "/ansible_collections"
	// collectionInfo is the manifest of a collection, and roleInfo the file with the installed version of a role.
	collectionInfo = "MANIFEST.json"
	roleInfo       = "meta/.galaxy_install_info"
	// pythonCache is a directory with bytecode, which Python runs in place of the source beside it. That may depend on the
	// time of a file.
	pythonCache = "__pycache__"
)

// A tree has the results of a walk over an installation.
type tree struct {
	root *os.Root
	// collections and roles by name. A role that is required without a version may have none.
	collections, roles []common.ContentItem
	// sums of the collections, the roles and the project, by their paths; nil if sums are not needed.
	sums map[string]hash.Hash
}

// walk visits an installation of bounded size in lexical order. It removes bytecode and metadata of the installation:
// both differ between installations of the same content, so that a revision cannot include them, and content must not
// depend on files outside its revision. Metadata of a collection is reduced to the reported fields.
func walk(ctx context.Context, dir string, sums map[string]hash.Hash) (*tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, errors.Wrap(err, "cannot read an installation")
	}
	defer root.Close() //nolint:errcheck // It was only read.

	t := &tree{root: root, sums: sums}

	for _, sub := range []string{galaxy.CollectionsDir, galaxy.RolesDir, galaxy.ProjectDir} {
		err := filepath.WalkDir(filepath.Join(dir, sub), func(name string, d fs.DirEntry, err error) error {
			switch {
			case sub == galaxy.ProjectDir && d == nil && errors.Is(err, fs.ErrNotExist):
				return nil // A project is optional.
			case err != nil:
				return err
			case ctx.Err() != nil:
				return context.Cause(ctx)
			}

			return t.visit(strings.TrimPrefix(name, dir+"/"), d)
		})
		if err != nil {
			return nil, errors.Wrap(err, "cannot read an installation")
		}
	}

	return t, nil
}

// visit a file or a directory, given its path in the installation.
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

// erase a file or directory that is not content, also in a read-only directory.
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

// collection adds the collection at a path, with the version that it was built with, and the server of its source.
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
	if collectionPath(c.Name) != item { // Its name determines its path.
		return errors.Errorf("the manifest of the collection in %s has another name", item)
	}

	if !strings.Contains(c.Version, "/") {
		values, _ := t.readScalars(path.Join(collections, c.Name+"-"+c.Version+".info", "GALAXY.yml"))
		c.Source = requirements.WithoutUser(values["server"])
	}

	t.collections = append(t.collections, c)

	if err := check(t.collections, "collections"); err != nil {
		return err
	}

	// ansible-galaxy and content look the format up.
	m.Format = 1

	text, err := json.Marshal(m)
	if err != nil {
		return err
	}

	return workdir.WriteFile(filepath.Join(t.root.Name(), file), text)
}

// check bounds the last item and the number of items, since the author of content may write any version.
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

// readScalars reads the scalars of a mapping in a YAML file; none if the file is missing.
func (t *tree) readScalars(file string) (values map[string]string, err error) {
	_, err = read(t.root, file, maxInfo, func(text []byte) (err error) {
		values, err = yamltext.Scalars(text)

		return err
	})

	return values, err
}

// read decodes a file of at most so many bytes; false if it is missing. The author of the content may have replaced the
// file by a link to a file of the provider, or by an endless file. Therefore the error never contains the text.
func read(root *os.Root, file string, most int64, decode func([]byte) error) (bool, error) {
	text, err := workdir.ReadFile(root, file, most)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}

	if err != nil {
		return false, errors.Wrap(err, "cannot read an installed file")
	}

	if decode(text) != nil {
		return false, errors.Errorf("cannot decode %s", file)
	}

	return true, nil
}

// sum adds a file, with its type and content, to the sum of its item.
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

		// Quotes keep a target with line breaks from looking like another file.
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

// revision returns the revision of the collection, the role or the project at a path: a sum of the paths, the contents
// and the execute permissions of its files; empty if there is no item. It does not depend on the time or the way of the
// installation.
func (t *tree) revision(item string) string {
	if h := t.sums[item]; h != nil {
		return hex.EncodeToString(h.Sum(nil))
	}

	return ""
}

// itemOf returns the path of the collection, role or project of a file, and the path of the file in it.
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

// collectionPath returns the path of a collection in an installation, and rolePath that of a role.
func collectionPath(name string) string {
	namespace, name, _ := strings.Cut(name, ".")

	return path.Join(collections, namespace, name)
}

func rolePath(name string) string { return path.Join(galaxy.RolesDir, name) }
