package sandbox

import (
	"testing"
	"testing/fstest"
)

func TestContainerMemory(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

	for name, tc := range map[string]struct {
		reason string
		root   fstest.MapFS
		want   int64
	}{
		"None": {reason: "A machine without cgroups has no limit.", root: fstest.MapFS{}},
		"Max": {
			reason: "The text max is no limit.",
			root:   fstest.MapFS{"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/memory.max": file("max\n")},
		},
		"Pod": {
			reason: "A container that sees its cgroup as the root has the limit there.",
			root:   fstest.MapFS{"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/memory.max": file("1073741824\n")},
			want:   1 << 30,
		},
		"Above": {
			reason: "The lowest limit of the cgroup and those above it counts.",
			root: fstest.MapFS{
				"proc/self/cgroup":               file("0::/a/b\n"),
				"sys/fs/cgroup/a/b/memory.max":   file("2147483648\n"),
				"sys/fs/cgroup/a/memory.max":     file("1073741824\n"),
				"sys/fs/cgroup/other/memory.max": file("1\n"),
			},
			want: 1 << 30,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ContainerMemory(tc.root); got != tc.want {
				t.Errorf("%s\nContainerMemory(...): want %d, got %d", tc.reason, tc.want, got)
			}
		})
	}
}
