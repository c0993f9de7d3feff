package sandbox

import "slices"

// A Domain is what a process, and all that it starts, may do. What a domain does not have is
// not allowed.
type Domain struct {
	// Confined keeps the process to the paths, and away from processes outside of the domain,
	// as far as the kernel can. If it is false only the limits count.
	Confined bool `json:"confined,omitempty"`
	// Read are files and directories to read and to execute, with all that is
	// below them. Those that are not there are left out.
	Read []string `json:"read,omitempty"`
	// Write are files and directories to do anything in. A directory that is not
	// there is made.
	Write []string `json:"write,omitempty"`
	// Limits of the processes.
	Limits Limits `json:"limits"`
}

// Limits of the processes in a domain; 0 means none.
type Limits struct {
	// Memory that a process may have for itself, in bytes: its data, without memory that it
	// only reserves.
	Memory int64 `json:"memory,omitempty"`
	// Together is the memory that all processes of a command may take, in bytes. Package
	// supervisor enforces it, since the kernel does not.
	Together int64 `json:"together,omitempty"`
	// Share says what Together is, so that users know what to raise; empty for no explanation.
	Share string `json:"-"`
	// Processes is how many processes and threads the user may have when another one starts.
	// The kernel counts those of the provider and of all runs, but none of root.
	Processes int64 `json:"processes,omitempty"`
	// FileSize is the length of the longest file that a process may write, in bytes.
	FileSize int64 `json:"fileSize,omitempty"`
}

// Writes is true for a path that processes may write.
func (d Domain) Writes(path string) bool {
	return !d.Confined || slices.ContainsFunc(d.Write, func(dir string) bool { return Within(path, dir) })
}
