package installed

import (
	"context"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// Limits of an installation. They are checked before any of its files is read.
const (
	// maxEntries is the number of files and directories. Each run visits all of them.
	maxEntries = 200_000
	// maxHoles is by how many bytes the lengths of the files may exceed their size on disk. An archive of a kilobyte can
	// contain sparse files of any length.
	maxHoles = 1 << 30
	// maxInstalled is the number of collections, and of roles, which the status lists.
	maxInstalled = 1000
)

// Bounds returns the limits of an installation with a size on disk, in bytes; 0 means any size.
func Bounds(most int64) workdir.Limits {
	return workdir.Limits{Size: most, Holes: maxHoles, Entries: maxEntries}
}

// measure returns the size of an installation on disk, in bytes. The error names the exceeded limit.
func measure(ctx context.Context, dir string, l workdir.Limits) (int64, error) {
	u, err := workdir.Measure(ctx, dir, l)

	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case err != nil:
		return 0, errors.Wrap(err, "cannot measure it")
	case !l.Exceeded(u):
		return u.Size, nil
	case workdir.Limits{Entries: l.Entries}.Exceeded(u):
		return 0, errors.Errorf(
			"it has more than %d files and directories: divide it among configurations that require less each", l.Entries)
	case workdir.Limits{Holes: l.Holes}.Exceeded(u):
		return 0, errors.Errorf(
			"the lengths of its files exceed their size on disk by more than %s: it must not have large sparse files, or "+
				"large files with many hard links", quantity(l.Holes))
	}

	return 0, errors.Errorf("it takes more than %s on disk, the limit of an installation", quantity(l.Size))
}

func quantity(bytes int64) string {
	return resource.NewQuantity(bytes, resource.BinarySI).String()
}
