package workdir

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestWithLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		limit  int64
		make   func(t *testing.T, dir string)
		want   error
	}{
		"Exceeded": {
			reason: "A directory above the limit ends the context.",
			limit:  mib,
			make:   func(t *testing.T, dir string) { t.Helper(); fill(t, filepath.Join(dir, "file"), 2*mib) },
			want:   &SizeError{Limit: mib},
		},
		"Other": {
			reason: "Another directory above the limit ends the context.",
			limit:  mib,
			make:   func(t *testing.T, dir string) { t.Helper(); fill(t, filepath.Join(dir+".other", "file"), 2*mib) },
			want:   &SizeError{Limit: mib},
		},
		"Together": {
			reason: "Directories that exceed the limit together end the context.",
			limit:  mib,
			make: func(t *testing.T, dir string) {
				t.Helper()
				fill(t, filepath.Join(dir, "file"), 3*mib/4)
				fill(t, filepath.Join(dir+".other", "file"), 3*mib/4)
			},
			want: &SizeError{Limit: mib},
		},
		"Hidden": {
			reason: "A directory that cannot be measured ends the context.",
			limit:  1 << 40,
			make:   func(t *testing.T, dir string) { t.Helper(); nest(t, dir) },
			want:   &SizeError{Limit: 1 << 40},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()

			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := WithLimit(t.Context(), tc.limit, dir, dir+".other")
				defer cancel()

				if err := ctx.Err(); err != nil {
					t.Fatalf("%s\nbefore: %v", tc.reason, err)
				}

				tc.make(t, dir)
				<-ctx.Done()

				if diff := cmp.Diff(tc.want, context.Cause(ctx)); diff != "" {
					t.Errorf("%s\nCause(...): -want, +got:\n%s", tc.reason, diff)
				}
			})
		})
	}
}

// TestWithoutLimit checks that without a limit only the parent ends the context.
func TestWithoutLimit(t *testing.T) {
	cause := errors.New("enough")

	for _, limit := range []int64{0, 1 << 40} {
		dir := t.TempDir()
		fill(t, filepath.Join(dir, "file"), mib)

		synctest.Test(t, func(t *testing.T) {
			parent, end := context.WithCancelCause(t.Context())

			ctx, cancel := WithLimit(parent, limit, dir)
			defer cancel()

			time.Sleep(2 * interval)

			if err := ctx.Err(); err != nil {
				t.Errorf("WithLimit(%d): %v", limit, err)
			}

			end(cause)
			<-ctx.Done()

			if diff := cmp.Diff(cause, context.Cause(ctx), cmpopts.EquateErrors()); diff != "" {
				t.Errorf("WithLimit(%d): -want cause, +got cause:\n%s", limit, diff)
			}
		})
	}
}

// nest creates directories in each other until the path of the last one is too long.
func nest(t *testing.T, dir string) {
	t.Helper()

	d, err := unix.Open(dir, unix.O_DIRECTORY, 0)
	needs.OK(t, err)

	name := strings.Repeat("d", 200)

	for range unix.PathMax/len(name) + 1 {
		needs.OK(t, unix.Mkdirat(d, name, 0o700))

		next, err := unix.Openat(d, name, unix.O_DIRECTORY, 0)
		needs.OK(t, err)
		needs.OK(t, unix.Close(d))
		d = next
	}

	needs.OK(t, unix.Close(d))
}
