package sandbox

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Shares of the memory of a container, in bytes.
const (
	mebi = 1 << 20
	// ownMemory is the memory that is left to the provider, at least.
	ownMemory = 256 * mebi
	// ownShare is the divisor for the provider's part of the memory, if that is more.
	ownShare = 8
	// leastMemory is what a run needs at least.
	leastMemory = 256 * mebi
)

// ContainerMemory is the limit of the memory of this process's cgroup, or of one above it, in bytes; 0 if there is
// none. Root is the root directory.
func ContainerMemory(root fs.FS) int64 {
	text, _ := fs.ReadFile(root, "proc/self/cgroup")
	least := int64(0)

	// Source: cgroups(7), /proc/pid/cgroup. Without a line of version 2 there is no limit in the directory either.
	_, cgroup, _ := strings.Cut("\n"+string(text), "\n0::")
	cgroup, _, _ = strings.Cut(cgroup, "\n")

	// The path need not be there: a container may see its cgroup as the root.
	for p := path.Clean("/" + cgroup); ; p = path.Dir(p) {
		raw, _ := fs.ReadFile(root, path.Join("sys/fs/cgroup", p, "memory.max"))

		// Text such as max means no limit.
		n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
		if err == nil && n > 0 && (least == 0 || n < least) {
			least = n
		}

		if p == "/" {
			return least
		}
	}
}

// MemoryShare is the memory that each of a number of runs may have in a container, in bytes,
// beside the provider; 0 if the container has no limit. It is never less than a run needs: enough
// is false if the container has less.
func MemoryShare(container int64, runs int) (share int64, enough bool) {
	if container <= 0 {
		return 0, true
	}

	share = (container - max(ownMemory, container/ownShare)) / int64(max(runs, 1))

	return max(share, leastMemory), share >= leastMemory
}
