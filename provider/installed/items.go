package installed

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/yamltext"
	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// maxVersion is the length of the longest version and source of an item, in bytes. They are in the status.
const maxVersion = 253

// maxInfo is the size of the largest file that says what was installed, in bytes.
const maxInfo = 4 << 20

// items are the collections and roles in a directory.
func items(ctx context.Context, dir string) (collections, roles []common.ContentItem, err error) {
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

// installedCollections are those in a content set, by name. Their versions
// are those that they were built with. Beside their namespaces there are
// directories *.info with the servers that they came from.
func installedCollections(ctx context.Context, root *os.Root) ([]common.ContentItem, error) {
	const dir = galaxy.CollectionsDir + "/ansible_collections"

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

			if err := check(items, "collections"); err != nil {
				return nil, err
			}
		}
	}

	return items, nil
}

// source is the Galaxy server that a collection came from, which ansible-galaxy notes
// beside its namespace; empty when it came from elsewhere.
func source(root *os.Root, dir string) string {
	values, _, _ := readScalars(root, path.Join(dir, "GALAXY.yml"))

	return requirements.WithoutUser(values["server"])
}

// directories in a directory, sorted by their names; none where there is no such directory.
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
	m := struct {
		Info struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
			Version   string `json:"version"`
		} `json:"collection_info"`
	}{}

	found, err := read(root, path.Join(dir, collectionInfo), maxInfo,
		func(text []byte) error { return json.Unmarshal(text, &m) })

	return common.ContentItem{Name: m.Info.Namespace + "." + m.Info.Name, Version: m.Info.Version}, found, err
}

// installedRoles are those in a content set, by name. A role that was required
// without a version may have none.
func installedRoles(ctx context.Context, root *os.Root) ([]common.ContentItem, error) {
	var items []common.ContentItem

	for _, name := range directories(root, galaxy.RolesDir) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}

		values, found, err := readScalars(root, path.Join(galaxy.RolesDir, name, "meta", ".galaxy_install_info"))
		if err != nil {
			return nil, err
		}

		if found {
			items = append(items, common.ContentItem{Name: name, Version: values["version"]})
		}

		if err := check(items, "roles"); err != nil {
			return nil, err
		}
	}

	return items, nil
}

// check the item that was found last: the content's author may have put anything into its version.
func check(items []common.ContentItem, kind string) error {
	if len(items) > maxInstalled {
		return errors.Errorf("it has more than %d %s: divide them among configurations that require less each",
			maxInstalled, kind)
	}

	if last := len(items) - 1; last >= 0 && len(items[last].Version)+len(items[last].Source) > maxVersion {
		return errors.Errorf("the version of %s has more than %d characters", items[last].Name, maxVersion)
	}

	return nil
}

// readScalars of a mapping in a file of YAML; none where there is no such file.
func readScalars(root *os.Root, file string) (values map[string]string, found bool, err error) {
	found, err = read(root, file, maxInfo, func(text []byte) (err error) {
		values, err = yamltext.Scalars(text)

		return err
	})

	return values, found, err
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
