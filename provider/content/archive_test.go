package content

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
)

// zipOf returns a zip of files with these modes. The text of a link is its target.
func zipOf(t *testing.T, modes map[string]fs.FileMode) []byte {
	t.Helper()

	b := &bytes.Buffer{}
	w := zip.NewWriter(b)

	for name, mode := range modes {
		h := &zip.FileHeader{Name: name}
		h.SetMode(mode)

		f, err := w.CreateHeader(h)
		needs.OK(t, err)

		_, err = f.Write([]byte("site.yml"))
		needs.OK(t, err)
	}

	needs.OK(t, w.Close())

	return b.Bytes()
}

// archives returns cases of archives of projects, which are downloaded like archives of roles.
func (w *world) archives(t *testing.T) map[string]sourceCase {
	t.Helper()

	private := map[string]string{".netrc": netLogin}
	file := func(name string) member { return regular(name, "text") }

	from := func(archive []byte, name, path string) sourceCase {
		at := filepath.Join(w.root, "../archives", strings.TrimSuffix(name, "?raw=1"))
		needs.OK(t, os.WriteFile(at, archive, 0o600))

		return sourceCase{
			project: &common.Project{Src: "$FILES/" + name, Path: path}, credentials: private,
			version: fmt.Sprintf("sha256:%x", sha256.Sum256(archive)),
		}
	}
	installed := func(reason string, archive []byte, name, path string, files ...string) sourceCase {
		tc := from(archive, name, path)
		tc.reason, tc.files = reason, files

		return tc
	}
	refused := func(reason string, archive []byte, name, err string) sourceCase {
		tc := from(archive, name, "")
		tc.reason, tc.version, tc.err = reason, "", "project: "+strings.Replace(err, "IT:", "Failed to read the archive $FILES/"+name+":", 1)

		return tc
	}

	site := file("./site.yml")
	released := tarOf(t, file("site-1.0.0/web/site.yml"), file("site-1.0.0/README.md"))
	zipped := zipOf(t, map[string]fs.FileMode{"site.yml": 0o644, "bin/run.sh": 0o755, "same.yml": fs.ModeSymlink})
	linked := tarOf(t, site, member{Header: tar.Header{Typeflag: tar.TypeLink, Name: "a/same.yml", Linkname: "./site.yml"}})

	return map[string]sourceCase{
		"Directory": installed("A directory around all files is not a part of their paths.", released, "all.tar", "", "README.md", "web/site.yml"),
		"Path":      installed("A path selects a directory of the archive. A query belongs to the URL.", released, "web.tar?raw=1", "web", "site.yml"),
		"Zip":       installed("Executable files and links are preserved.", zipped, "site.zip", "", "bin/run.sh is a program", "same.yml is a link", "site.yml"),
		"HardLink":  installed("A hard link becomes a file.", linked, "hard.tar", "", "a/same.yml", "site.yml"),
		"NoArchive": refused("An HTML page is not an archive.", []byte("<html>Welcome</html>"), "page.tar",
			"IT: it is neither a zip nor a tar, plain or compressed with gzip, bzip2 or xz"),
		"Above":    refused("A path above the project is refused.", tarOf(t, site, file("a/../../evil")), "above.tar", "IT: a/../../evil is outside of the project"),
		"Absolute": refused("An absolute path is refused.", tarOf(t, site, file("/tmp/evil")), "absolute.tar", "IT: /tmp/evil is outside of the project"),
		"Device": refused("A device is refused.", tarOf(t, site, member{Header: tar.Header{Typeflag: tar.TypeBlock, Name: "disk"}}), "device.tar",
			"IT: disk is neither a file, a directory nor a link"),
		"LinkOut": refused("A link to a file of the machine is refused.", tarOf(t, site, symlink("users", "/etc/passwd")), "out.tar",
			"users is a link to /etc/passwd, which is not in the project: give a path that has both"),
		"FileThroughLink": refused("A file behind a link of the archive is refused.", tarOf(t, site, symlink("web", ".."), file("web/evil")), "through.tar",
			"IT: web is in the archive twice"),
	}
}

// TestProjectArchiveRedirect downloads an archive from another host after a redirect. That host does not receive the
// password.
func TestProjectArchiveRedirect(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	passwords := make(chan string, 1)
	storage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		passwords <- r.Header.Get("Authorization")

		_, _ = w.Write(tarOf(t, regular("site.yml", "text")))
	}))
	t.Cleanup(storage.Close)

	source := sources.Start(t, http.RedirectHandler(storage.URL, http.StatusFound), sources.Options{Auth: sources.Auth{User: "me", Password: secret}})

	in := inputs.Inputs{Credentials: []inputs.File{{Name: ".netrc", Data: []byte("machine 127.0.0.1 login me password " + secret)}}}
	in.Parameters.Project = &common.Project{Src: source.URL + "/site.tar"}

	ensure(t, newStore(t, Config{Dir: t.TempDir()}), request(t, in))

	if got := <-passwords; got != "" {
		t.Errorf("Authorization: %q", got)
	}
}

// TestProjectArchiveBrokenOff has a connection that ends between the first member of the archive and the end of the
// header of the second, where an uncompressed tar looks complete.
func TestProjectArchiveBrokenOff(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	site := tarOf(t, regular("site.yml", "text"), regular("group_vars/all.yml", "text"))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(site)))

		_, _ = w.Write(site[:2*512+100])
	}))
	t.Cleanup(s.Close)

	url := s.URL + "/site-1.4.0.tar"
	in := inputs.Inputs{Parameters: common.AnsibleRunParameters{Project: &common.Project{Src: url}}}

	_, _, err := newStore(t, Config{Dir: t.TempDir()}).Ensure(t.Context(), request(t, in))

	want := "cannot install project: Failed to download the file " + url + ": the connection ended before the end of the file"
	if diff := cmp.Diff(want, needs.Message(err)); diff != "" {
		t.Errorf("Ensure(...): -want, +got:\n%s", diff)
	}
}

// filesOf returns the files of a project, with a note for programs and links.
func filesOf(t *testing.T, dir string) (files []string) {
	t.Helper()

	if dir == "" {
		return nil
	}

	needs.OK(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}

		info, err := d.Info()

		switch {
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			path += " is a link"
		case info.Mode()&0o100 != 0:
			path += " is a program"
		}

		files = append(files, path)

		return nil
	}))

	return files
}
