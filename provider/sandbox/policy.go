package sandbox

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// A Mode says what the provider does about runs on its machine.
type Mode string

const (
	// Required confines runs, and refuses those of namespaces where the kernel cannot.
	Required Mode = "Required"
	// BestEffort confines as far as the machine can, and refuses none.
	BestEffort Mode = "BestEffort"
	// Off confines nothing. Limits still count.
	Off Mode = "Off"
)

// A Grant is what a configuration allows beyond what every run may do.
type Grant struct {
	// Read and Write are more paths.
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`
	// ServiceAccount allows to read the token of the provider's service account.
	ServiceAccount bool `json:"serviceAccount,omitempty"`
}

// A Policy is what the provider allows to all that it starts.
type Policy struct {
	Mode Mode
	// Kernel of the machine.
	Kernel Kernel
	// System are paths that every run may read, see Survey.
	System []string
	// Read and Write are paths that the provider's flags add.
	Read, Write []string
	// State is the provider's state directory. No path of a flag or a configuration may lead to
	// it.
	State string
	// ServiceAccount are the directories with the service account of the provider, or of the Pod
	// of a run.
	ServiceAccount []string
	// Limits of the processes.
	Limits Limits
	// RunSize is what a run, or an installation, may have on disk below its own directory,
	// in bytes; 0 means no limit. Package workdir enforces it, since the kernel does not.
	RunSize int64
}

// Domain of a process that needs some paths to read and others to write. The
// error is about what the configuration grants.
func (p Policy) Domain(read, write []string, g Grant) (Domain, error) {
	for _, path := range slices.Concat(g.Read, g.Write) {
		if err := p.Validate(path); err != nil {
			return Domain{}, err
		}
	}

	d := Domain{Confined: p.Mode == Required || p.Mode == BestEffort, Limits: p.Limits}
	if !d.Confined {
		return d, nil
	}

	d.Read = slices.Concat(p.System, p.Read, g.Read, read)
	d.Write = slices.Concat(p.Write, g.Write, write)

	if g.ServiceAccount {
		d.Read = append(d.Read, p.ServiceAccount...)
	}

	return d, nil
}

// Validate a path that is to be allowed: it is absolute, and neither above the
// state directory nor in it, where other runs are.
func (p Policy) Validate(path string) error {
	switch {
	case !filepath.IsAbs(path) || filepath.Clean(path) != path:
		return fmt.Errorf("%q must be an absolute path without dots", path)
	case Within(p.State, path), Within(path, p.State):
		return fmt.Errorf("%q would let a run into the provider's state directory", path)
	}

	return nil
}

// Within is true for a path that is a directory, or below it.
func Within(path, dir string) bool {
	return path != "" && (path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/"))
}
