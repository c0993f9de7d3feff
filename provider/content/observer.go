package content

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// An Observer is told what a store does, for metrics. Its methods are called
// from several goroutines at once, with locks held: they must not block, nor
// call the store.
type Observer interface {
	// Installed is called at the end of each installation.
	Installed(i Installation)
	// Found is called when a set that is wanted was there already.
	Found()
	// Removed is called when a set was removed.
	Removed(r Removal)
	// Stored is called with the number of sets in the store and their size in
	// bytes, whenever these may have changed.
	Stored(sets int, bytes int64)
}

// An Installation that has ended.
type Installation struct {
	// Again is true when content that is not pinned was resolved again in the
	// background, false when a caller waited for it.
	Again bool
	// Result of the installation.
	Result Result
	// Took is how long it took.
	Took time.Duration
}

// A Result of an installation.
type Result string

// Results of installations.
const (
	// ResultInstalled means that there is a new set.
	ResultInstalled Result = "Installed"
	// ResultUnchanged means that what was resolved again is what was there.
	ResultUnchanged Result = "Unchanged"
	// ResultFailed means that ansible-galaxy failed, or the machine did.
	ResultFailed Result = "Failed"
	// ResultCanceled means that no caller waited for the set any more.
	ResultCanceled Result = "Canceled"
)

// A Removal says why a set was removed.
type Removal string

// Reasons for removing a set.
const (
	// RemovedForSpace sets were removed to free space for others.
	RemovedForSpace Removal = "Space"
	// RemovedSuperseded sets were followed by a newer one.
	RemovedSuperseded Removal = "Superseded"
	// RemovedDamaged sets were not what was installed any more.
	RemovedDamaged Removal = "Damaged"
)

// nopObserver does nothing.
type nopObserver struct{}

func (nopObserver) Installed(Installation) {}
func (nopObserver) Found()                 {}
func (nopObserver) Removed(Removal)        {}
func (nopObserver) Stored(int, int64)      {}

// resultOf returns the result of an installation that has not succeeded by its error.
func resultOf(ctx context.Context, err error) Result {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return ResultFailed // It was too slow.
	case ctx.Err() != nil, errors.Is(err, context.Canceled):
		return ResultCanceled
	}

	return ResultFailed
}
