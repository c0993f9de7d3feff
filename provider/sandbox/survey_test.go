package sandbox

import (
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestSurvey(t *testing.T) {
	file := func(mode fs.FileMode) *fstest.MapFile { return &fstest.MapFile{Mode: mode} }
	root := fstest.MapFS{
		"usr":              file(fs.ModeDir | 0o755),
		"usr/bin/sh":       file(0o755),
		"usr/bin":          file(fs.ModeDir | 0o755),
		"usr/lib":          file(fs.ModeDir | 0o755),
		"usr/lib/x":        file(0o644),
		"opt":              file(fs.ModeDir | 0o755),
		"etc":              file(fs.ModeDir | 0o755),
		"etc/hosts":        file(0o644),
		"etc/mtab":         {Mode: fs.ModeSymlink | 0o777, Data: []byte("/proc/self/mounts")},
		"etc/shadow":       file(0o640),
		"etc/ssh":          file(fs.ModeDir | 0o755),
		"etc/ssh/key":      file(0o600),
		"etc/ssh/config":   file(0o644),
		"etc/ssl":          file(fs.ModeDir | 0o755),
		"etc/ssl/certs":    file(fs.ModeDir | 0o755),
		"etc/ssl/certs/ca": file(0o644),
		"etc/ssl/private":  file(fs.ModeDir | 0o710),
		"etc/team":         file(fs.ModeDir | 0o755),
		"etc/team/token":   file(0o644),
		"venv":             file(fs.ModeDir | 0o755),
		"venv/lib":         file(fs.ModeDir | 0o755),
		"venv/state":       file(fs.ModeDir | 0o755),
		"work":             file(fs.ModeDir | 0o755),
	}

	for name, tc := range map[string]struct {
		reason string
		mounts []string
		more   []string
		never  []string
		whole  bool
		want   []string
	}{
		"Plain": {
			reason: "Files of /etc that every user may read are included. Links are left out.",
			want:   []string{"/etc/hosts", "/etc/ssh/config", "/etc/ssl/certs", "/etc/team"},
		},
		"Mounts": {
			reason: "Mounts are left out, except those for name resolution and authorities.",
			mounts: []string{"/", "/etc/hosts", "/etc/ssl/certs", "/etc/team", "/usr/lib", "/proc"},
			want:   []string{"/etc/hosts", "/etc/ssh/config", "/etc/ssl/certs", "/usr/bin"},
		},
		"Never": {
			reason: "Paths in never are left out.",
			more:   []string{"/venv"},
			never:  []string{"/venv/state", "/etc/team/token"},
			want:   []string{"/etc/hosts", "/etc/ssh/config", "/etc/ssl/certs", "/venv/lib"},
		},
		"Whole": {
			reason: "With Whole everything in the image is included, except mounts.",
			mounts: []string{"/", "/work"},
			whole:  true,
			want:   []string{"/etc/hosts", "/etc/ssh/config", "/etc/ssl/certs", "/etc/team", "/venv"},
		},
		"Within": {
			reason: "A path below one in never is left out.",
			more:   []string{"/venv/lib"},
			never:  []string{"/venv"},
			want:   []string{"/etc/hosts", "/etc/ssh/config", "/etc/ssl/certs", "/etc/team"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := Machine{Root: root, Mounts: tc.mounts, Whole: tc.whole}.Survey(tc.more, tc.never)
			got = slices.DeleteFunc(got, func(p string) bool {
				return slices.Contains(kernelPaths(), p) || slices.Contains([]string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/opt", "/usr"}, p)
			})
			slices.Sort(got)

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nSurvey(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestMountPoints(t *testing.T) {
	const text = `22 1 0:20 / /proc rw,nosuid - proc proc rw
23 1 8:1 / /a\040b\134c rw - ext4 /dev/sda1 rw
`

	want := []string{"/proc", `/a b\c`}
	if diff := cmp.Diff(want, mountPoints([]byte(text))); diff != "" {
		t.Errorf("mountPoints(...): -want, +got:\n%s", diff)
	}
}
