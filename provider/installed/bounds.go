package installed

import (
	"context"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// What a set may have: nothing of it is read before it is known to be bounded.
const (
	// maxEntries are its files and directories. All of them are looked at before
	// each run.
	maxEntries = 200_000
	// maxHoles are what its files are said to have beyond what they take on disk,
	// in bytes. An archive of a kilobyte can have any number of them.
	maxHoles = 1 << 30
	// maxInstalled are its collections and roles, which the status lists.
	maxInstalled = 1000
)

// Bounds of a set of which most bytes are allowed on disk; 0 means any number.
func Bounds(most int64) workdir.Limits {
	return workdir.Limits{Size: most, Holes: maxHoles, Entries: maxEntries}
}

// measure what a set takes on disk, in bytes. The error says what is beyond bounds.
func measure(ctx context.Context, dir string, l workdir.Limits) (int64, error) {
	u, err := workdir.Measure(ctx, dir, l)

	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case err != nil:
		return 0, errors.Wrap(err, "cannot tell how large it is")
	case !l.Exceeded(u):
		return u.Size, nil
	case workdir.Limits{Entries: l.Entries}.Exceeded(u):
		return 0, errors.Errorf(
			"it has more than %d files and directories: divide it among configurations that require less each", l.Entries)
	case workdir.Limits{Holes: l.Holes}.Exceeded(u):
		return 0, errors.Errorf(
			"its files are more than %s longer than what they take on disk: it may not have large files that are sparse, or "+
				"that have many names", quantity(l.Holes))
	}

	return 0, errors.Errorf("it takes more than %s on disk, the limit of an installation", quantity(l.Size))
}

func quantity(bytes int64) string {
	return resource.NewQuantity(bytes, resource.BinarySI).String()
}
