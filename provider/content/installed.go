package content

import (
	"cmp"
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/document"
	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// maxInfo is the size of the largest file that says what was installed, in bytes.
const maxInfo = 4 << 20

// maxManifest is the size of the largest manifest, in bytes.
const maxManifest = 64 << 20

// manifestFile is in the directory of every complete set.
const manifestFile = "content.json"

// A manifest says what a set consists of. It is written last, and not changed.
type manifest struct {
	Schema       int                  `json:"schema"`
	Digest       string               `json:"digest"`
	Requirements requirements.File    `json:"requirements"`
	Collections  []common.ContentItem `json:"collections,omitempty"`
	Roles        []common.ContentItem `json:"roles,omitempty"`
	Tree         tree                 `json:"tree"`
}

// same is true when two sets have the same content.
func (m manifest) same(o manifest) bool {
	return slices.Equal(m.Collections, o.Collections) && slices.Equal(m.Roles, o.Roles) && maps.Equal(m.Tree.Items, o.Tree.Items)
}

// newManifest of what was installed. What is pinned has a version that says
// what it is. Anything else may change and keep its version, as a branch of a
// git repository does, so that it gets a revision.
func newManifest(ctx context.Context, set Set, required requirements.File, l workdir.Limits) (m manifest, err error) {
	m = manifest{Schema: schema, Digest: set.Digest, Requirements: required.WithoutUsers()}

	if _, err := measure(ctx, set.Dir, l); err != nil {
		return m, err
	}

	if m.Collections, m.Roles, err = installed(ctx, set.Dir); err != nil {
		return m, err
	}

	if err := strip(ctx, set.Dir, m.Collections); err != nil {
		return m, err
	}

	if m.Tree, err = readTree(ctx, set.Dir, l); err != nil || required.Pinned() {
		return m, err
	}

	for i, c := range m.Collections {
		m.Collections[i].Revision = m.Tree.Items[collectionPath(c.Name)]
	}

	for i, r := range m.Roles {
		m.Roles[i].Revision = m.Tree.Items[path.Join(rolesDir, r.Name)]
	}

	return m, nil
}

// installed collections and roles in a directory.
func installed(ctx context.Context, dir string) (collections, roles []common.ContentItem, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, errors.Wrap(err, "cannot read what was installed")
	}
	defer root.Close() //nolint:errcheck // It was only read.

	if collections, err = installedCollections(ctx, root); err != nil {
		return nil, nil, err
	}

	roles, err = installedRoles(ctx, root)

	return collections, roles, err
}

func readManifest(dir string) (manifest, error) {
	m := manifest{}

	root, err := os.OpenRoot(dir)
	if err != nil {
		return m, errors.Wrap(err, "cannot read a content set")
	}
	defer root.Close() //nolint:errcheck // It was only read.

	found, err := read(root, manifestFile, maxManifest, func(text []byte) error { return json.Unmarshal(text, &m) })
	if err == nil && !found {
		err = errors.New("there is no manifest")
	}

	return m, errors.Wrap(err, "cannot read the manifest of a content set")
}

func writeManifest(dir string, m manifest) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return errors.Wrap(err, "cannot encode the manifest of a content set")
	}

	return errors.Wrap(writeNew(filepath.Join(dir, manifestFile), text), "cannot write the manifest of a content set")
}

// installedCollections are those in a content set, by name. Their versions
// are those that they were built with. Beside their namespaces there are
// directories *.info with the servers that they came from.
func installedCollections(ctx context.Context, root *os.Root) ([]common.ContentItem, error) {
	const dir = collectionsDir + "/ansible_collections"

	var items []common.ContentItem

	for _, namespace := range directories(root, dir) {
		// Namespaces have no dots.
		if strings.Contains(namespace, ".") {
			continue
		}

		for _, name := range directories(root, path.Join(dir, namespace)) {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}

			item, ok, err := collection(root, path.Join(dir, namespace, name))
			if err != nil {
				return nil, err
			}

			// Its name leads to it.
			own := namespace + "." + name
			if ok && item.Name != own {
				return nil, errors.Errorf("the collection %s says that it is another", own)
			}

			if !strings.Contains(item.Version, "/") {
				item.Source = source(root, path.Join(dir, own+"-"+item.Version+".info"))
			}

			if ok {
				items = append(items, item)
			}

			if len(items) > maxInstalled {
				return nil, errItems("collections")
			}
		}
	}

	return sorted(items), nil
}

// source is the Galaxy server that a collection came from, which ansible-galaxy notes
// beside its namespace; empty when it came from elsewhere.
func source(root *os.Root, dir string) string {
	values, _, _ := readScalars(root, path.Join(dir, "GALAXY.yml"))

	return requirements.WithoutUser(values["server"])
}

// directories in a directory, by their names; none where there is no such directory.
// Links to others are left alone: a few would make many of them.
func directories(root *os.Root, dir string) []string {
	entries, _ := fs.ReadDir(root.FS(), dir)

	var names []string

	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}

	return names
}

// collection in a directory.
func collection(root *os.Root, dir string) (common.ContentItem, bool, error) {
	type info struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		Version   string `json:"version"`
	}

	m := struct {
		Info info `json:"collection_info"`
	}{}

	found, err := read(root, path.Join(dir, collectionInfo), maxInfo, func(text []byte) error { return json.Unmarshal(text, &m) })
	if err == nil && !found {
		var values map[string]string

		values, found, err = readScalars(root, path.Join(dir, "galaxy.yml"))
		m.Info = info{Namespace: values["namespace"], Name: values["name"], Version: values["version"]}
	}

	return common.ContentItem{Name: m.Info.Namespace + "." + m.Info.Name, Version: m.Info.Version}, found, err
}

// installedRoles are those in a content set, by name. A role that was required
// without a version may have none.
func installedRoles(ctx context.Context, root *os.Root) ([]common.ContentItem, error) {
	var items []common.ContentItem

	for _, name := range directories(root, rolesDir) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}

		values, found, err := readScalars(root, path.Join(rolesDir, name, "meta", ".galaxy_install_info"))
		if err != nil {
			return nil, err
		}

		if found {
			items = append(items, common.ContentItem{Name: name, Version: values["version"]})
		}

		if len(items) > maxInstalled {
			return nil, errItems("roles")
		}
	}

	return sorted(items), nil
}

// readScalars of a mapping in a file of YAML; none where there is no such file.
func readScalars(root *os.Root, file string) (values map[string]string, found bool, err error) {
	found, err = read(root, file, maxInfo, func(text []byte) (err error) {
		values, err = document.Scalars(text)

		return err
	})

	return values, found, err
}

// read and decode a file of at most so many bytes; false when there is none. Whoever wrote the content
// may have put anything in its place: a link to a file of the provider's, or
// what never ends. So the error must not have what was read.
func read(root *os.Root, file string, most int64, decode func([]byte) error) (bool, error) {
	info, err := root.Stat(file)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}

	if err != nil {
		return false, errors.Wrap(err, "cannot read what was installed")
	}

	if !info.Mode().IsRegular() || info.Size() > most {
		return false, errors.Errorf("%s is not a file, or too large", file)
	}

	text, err := root.ReadFile(file)
	if err != nil {
		return false, errors.Wrap(err, "cannot read what was installed")
	}

	if decode(text) != nil {
		return false, errors.Errorf("cannot decode %s", file)
	}

	return true, nil
}

func sorted(items []common.ContentItem) []common.ContentItem {
	slices.SortFunc(items, func(a, b common.ContentItem) int { return cmp.Compare(a.Name, b.Name) })

	return items
}
