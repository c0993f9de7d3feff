package installed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/requirements"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestRevisions checks which differences give content another revision.
func TestRevisions(t *testing.T) {
	base := map[string]string{
		"collections/ansible_collections/a/b/MANIFEST.json": `{"collection_info": {"namespace": "a", "name": "b", "version": "1.0.0"}}`,
		"collections/ansible_collections/a/b/plugins/x.py":  "x",
		"roles/r/meta/.galaxy_install_info":                 "version: main\n",
		"roles/r/tasks/main.yml":                            "[]",
	}

	for name, tc := range map[string]struct {
		reason string
		change func(dir string) error
		same   bool
	}{
		"Description": {
			reason: "Other metadata of a collection than its name and version is not part of the revision.",
			change: func(dir string) error {
				text := strings.Replace(base["collections/ansible_collections/a/b/MANIFEST.json"], "{", `{"format": 2, `, 1)

				return os.WriteFile(filepath.Join(dir, "collections/ansible_collections/a/b/MANIFEST.json"), []byte(text), 0o600)
			},
			same: true,
		},
		"Git": {
			reason: "Files of git are part of the revision where they are installed.",
			change: func(dir string) error {
				if err := os.Mkdir(filepath.Join(dir, "roles/r/.git"), 0o700); err != nil {
					return err
				}

				return os.WriteFile(filepath.Join(dir, "roles/r/.git/main.yml"), nil, 0o600)
			},
		},
		"Content": {
			reason: "The content of a file is part of the revision.",
			change: func(dir string) error {
				return os.WriteFile(filepath.Join(dir, "roles/r/tasks/main.yml"), []byte("[1]"), 0o600)
			},
		},
		"Name": {
			reason: "The path of a file is part of the revision.",
			change: func(dir string) error {
				return os.Rename(filepath.Join(dir, "roles/r/tasks/main.yml"), filepath.Join(dir, "roles/r/tasks/other.yml"))
			},
		},
		"Executable": {
			reason: "The execute permission of a file is part of the revision.",
			change: func(dir string) error {
				return os.Chmod(filepath.Join(dir, "collections/ansible_collections/a/b/plugins/x.py"), 0o700)
			},
		},
		"Link": {
			reason: "The target of a link is part of the revision.",
			change: func(dir string) error { return os.Symlink("main.yml", filepath.Join(dir, "roles/r/tasks/link.yml")) },
		},
		"Pipe": {
			reason: "A pipe is not opened.",
			change: func(dir string) error { return unix.Mkfifo(filepath.Join(dir, "roles/r/pipe"), 0o600) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			revisions := func(change func(dir string) error) []common.ContentItem {
				dir := t.TempDir()
				needs.Write(t, dir, base)
				needs.OK(t, change(dir))

				m, err := New(t.Context(), dir, "x", requirements.File{Roles: []requirements.Role{{Name: "r"}}}, nil, nil, Bounds(0))
				needs.OK(t, err)

				return append(m.Collections, m.Roles...)
			}

			a, b := revisions(func(string) error { return nil }), revisions(tc.change)
			if diff := cmp.Diff(tc.same, cmp.Equal(a, b)); diff != "" {
				t.Errorf("\n%s\nNew(...): -want the same, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestStrip has metadata of the installation, and bytecode, which Python would run in place of the source.
func TestStrip(t *testing.T) {
	const web = "collections/ansible_collections/acme/web/"

	dir := t.TempDir()
	needs.Write(t, dir, map[string]string{
		web + "MANIFEST.json":               `{"collection_info": {"namespace": "acme", "name": "web", "version": "1.0.0", "description": "built today"}}`,
		web + "FILES.json":                  "{}",
		web + "plugins/x.py":                "x",
		web + "plugins/__pycache__/x.pyc":   "y",
		"roles/r/meta/.galaxy_install_info": "version: v1\n",
		"roles/r/tasks/main.yml":            "[]",
		"roles/r/__pycache__":               "",
		"collections/ansible_collections/acme.web-1.0.0.info/GALAXY.yml": "server: https://me:secret@hub.example.org\n",
	})
	needs.OK(t, os.Chmod(filepath.Join(dir, web, "plugins"), 0o500))
	needs.OK(t, os.Symlink("acme", filepath.Join(dir, "collections/ansible_collections/link"))) // It is no namespace of collections.

	m, err := New(t.Context(), dir, "x", requirements.File{Collections: []requirements.Collection{{Name: "acme.web"}}}, nil, nil, Bounds(0))
	needs.OK(t, err)

	got := map[string]string{}

	needs.OK(t, filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, _ := os.ReadFile(name)
			got[strings.TrimPrefix(name, dir+"/")] = string(text)
		}

		return err
	}))

	want := map[string]string{
		web + "MANIFEST.json":    `{"format":1,"collection_info":{"namespace":"acme","name":"web","version":"1.0.0","dependencies":{}}}`,
		web + "plugins/x.py":     "x",
		"roles/r/tasks/main.yml": "[]",

		"collections/ansible_collections/link": "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Only content should be left: -want, +got:\n%s", diff)
	}

	if c := m.Collections[0]; len(m.Collections) != 1 || c.Source != "https://hub.example.org" || c.Revision == "" || m.Roles[0].Version != "v1" {
		t.Errorf("The source, the revision and the version should be known: %+v, %+v", c, m.Roles)
	}
}
