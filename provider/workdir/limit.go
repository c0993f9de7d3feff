package workdir

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// A directory is measured each interval, or less often if that takes long: measuring takes
// one part in share of the time at most.
const (
	interval = 5 * time.Second
	share    = 20
)

// A SizeError is the cause of a context that was done because of a limit.
type SizeError struct {
	// Limit that was exceeded, in bytes.
	Limit int64
}

// Error says what was exceeded.
func (e *SizeError) Error() string {
	return fmt.Sprintf("wrote more than %s below its private directory, the limit of a run",
		resource.NewQuantity(e.Limit, resource.BinarySI))
}

// WithLimit returns a context that is done soon after directories together take more than the limit on disk, in bytes,
// with a SizeError as its cause; 0 means no limit. The cancel function returns when the directories are not looked at
// any more.
func WithLimit(ctx context.Context, limit int64, dirs ...string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if limit <= 0 {
		return ctx, func() { cancel(nil) }
	}

	done := make(chan struct{})

	go func() {
		defer close(done)

		if err := watch(ctx, limit, dirs); err != nil {
			cancel(err)
		}
	}()

	return ctx, func() { cancel(nil); <-done }
}

// watch directories until the context is done, or the limit is exceeded. What cannot be measured exceeds it, too. The
// error is a SizeError.
func watch(ctx context.Context, limit int64, dirs []string) error {
	for wait := interval; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}

		began := time.Now()

		var all int64

		for _, dir := range dirs {
			u, err := Measure(ctx, dir, Limits{Size: limit})
			if all += u.Size; err != nil || all > limit {
				return &SizeError{Limit: limit}
			}
		}

		wait = max(interval, share*time.Since(began))
	}
}
