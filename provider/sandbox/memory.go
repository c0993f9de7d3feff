package sandbox

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Memory of a container, in bytes.
const (
	mebi = 1 << 20
	// ownMemory is left to the provider at least.
	ownMemory = 256 * mebi
	// ownShare is the fraction, as a divisor, that is left to the provider if it is more than ownMemory.
	ownShare = 8
	// leastMemory is the least memory of a run.
	leastMemory = 256 * mebi
)

// ContainerMemory returns the lowest memory limit of this process's cgroup and the cgroups above it, in bytes; 0 for no
// limit. Root is the root directory.
func ContainerMemory(root fs.FS) int64 {
	text, _ := fs.ReadFile(root, "proc/self/cgroup")
	least := int64(0)

	// Source: cgroups(7), /proc/pid/cgroup. Without a line of cgroup v2, the directory has no limit either.
	_, cgroup, _ := strings.Cut("\n"+string(text), "\n0::")
	cgroup, _, _ = strings.Cut(cgroup, "\n")

	// The path may be missing: a container may see its cgroup as the root.
	for p := path.Clean("/" + cgroup); ; p = path.Dir(p) {
		raw, _ := fs.ReadFile(root, path.Join("sys/fs/cgroup", p, "memory.max"))

		// The text max means no limit.
		n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
		if err == nil && n > 0 && (least == 0 || n < least) {
			least = n
		}

		if p == "/" {
			return least
		}
	}
}

// MemoryShare returns the memory of each of a number of runs in a container, in bytes, beside the provider; 0 if the
// container has no limit. It is at least leastMemory: enough is false if the container has less.
func MemoryShare(container int64, runs int) (share int64, enough bool) {
	if container <= 0 {
		return 0, true
	}

	share = (container - max(ownMemory, container/ownShare)) / int64(max(runs, 1))

	return max(share, leastMemory), share >= leastMemory
}
