package content

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

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
	m := manifest{Digest: set.Digest, Requirements: required}

	var err error
	if m.Collections, err = installedCollections(set.CollectionsPath()); err != nil {
		return m, err
	}

	if m.Roles, err = installedRoles(set.RolesPath()); err != nil {
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

	return errors.Wrap(os.WriteFile(filepath.Join(dir, manifestFile), text, 0o600), "cannot write the manifest of a content set")
}

// installedCollections are those in a collections path, by name. Their versions
// are those that they were built with. Beside their namespaces there are
// directories *.info with the servers that they came from.
func installedCollections(path string) ([]common.ContentItem, error) {
	dirs, err := filepath.Glob(filepath.Join(path, "ansible_collections", "*", "*"))
	if err != nil {
		return nil, errors.Wrap(err, "cannot look for collections")
	}

	var items []common.ContentItem

	for _, dir := range dirs {
		// Namespaces have no dots.
		if strings.Contains(filepath.Base(filepath.Dir(dir)), ".") {
			continue
		}

		item, ok, err := collection(dir)
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
func collection(dir string) (common.ContentItem, bool, error) {
	type info struct {
		Namespace string `json:"namespace" yaml:"namespace"`
		Name      string `json:"name"      yaml:"name"`
		Version   string `json:"version"   yaml:"version"`
	}

	m := struct {
		Info info `json:"collection_info"`
	}{}

	found, err := read(filepath.Join(dir, "MANIFEST.json"), func(text []byte) error { return json.Unmarshal(text, &m) })
	if err == nil && !found {
		found, err = read(filepath.Join(dir, "galaxy.yml"), func(text []byte) error { return yaml.Unmarshal(text, &m.Info) })
	}

	return common.ContentItem{Name: m.Info.Namespace + "." + m.Info.Name, Version: m.Info.Version}, found, err
}

// installedRoles are those in a roles path, by name. A role that was required
// without a version may have none.
func installedRoles(path string) ([]common.ContentItem, error) {
	files, err := filepath.Glob(filepath.Join(path, "*", "meta", ".galaxy_install_info"))
	if err != nil {
		return nil, errors.Wrap(err, "cannot look for roles")
	}

	var items []common.ContentItem

	for _, file := range files {
		info := struct {
			Version string `yaml:"version"`
		}{}

		if _, err := read(file, func(text []byte) error { return yaml.Unmarshal(text, &info) }); err != nil {
			return nil, err
		}

		items = append(items, common.ContentItem{Name: filepath.Base(filepath.Dir(filepath.Dir(file))), Version: info.Version})
	}

	return sorted(items), nil
}

// read and decode a file; false when there is none.
func read(file string, decode func([]byte) error) (bool, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}

	if err != nil {
		return false, errors.Wrap(err, "cannot read what was installed")
	}

	return true, errors.Wrapf(decode(text), "cannot decode %s", filepath.Base(file))
}

func sorted(items []common.ContentItem) []common.ContentItem {
	slices.SortFunc(items, func(a, b common.ContentItem) int { return cmp.Compare(a.Name, b.Name) })

	return items
}
