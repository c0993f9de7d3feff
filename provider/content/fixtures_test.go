package content

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func collectionFiles(name, version string) map[string]string {
	return map[string]string{
		"galaxy.yml":                 "namespace: acme\nname: " + name + "\nversion: " + version + "\nreadme: README.md\nauthors: [acme]\n",
		"README.md":                  "# A collection\n",
		"roles/hello/tasks/main.yml": "- ansible.builtin.debug:\n    msg: hello\n",
	}
}

func roleFiles() map[string]string {
	return map[string]string{
		"meta/main.yml":  "galaxy_info: {author: acme, description: a role, license: Apache-2.0, min_ansible_version: '2.14'}\ndependencies: []\n",
		"tasks/main.yml": "- ansible.builtin.debug:\n    msg: hello\n",
	}
}

// A member of an archive.
type member struct {
	tar.Header

	text string
}

func regular(name, text string) member {
	return member{Header: tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(text))}, text: text}
}

func symlink(name, target string) member {
	return member{Header: tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target}}
}

// below returns members with these files below a directory.
func below(dir string, files map[string]string) (members []member) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		members = append(members, regular(dir+name, files[name]))
	}

	return members
}

func tarOf(t *testing.T, members ...member) []byte {
	t.Helper()

	b := &bytes.Buffer{}
	w := tar.NewWriter(b)

	for _, m := range members {
		needs.OK(t, w.WriteHeader(&m.Header))

		_, err := w.Write([]byte(m.text))
		needs.OK(t, err)
	}

	needs.OK(t, w.Close())

	return b.Bytes()
}

// pack writes members into a compressed file.
func pack(t *testing.T, file string, members ...member) {
	t.Helper()

	b := &bytes.Buffer{}
	z := gzip.NewWriter(b)

	_, err := z.Write(tarOf(t, members...))
	needs.OK(t, errors.Join(err, z.Close(), os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, b.Bytes(), 0o600)))
}

// buildCollection builds a collection like ansible-galaxy, in a directory. It returns the archive and the manifest in
// it.
func buildCollection(t *testing.T, dir, name, version, dependencies string, more map[string]string) (file, manifest string) {
	t.Helper()

	files := collectionFiles(name, version)
	delete(files, "galaxy.yml")
	maps.Copy(files, more)

	const listed = `{"name": %q, "ftype": "file", "chksum_type": "sha256", "chksum_sha256": "%x", "format": 1}`

	var list []string

	for _, m := range below("", files) {
		list = append(list, fmt.Sprintf(listed, m.Name, sha256.Sum256([]byte(m.text))))
	}

	files["FILES.json"] = `{"files": [` + strings.Join(list, ", ") + `], "format": 1}`
	files["MANIFEST.json"] = fmt.Sprintf(`{"collection_info": {"namespace": "acme", "name": %q, "version": %q, "dependencies": {%s}}, `+
		`"file_manifest_file": `+listed+`, "format": 1}`, name, version, dependencies, "FILES.json", sha256.Sum256([]byte(files["FILES.json"])))

	file = filepath.Join(dir, "acme-"+name+"-"+version+".tar.gz")
	pack(t, file, below("", files)...)

	return file, files["MANIFEST.json"]
}

// gitRepo makes a repository with the files and the tag v1.
func gitRepo(tb testing.TB, dir string, files map[string]string) string {
	tb.Helper()

	needs.Write(tb, dir, files)
	git(tb, dir, "init", "-q")
	git(tb, dir, "add", ".")
	git(tb, dir, "commit", "-q", "-m", "first")
	git(tb, dir, "tag", "v1")

	return dir
}

func repoURL(dir string) string {
	return "file://" + dir
}
