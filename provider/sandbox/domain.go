package sandbox

// A Domain is what a process, and all that it starts, is confined to. What is
// not in it is not allowed.
type Domain struct {
	// Confined keeps the process to the paths, and from the processes outside,
	// as far as the kernel can. Without it only the limits count.
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
	// Memory that a process may have for itself, in bytes: its data, not what
	// it merely reserves.
	Memory int64 `json:"memory,omitempty"`
	// Together is the memory that all processes of a command may take, in bytes. The
	// kernel does not look after it, see package supervisor.
	Together int64 `json:"together,omitempty"`
	// Processes and threads that the user may have in all when another is to
	// start. The kernel counts those of the provider, and of all runs, too; it
	// does not count those of root.
	Processes int64 `json:"processes,omitempty"`
	// FileSize that a file may have which a process writes, in bytes.
	FileSize int64 `json:"fileSize,omitempty"`
}
