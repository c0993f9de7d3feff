package sandbox

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// A Mode says how runs on the provider's machine are confined.
type Mode string

const (
	// Required confines runs, and refuses runs of namespaced AnsibleRuns if the kernel cannot confine them.
	Required Mode = "Required"
	// BestEffort confines runs as far as the kernel can, and refuses none.
	BestEffort Mode = "BestEffort"
	// Off does not confine runs. Limits still apply.
	Off Mode = "Off"
)

// A Grant is the access that a configuration allows in addition to that of every run.
type Grant struct {
	// Read and Write are additional paths.
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`
	// ServiceAccount is true to allow reading the token of the provider's ServiceAccount.
	ServiceAccount bool `json:"serviceAccount,omitempty"`
}

// A Policy says what the provider allows to the processes that it starts.
type Policy struct {
	Mode Mode
	// Kernel of the machine, as tested by Try.
	Kernel Kernel
	// System has the paths that every run may read, see Survey.
	System []string
	// Read and Write have the paths of the provider's flags.
	Read, Write []string
	// State is the provider's state directory. Neither a flag nor a configuration can allow access to it.
	State string
	// ServiceAccount has the directories of the ServiceAccount of the provider, or of the Pod of a run.
	ServiceAccount []string
	// Limits of the processes.
	Limits Limits
	// RunSize is the largest size on disk of the directory of a run, or of an installation, in bytes; 0 means no limit.
	// The kernel cannot enforce it; package workdir does.
	RunSize int64
}

// Domain returns the domain of a process with paths to read and to write. The error is about the grant of the
// configuration.
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

// Validate returns an error unless a path is absolute, and neither in the state directory nor above it.
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
