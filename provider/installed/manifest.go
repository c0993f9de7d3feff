// Package installed says what a directory with collections and roles consists of, after
// ansible-galaxy has installed them there. New takes a directory with content that may be
// an attack: it refuses more than can be read, removes what differs from one
// installation to the next, and returns the items with their versions, and revisions of what may
// change and keep its version. Package content keeps directories with their manifests.
package installed

import (
	"context"
	"encoding/json"
	"hash"
	"os"
	"path/filepath"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// maxSize is the size of the largest manifest, in bytes.
const maxSize = 64 << 20

// Schema of sets. It changes when the digest of the same request does, or what is
// done with what the installer leaves: sets of another schema are not found.
const Schema = 6

// File is the name of the manifest in the directory of every complete set.
const File = "content.json"

// A Manifest says what a set consists of. It is written last, and not changed.
type Manifest struct {
	common.Content

	Schema int `json:"schema"`
	// Bytes that all of it takes on disk.
	Bytes int64 `json:"bytes"`
}

// Same is true when two sets have the same content. A project has the same in commits that change other
// directories of its repository.
func (m Manifest) Same(o Manifest) bool {
	return slices.Equal(m.Collections, o.Collections) && slices.Equal(m.Roles, o.Roles) &&
		(m.Project == nil || o.Project == nil || m.Project.Revision == o.Project.Revision)
}

// New returns the manifest of what was installed in a directory because it was required,
// and removes there what is no content. The error says what is wrong with it. What is pinned has a version that says
// what it is. Anything else may change and keep its version, as a branch of a
// git repository does, so that it gets a revision. The project is nil where there is none.
func New(ctx context.Context, dir, digest string, required requirements.File, v *common.Verification,
	project *common.ContentItem, l workdir.Limits,
) (m Manifest, err error) {
	m = Manifest{Content: common.Content{Digest: digest, Project: project}, Schema: Schema}

	// Nothing is to be looked at, or removed, in the directory that a link leads to.
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return m, errors.New("its directory was replaced while it was installed")
	}

	if m.Bytes, err = measure(ctx, dir, l); err != nil {
		return m, err
	}

	var sums map[string]hash.Hash
	if !required.Pinned() || v != nil {
		sums = map[string]hash.Hash{}
	}

	t, err := walk(ctx, dir, sums)
	if err != nil {
		return m, err
	}

	m.Collections, m.Roles = t.collections, t.roles

	if err := t.verify(v); err != nil || required.Pinned() {
		return m, err
	}

	for i, c := range m.Collections {
		m.Collections[i].Revision = t.revision(collectionPath(c.Name))
	}

	for i, r := range m.Roles {
		m.Roles[i].Revision = t.revision(rolePath(r.Name))
	}

	if project != nil {
		project.Revision = t.revision(galaxy.ProjectDir)
	}

	return m, nil
}

// Read the manifest in a directory.
func Read(dir string) (Manifest, error) {
	m := Manifest{}

	root, err := os.OpenRoot(dir)
	if err != nil {
		return m, errors.Wrap(err, "cannot read a content set")
	}
	defer root.Close() //nolint:errcheck // It was only read.

	found, err := read(root, File, maxSize, func(text []byte) error { return json.Unmarshal(text, &m) })
	if err == nil && !found {
		err = errors.New("there is no manifest")
	}

	return m, errors.Wrap(err, "cannot read the manifest of a content set")
}

// Write the manifest into a directory.
func (m Manifest) Write(dir string) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return errors.Wrap(err, "cannot encode the manifest of a content set")
	}

	return errors.Wrap(workdir.WriteFile(filepath.Join(dir, File), text), "cannot write the manifest of a content set")
}
