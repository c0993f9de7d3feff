package workdir

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// A directory is measured after each interval. If that takes long, the interval grows, so that at most one part in
// share of the time is spent on measuring.
const (
	interval = 5 * time.Second
	share    = 20
)

// A SizeError is the cause of a context that ended because of a limit.
type SizeError struct {
	// Limit that was exceeded, in bytes.
	Limit int64
}

// Error says which limit was exceeded.
func (e *SizeError) Error() string {
	return fmt.Sprintf("wrote more than %s below its private directory, the limit of a run",
		resource.NewQuantity(e.Limit, resource.BinarySI))
}

// WithLimit returns a context that ends soon after directories together exceed the limit on disk, in bytes, with a
// SizeError as its cause; 0 means no limit. The cancel function returns when the measuring has ended.
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

// watch directories until the context is done, or the limit is exceeded. A directory that cannot be measured counts as
// too large. The error is a SizeError.
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
