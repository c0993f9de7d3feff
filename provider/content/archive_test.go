package content

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// tarOf members without content, but for files.
func tarOf(t *testing.T, members ...tar.Header) []byte {
	t.Helper()

	b := &bytes.Buffer{}
	w := tar.NewWriter(b)

	for _, h := range members {
		text := ""
		if h.Typeflag == tar.TypeReg {
			text = "text"
		}

		h.Size = int64(len(text))
		needs.OK(t, w.WriteHeader(&h))

		_, err := w.Write([]byte(text))
		needs.OK(t, err)
	}

	needs.OK(t, w.Close())

	return b.Bytes()
}

// zipOf files with these modes. The text of a link is where it leads.
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

// TestProjectArchives installs projects from archives, which come as ansible-galaxy downloads those of roles.
func TestProjectArchives(t *testing.T) {
	t.Parallel()
	needs.Ansible(t)

	const evil = "$FILES/site.tar: "

	w := newWorld(t)
	private := map[string]string{".netrc": netLogin, "ca.crt": "$CA"}
	file := tar.Header{Typeflag: tar.TypeReg, Name: "./site.yml", Mode: 0o600}
	link := tar.Header{Typeflag: tar.TypeSymlink, Name: "web", Linkname: ".."}
	released := tarOf(t, tar.Header{Typeflag: tar.TypeReg, Name: "site-1.0.0/web/site.yml"}, tar.Header{Typeflag: tar.TypeReg, Name: "site-1.0.0/README.md"})

	for name, tc := range map[string]struct {
		reason      string
		archive     []byte
		project     common.Project
		credentials map[string]string
		files       []string
		err         string
	}{
		"Directory": {
			reason:  "A directory that has all files is not a part of their paths.",
			archive: released, project: common.Project{Src: "$FILES/site.tar"}, credentials: private, files: []string{"README.md", "web/site.yml"},
		},
		"Path": {
			reason:  "A directory of the archive comes without what is beside it.",
			archive: released, project: common.Project{Src: "$FILES/site.tar", Path: "web"}, credentials: private, files: []string{"site.yml"},
		},
		"Query": {
			reason:  "A query belongs to the URL.",
			archive: released, project: common.Project{Src: "$FILES/site.tar?raw=1", Path: "web"}, credentials: private, files: []string{"site.yml"},
		},
		"Zip": {
			reason:  "Programs stay programs, and links links.",
			archive: zipOf(t, map[string]fs.FileMode{"site.yml": 0o644, "bin/run.sh": 0o755, "same.yml": fs.ModeSymlink}),
			project: common.Project{Src: "$FILES/site.zip"}, credentials: private, files: []string{"bin/run.sh is a program", "same.yml is a link", "site.yml"},
		},
		"HardLink": {
			reason: "A hard link is a file.", archive: tarOf(t, file, tar.Header{Typeflag: tar.TypeLink, Name: "a/same.yml", Linkname: "./site.yml"}),
			project: common.Project{Src: "$FILES/site.tar"}, credentials: private, files: []string{"a/same.yml", "site.yml"},
		},
		"NoPath": {
			reason:  "A directory that is not there is named.",
			archive: released, project: common.Project{Src: "$FILES/site.tar", Path: "database"}, credentials: private,
			err: `$FILES/site.tar has no directory "database"`,
		},
		"Missing": {
			reason: "So is an archive.", project: common.Project{Src: "$FILES/none.tgz"}, credentials: private,
			err: "Failed to download the file $FILES/none.tgz: HTTP Error 404: Not Found",
		},
		"WrongPassword": {
			reason:  "The advice is that for all archives.",
			project: common.Project{Src: "$FILES/site.tar"}, credentials: map[string]string{".netrc": "machine $FILEHOST login me password wrong\n", "ca.crt": "$CA"},
			err: "Failed to download the file $FILES/site.tar: HTTP Error 401: Unauthorized; the credential .netrc must have a line 'machine HOST login USER password PASSWORD' for its host",
		},
		"NoArchive": {
			reason: "A page is no archive.", archive: []byte("<html>Welcome</html>"), project: common.Project{Src: "$FILES/site.tar"}, credentials: private,
			err: "Failed to read the archive " + evil + "it is no zip, and no tar that is compressed with gzip, bzip2, xz or nothing",
		},
		"Above": {
			reason:  "No file is above the project.",
			archive: tarOf(t, file, tar.Header{Typeflag: tar.TypeReg, Name: "a/../../evil"}), project: common.Project{Src: "$FILES/site.tar"}, credentials: private,
			err: "Failed to read the archive " + evil + "a/../../evil is outside of it",
		},
		"Absolute": {
			reason:  "None is elsewhere on the machine.",
			archive: tarOf(t, file, tar.Header{Typeflag: tar.TypeReg, Name: "/tmp/evil"}), project: common.Project{Src: "$FILES/site.tar"}, credentials: private,
			err: "Failed to read the archive " + evil + "/tmp/evil is outside of it",
		},
		"Device": {
			reason:  "Nobody needs a device in a project.",
			archive: tarOf(t, file, tar.Header{Typeflag: tar.TypeBlock, Name: "disk"}), project: common.Project{Src: "$FILES/site.tar"}, credentials: private,
			err: "Failed to read the archive " + evil + "disk is no file, directory or link",
		},
		"LinkOut": {
			reason:  "A link to a file of the machine leads out of each project.",
			archive: tarOf(t, file, tar.Header{Typeflag: tar.TypeSymlink, Name: "users", Linkname: "/etc/passwd"}), project: common.Project{Src: "$FILES/site.tar"}, credentials: private,
			err: "users is a link to /etc/passwd, which is not in the project: give a path that has both",
		},
		"FileThroughLink": {
			reason:  "No file is written through a link of the archive.",
			archive: tarOf(t, link, tar.Header{Typeflag: tar.TypeReg, Name: "web/evil"}), project: common.Project{Src: "$FILES/site.tar"}, credentials: private,
			err: "Failed to read the archive " + evil + "web is there already",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.archive != nil {
				needs.OK(t, os.WriteFile(filepath.Join(w.root, "../archives/site"+strings.TrimPrefix(path.Base(strings.TrimSuffix(tc.project.Src, "?raw=1")), "site")), tc.archive, 0o600))
			}

			in := w.inputs("", tc.credentials, map[string]string{"SSL_CERT_FILE": "ca.crt"})
			tc.project.Src = w.expand(tc.project.Src)
			in.Parameters.Project = &tc.project

			set, err := installs(t, in)
			if err == "" {
				if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(tc.archive)); set.Project.Version != sum || set.Project.Revision == "" {
					t.Errorf("\nThe status should have the sum %s, and a revision, got %+v", sum, set.Project)
				}
			}

			got := strings.TrimPrefix(w.collapse(err), "cannot install project: ")
			if diff := cmp.Diff(tc.err, got); diff != "" {
				t.Errorf("\n%s\nEnsure(...): -want, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.files, filesOf(t, set.ProjectPath())); diff != "" {
				t.Errorf("\n%s\nFiles: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// filesOf a project, with what they are in addition.
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
