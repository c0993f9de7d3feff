package content

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/own"
	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// maxManifest is the size of the largest manifest, in bytes.
const maxManifest = 64 << 20

// schema of sets. It changes when the digest of the same recipe does, or what is
// done with what the installer leaves: sets of another schema are not found.
const schema = 4

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
		m.Roles[i].Revision = m.Tree.Items[path.Join(galaxy.RolesDir, r.Name)]
	}

	return m, nil
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

	return errors.Wrap(own.File(filepath.Join(dir, manifestFile), text), "cannot write the manifest of a content set")
}
