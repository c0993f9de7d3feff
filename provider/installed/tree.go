package installed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
)

// revisions of the collections, the roles and the project in a set, by their paths there: sums of the paths and
// contents of their files, and of whether they can be executed. The same content has the same, whenever and however it
// was installed. The size of the set is known to be bounded.
func revisions(ctx context.Context, dir string) (map[string]string, error) {
	sums := map[string]hash.Hash{}

	err := walk(ctx, dir, func(path string, info fs.FileInfo) error {
		item, rest := itemOf(path)
		// What strip has written into a collection is beside its sum.
		if info.IsDir() || item == "" || strings.HasPrefix(item, galaxy.CollectionsDir+"/") && rest == collectionInfo {
			return nil
		}

		sum, err := sumFile(filepath.Join(dir, path), info)
		if err != nil {
			return err
		}

		if sums[item] == nil {
			sums[item] = sha256.New()
		}

		fmt.Fprintf(sums[item], "%s\x00%s\n", rest, sum) //nolint:errcheck // Hashes do not fail.

		return nil
	})

	items := map[string]string{}
	for item, h := range sums {
		items[item] = hex.EncodeToString(h.Sum(nil))
	}

	return items, errors.Wrap(err, "cannot read a content set")
}

// walk the collections, the roles and the project of a set in lexical order.
// Paths are below the set.
func walk(ctx context.Context, dir string, fn func(path string, info fs.FileInfo) error) error {
	for _, sub := range []string{galaxy.CollectionsDir, galaxy.RolesDir, galaxy.ProjectDir} {
		err := filepath.WalkDir(filepath.Join(dir, sub), func(name string, d fs.DirEntry, err error) error {
			if sub == galaxy.ProjectDir && d == nil && errors.Is(err, fs.ErrNotExist) {
				return nil // Few sets have a project.
			}

			if err != nil {
				return err
			}

			if ctx.Err() != nil {
				return context.Cause(ctx)
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

		// The end of a target must not look like the next file.
		return "link " + strconv.Quote(target), err
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

// itemOf is the collection, role or project that a file belongs to, and the path of the
// file in it. Beside collections there are directories with where they came
// from, which belong to none.
func itemOf(path string) (item, rest string) {
	depth := 2

	switch {
	case strings.HasPrefix(path, galaxy.CollectionsDir+"/"):
		depth = 4
	case strings.HasPrefix(path, galaxy.ProjectDir+"/"):
		depth = 1
	}

	parts := strings.SplitN(path, "/", depth+1)
	if len(parts) <= depth {
		return "", ""
	}

	return strings.Join(parts[:depth], "/"), parts[depth]
}
