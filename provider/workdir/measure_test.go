package workdir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

func TestMeasure(t *testing.T) {
	type want struct {
		// least and most are bounds of the size: file systems differ.
		least, most int64
		// holes is the length beyond the size on disk, in MiB.
		holes int64
	}

	for name, tc := range map[string]struct {
		reason string
		make   func(t *testing.T, dir string)
		want   want
	}{
		"Empty": {
			reason: "An empty directory has the size of one entry.",
			make:   func(*testing.T, string) {},
			want:   want{least: 4 * kib, most: 8 * kib},
		},
		"Files": {
			reason: "Files in subdirectories count.",
			make: func(t *testing.T, dir string) {
				t.Helper()
				fill(t, filepath.Join(dir, "a", "b", "file"), mib)
				fill(t, filepath.Join(dir, "file"), mib)
			},
			want: want{least: 2 * mib, most: 2*mib + 64*kib},
		},
		"Many": {
			reason: "Empty files count.",
			make: func(t *testing.T, dir string) {
				t.Helper()

				for i := range 2 * batch {
					fill(t, filepath.Join(dir, fmt.Sprint(i)), 0)
				}
			},
			want: want{least: 8 * mib, most: 9 * mib},
		},
		"Sparse": {
			reason: "A sparse file counts with its size on disk.",
			make: func(t *testing.T, dir string) {
				t.Helper()
				fill(t, filepath.Join(dir, "file"), 0)
				needs.OK(t, os.Truncate(filepath.Join(dir, "file"), 1<<40))
			},
			want: want{least: 8 * kib, most: 64 * kib, holes: 1<<20 - 1},
		},
		"Linked": {
			reason: "Hard links count once on disk, and each of them counts as length.",
			make: func(t *testing.T, dir string) {
				t.Helper()
				fill(t, filepath.Join(dir, "file"), mib)

				for i := range 10 {
					needs.OK(t, os.Link(filepath.Join(dir, "file"), filepath.Join(dir, fmt.Sprint(i))))
				}
			},
			want: want{least: mib, most: mib + 64*kib, holes: 10},
		},
		"Symlink": {
			reason: "Links are not followed.",
			make: func(t *testing.T, dir string) {
				t.Helper()
				needs.OK(t, os.Symlink("/", filepath.Join(dir, "root")))
			},
			want: want{least: 8 * kib, most: 16 * kib},
		},
		"Gone": {
			reason: "A missing directory has no size.",
			make:   func(t *testing.T, dir string) { t.Helper(); needs.OK(t, os.Remove(dir)) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "dir")
			needs.OK(t, os.Mkdir(dir, 0o700))
			tc.make(t, dir)

			got, err := Measure(t.Context(), dir, Limits{})
			if err != nil {
				t.Errorf("%s\nMeasure(...): %v", tc.reason, err)
			}

			if got.Size < tc.want.least || got.Size > tc.want.most {
				t.Errorf("%s\nMeasure(...): got %d, want %d to %d", tc.reason, got.Size, tc.want.least, tc.want.most)
			}

			if diff := cmp.Diff(tc.want.holes, got.Holes/mib); diff != "" {
				t.Errorf("%s\nMeasure(...): -want MiB of holes, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestMeasureStops checks that Measure stops soon after a limit is exceeded, or the context is done.
func TestMeasureStops(t *testing.T) {
	dir := t.TempDir()

	for i := range 3 * batch {
		fill(t, filepath.Join(dir, fmt.Sprint(i)), 0)
	}

	for _, l := range []Limits{{Size: mib}, {Entries: mib / entrySize}} {
		got, err := Measure(t.Context(), dir, l)
		if err != nil || !l.Exceeded(got) || got.Size > mib+batch*entrySize {
			t.Errorf("Measure(%+v): got %+v, %v, want little more than the limit", l, got, err)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	if _, err := Measure(ctx, dir, Limits{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Measure(...): got %v, want context.Canceled", err)
	}
}

func fill(t *testing.T, path string, size int) {
	t.Helper()
	needs.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
	needs.OK(t, os.WriteFile(path, []byte(strings.Repeat("x", size)), 0o600))
}
