package content

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

const (
	// block is what a file takes on disk at least, in bytes.
	block = 4 << 10
	// revisionLength is the length of a revision, in hexadecimal digits.
	revisionLength = 12
	// pythonCache is a directory with what Python makes of the files beside it.
	// It comes and goes.
	pythonCache = "__pycache__"
)

// A tree is what the files of a set add up to.
type tree struct {
	// Sum of all files: their paths, contents, and whether they are executable.
	Sum string `json:"sum"`
	// Items has such a sum of each collection and role, by its path in the set.
	// What only depends on when and how it was installed is left out: the same
	// content has the same sum always.
	Items map[string]string `json:"items,omitempty"`
	// Bytes that all of it takes on disk, in whole blocks.
	Bytes int64 `json:"bytes"`
}

// readTree reads all files of a set.
func readTree(dir string) (tree, error) {
	all, items := sha256.New(), map[string]hash.Hash{}
	t := tree{Items: map[string]string{}}

	err := walk(dir, func(path string, info fs.FileInfo) error {
		t.Bytes += (info.Size() + block - 1) / block * block

		if info.IsDir() {
			return nil
		}

		sum, err := sumFile(filepath.Join(dir, path), info)
		if err != nil {
			return err
		}

		fmt.Fprintf(all, "%s\x00%s\n", path, sum) //nolint:errcheck // Hashes do not fail.

		item, rest := itemOf(path)
		if item == "" || ofInstallation(item, rest) {
			return nil
		}

		if items[item] == nil {
			items[item] = sha256.New()
		}

		fmt.Fprintf(items[item], "%s\x00%s\n", rest, sum) //nolint:errcheck // Hashes do not fail.

		return nil
	})

	t.Sum = hex.EncodeToString(all.Sum(nil))
	for item, h := range items {
		t.Items[item] = hex.EncodeToString(h.Sum(nil))
	}

	return t, errors.Wrap(err, "cannot read a content set")
}

// revision of a collection or role, by its path in the set.
func (t tree) revision(path string) string {
	return t.Items[path][:min(len(t.Items[path]), revisionLength)]
}

// stampTree tells whether any file of a set was touched, without reading them.
// Another stamp may still be the same content, of a volume that was moved for
// example; the same stamp is the same content.
func stampTree(dir string) (string, error) {
	h := sha256.New()
	add := func(path string, info fs.FileInfo) error {
		if info.IsDir() {
			return nil
		}

		fmt.Fprintf(h, "%s\x00%o %d %d", path, info.Mode(), info.Size(), info.ModTime().UnixNano()) //nolint:errcheck // Hashes do not fail.

		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			fmt.Fprintf(h, " %d %d.%d", s.Ino, s.Ctim.Sec, s.Ctim.Nsec) //nolint:errcheck // Hashes do not fail.
		}

		return nil
	}

	info, err := os.Lstat(filepath.Join(dir, manifestFile))
	if err != nil {
		return "", errors.Wrap(err, "cannot look at a content set")
	}

	if err := add(manifestFile, info); err != nil {
		return "", err
	}

	if err := walk(dir, add); err != nil {
		return "", errors.Wrap(err, "cannot look at a content set")
	}

	return hex.EncodeToString(h.Sum(nil)), nil
}

// walk the collections and roles of a set in lexical order, caches excepted.
// Paths are below the set.
func walk(dir string, fn func(path string, info fs.FileInfo) error) error {
	for _, sub := range []string{collectionsDir, rolesDir} {
		err := filepath.WalkDir(filepath.Join(dir, sub), func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}

			if d.IsDir() && d.Name() == pythonCache {
				return fs.SkipDir
			}

			info, err := d.Info()
			if err != nil {
				return err
			}

			return fn(strings.TrimPrefix(name, dir+string(filepath.Separator)), info)
		})
		if err != nil {
			return err
		}
	}

	return nil
}

// sumFile with its kind and content.
func sumFile(name string, info fs.FileInfo) (string, error) {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(name)

		return "link " + target, err
	case !info.Mode().IsRegular():
		return info.Mode().Type().String(), nil
	}

	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // It was only read.

	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}

	kind := "file"
	if info.Mode()&0o100 != 0 {
		kind = "program"
	}

	return kind + " " + hex.EncodeToString(h.Sum(nil)), nil
}

// itemOf is the collection or role that a file belongs to, and the path of the
// file in it. Beside collections there are directories with where they came
// from, which belong to none.
func itemOf(path string) (item, rest string) {
	depth := 2
	if strings.HasPrefix(path, collectionsDir+"/") {
		depth = 4
	}

	parts := strings.SplitN(path, "/", depth+1)
	if len(parts) <= depth {
		return "", ""
	}

	return strings.Join(parts[:depth], "/"), parts[depth]
}

// ofInstallation is true for files that do not say what was installed, but when
// and how. The two that ansible-galaxy builds collections with list the others
// in the order of a directory.
func ofInstallation(item, rest string) bool {
	if strings.HasPrefix(item, rolesDir+"/") {
		return rest == "meta/.galaxy_install_info" || inGit(rest)
	}

	return rest == "MANIFEST.json" || rest == "FILES.json" || inGit(rest)
}

func inGit(path string) bool {
	return slices.Contains(strings.Split(path, "/"), ".git")
}
