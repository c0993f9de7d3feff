package sandbox

import "slices"

// A Domain says what a process and its descendants may do. Everything else is denied.
type Domain struct {
	// Confined restricts the process to the paths, and keeps it from processes outside of the domain, as far as the kernel
	// can. If it is false, only the limits apply.
	Confined bool `json:"confined,omitempty"`
	// Read has files and directories that may be read and executed, with everything below them. Missing paths are ignored.
	Read []string `json:"read,omitempty"`
	// Write has files and directories with full access. A missing directory is created.
	Write []string `json:"write,omitempty"`
	// Limits of the processes.
	Limits Limits `json:"limits"`
}

// Limits of the processes in a domain; 0 means no limit.
type Limits struct {
	// Memory is the limit of a process's data (RLIMIT_DATA), in bytes.
	Memory int64 `json:"memory,omitempty"`
	// Together is the limit of the memory of all processes of a command, in bytes. The kernel cannot enforce it; package
	// supervisor does.
	Together int64 `json:"together,omitempty"`
	// Share explains Together to users: which setting to raise; empty for no explanation.
	Share string `json:"-"`
	// Processes is how many processes and threads the user may have when another one starts. The kernel counts those of
	// the provider and of all runs, but does not limit root.
	Processes int64 `json:"processes,omitempty"`
	// FileSize is the length of the longest file that a process may write, in bytes.
	FileSize int64 `json:"fileSize,omitempty"`
}

// Writes is true for a path that processes may write.
func (d Domain) Writes(path string) bool {
	return !d.Confined || slices.ContainsFunc(d.Write, func(dir string) bool { return Within(path, dir) })
}
