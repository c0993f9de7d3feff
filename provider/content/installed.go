package content

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/document"
)

// maxInfo is the size of the largest file that says what was installed, in bytes.
const maxInfo = 4 << 20

// manifestFile is in the directory of every complete set.
const manifestFile = "content.json"

// A manifest says what a set consists of. It is written last, and not changed.
type manifest struct {
	Digest       string               `json:"digest"`
	Requirements Requirements         `json:"requirements"`
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
func newManifest(set Set, required Requirements) (manifest, error) {
	m := manifest{Digest: set.Digest, Requirements: required.withoutUsers()}
	root, err := os.OpenRoot(set.Dir)
	if err != nil {
		return m, errors.Wrap(err, "cannot read what was installed")
	}
	defer root.Close() //nolint:errcheck // It was only read.

	if m.Collections, err = installedCollections(root); err != nil {
		return m, err
	}

	if m.Roles, err = installedRoles(root); err != nil {
		return m, err
	}

	if m.Tree, err = readTree(set.Dir); err != nil || required.Pinned() {
		return m, err
	}

	for i, c := range m.Collections {
		namespace, name, _ := strings.Cut(c.Name, ".")
		m.Collections[i].Revision = m.Tree.revision(path.Join(collectionsDir, "ansible_collections", namespace, name))
	}

	for i, r := range m.Roles {
		m.Roles[i].Revision = m.Tree.revision(path.Join(rolesDir, r.Name))
	}

	return m, nil
}

func readManifest(dir string) (manifest, error) {
	m := manifest{}

	text, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err != nil {
		return m, errors.Wrap(err, "cannot read the manifest of a content set")
	}

	return m, errors.Wrap(json.Unmarshal(text, &m), "cannot decode the manifest of a content set")
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
func installedCollections(root *os.Root) ([]common.ContentItem, error) {
	dirs, err := fs.Glob(root.FS(), path.Join(collectionsDir, "ansible_collections", "*", "*"))
	if err != nil {
		return nil, errors.Wrap(err, "cannot look for collections")
	}

	var items []common.ContentItem

	for _, dir := range dirs {
		// Namespaces have no dots.
		if strings.Contains(path.Base(path.Dir(dir)), ".") {
			continue
		}

		item, ok, err := collection(root, dir)
		if err != nil {
			return nil, err
		}

		if ok {
			items = append(items, item)
		}
	}

	return sorted(items), nil
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

	found, err := read(root, path.Join(dir, "MANIFEST.json"), func(text []byte) error { return json.Unmarshal(text, &m) })
	if err == nil && !found {
		found, err = read(root, path.Join(dir, "galaxy.yml"), func(text []byte) error {
			values, err := scalars(text)
			m.Info = info{Namespace: values["namespace"], Name: values["name"], Version: values["version"]}

			return err
		})
	}

	return common.ContentItem{Name: m.Info.Namespace + "." + m.Info.Name, Version: m.Info.Version}, found, err
}

// installedRoles are those in a content set, by name. A role that was required
// without a version may have none.
func installedRoles(root *os.Root) ([]common.ContentItem, error) {
	files, err := fs.Glob(root.FS(), path.Join(rolesDir, "*", "meta", ".galaxy_install_info"))
	if err != nil {
		return nil, errors.Wrap(err, "cannot look for roles")
	}

	var items []common.ContentItem

	for _, file := range files {
		var values map[string]string

		_, err := read(root, file, func(text []byte) (err error) {
			values, err = scalars(text)

			return err
		})
		if err != nil {
			return nil, err
		}

		items = append(items, common.ContentItem{Name: path.Base(path.Dir(path.Dir(file))), Version: values["version"]})
	}

	return sorted(items), nil
}

// scalars of a mapping in YAML by their names. They are not decoded: that compares
// all keys with each other, which takes minutes where there are a hundred thousand.
func scalars(text []byte) (map[string]string, error) {
	if err := document.Check(text); err != nil {
		return nil, err
	}

	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}

	if len(doc.Content) == 0 || isNull(doc.Content[0]) {
		return nil, nil
	}

	if doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("is not a mapping")
	}

	values := map[string]string{}

	for pairs := range slices.Chunk(doc.Content[0].Content, 2) {
		if value := deref(pairs[1]); value.Kind == yaml.ScalarNode && !isNull(value) {
			values[pairs[0].Value] = value.Value
		}
	}

	return values, nil
}

// read and decode a file; false when there is none. Whoever wrote the content
// may have put anything in its place: a link to a file of the provider's, or
// what never ends. So the error must not have what was read.
func read(root *os.Root, file string, decode func([]byte) error) (bool, error) {
	info, err := root.Stat(file)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}

	if err != nil {
		return false, errors.Wrap(err, "cannot read what was installed")
	}

	if !info.Mode().IsRegular() || info.Size() > maxInfo {
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
