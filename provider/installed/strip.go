package installed

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

const (
	// pythonCache is a directory with bytecode, which Python runs in place of the
	// source beside it. Whether it does may depend on the time of a file.
	pythonCache = "__pycache__"
	// collectionInfo says what a collection is.
	collectionInfo = "MANIFEST.json"
)

// strip a set of bytecode, and of what says how it was installed: that differs from
// one installation to the next, so that it could not be in a revision, and content
// must not be able to go by what is in none. What a collection says of itself is
// reduced to what is shown of it.
func strip(ctx context.Context, dir string, collections []common.ContentItem) error {
	err := walk(ctx, dir, func(name string, info fs.FileInfo) error {
		if !isSurplus(name) {
			return nil
		}

		if err := erase(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			return err
		}

		return fs.SkipDir
	})
	if err != nil {
		return errors.Wrap(err, "cannot remove what is not content")
	}

	for _, c := range collections {
		file := filepath.Join(dir, collectionPath(c.Name), collectionInfo)

		text, err := describe(c)
		if err == nil {
			err = workdir.WriteFile(file, text)
		}

		if err != nil {
			return errors.Wrap(err, "cannot say what a collection is")
		}
	}

	return nil
}

// erase a file or a directory, also from a directory that is read only.
func erase(name string) error {
	if err := os.Chmod(filepath.Dir(name), 0o700); err != nil { //nolint:gosec // It is a directory.
		return err
	}

	return workdir.Remove(name)
}

// isSurplus is true for the path of what is no content.
func isSurplus(name string) bool {
	if path.Base(name) == pythonCache {
		return true
	}

	switch item, rest := itemOf(name); {
	case strings.HasPrefix(item, galaxy.RolesDir+"/"):
		return rest == "meta/.galaxy_install_info"
	case item == galaxy.ProjectDir:
		return false
	case item != "":
		return rest == "FILES.json"
	}

	// Beside their namespaces, which have no dots, there is where collections came from.
	return path.Dir(name) == galaxy.CollectionsDir+"/ansible_collections" && strings.HasSuffix(name, ".info")
}

// describe a collection, as ansible-galaxy and content look it up.
func describe(c common.ContentItem) ([]byte, error) {
	namespace, name, _ := strings.Cut(c.Name, ".")

	return json.Marshal(map[string]any{
		"format": 1,
		"collection_info": map[string]any{
			"namespace": namespace, "name": name, "version": c.Version,
			"dependencies": map[string]string{},
		},
	})
}

// collectionPath is where a collection is in a set.
func collectionPath(name string) string {
	namespace, name, _ := strings.Cut(name, ".")

	return path.Join(galaxy.CollectionsDir, "ansible_collections", namespace, name)
}
