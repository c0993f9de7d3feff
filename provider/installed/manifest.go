// Package installed reads which collections, roles and project ansible-galaxy and git have installed in a directory.
// The directory may contain an attack. New refuses content beyond its limits, removes files that differ between
// installations of the same content, and returns the items with their versions, and with revisions of items that may
// change without a new version. Package content keeps such directories with their manifests.
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

// Schema is the version of installations. It changes with the digest of requests, and with the way New treats installed
// files: installations of another schema are ignored.
const Schema = 6

// File is the name of the manifest in the directory of every complete installation.
const File = "content.json"

// A Manifest lists the content of an installation. It is written last, and never changed.
type Manifest struct {
	common.Content

	Schema int `json:"schema"`
	// Bytes is the size of the installation on disk.
	Bytes int64 `json:"bytes"`
}

// Same is true when two installations have the same content. A project is the same in commits that change only other
// directories of its repository.
func (m Manifest) Same(o Manifest) bool {
	return slices.Equal(m.Collections, o.Collections) && slices.Equal(m.Roles, o.Roles) &&
		(m.Project == nil || o.Project == nil || m.Project.Revision == o.Project.Revision)
}

// New returns the manifest of the content that was installed in a directory for requirements, and removes other files
// there. The error says what is wrong with the content. A pinned item is identified by its version. Any other item,
// such as a branch of a git repository, may change without a new version, and gets a revision. The project is nil if
// there is none.
func New(ctx context.Context, dir, digest string, required requirements.File, v *common.Verification,
	project *common.ContentItem, l workdir.Limits,
) (m Manifest, err error) {
	m = Manifest{Content: common.Content{Digest: digest, Project: project}, Schema: Schema}

	// The directory may have been replaced by a link, and the target of the link must be neither read nor changed.
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

// Read returns the manifest in a directory.
func Read(dir string) (Manifest, error) {
	m := Manifest{}

	root, err := os.OpenRoot(dir)
	if err != nil {
		return m, errors.Wrap(err, "cannot read an installation")
	}
	defer root.Close() //nolint:errcheck // It was only read.

	found, err := read(root, File, maxSize, func(text []byte) error { return json.Unmarshal(text, &m) })
	if err == nil && !found {
		err = errors.New("there is no manifest")
	}

	return m, errors.Wrap(err, "cannot read the manifest of an installation")
}

// Write writes the manifest into a directory.
func (m Manifest) Write(dir string) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return errors.Wrap(err, "cannot encode the manifest of an installation")
	}

	return errors.Wrap(workdir.WriteFile(filepath.Join(dir, File), text), "cannot write the manifest of an installation")
}
