package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// A Kernel says how the kernel confines runs, found by a test.
type Kernel struct {
	// Landlock is the version of the ABI that confines runs; 0 for none.
	Landlock int
	// Seccomp is true if the container's runtime has the kernel filter system calls.
	Seccomp bool
	// Unconfined says why runs can access all files; empty if they are confined.
	Unconfined string
}

// Try tests how the kernel confines runs with the policy.
func (p Policy) Try() Kernel {
	// PR_GET_SECCOMP(2const): 0 without a filter, and an error in a kernel without seccomp.
	filtered, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	k := Kernel{Seccomp: err == nil && filtered != 0}

	if p.Mode == Off {
		k.Unconfined = "--confinement=Off"
		return k
	}

	if k.Landlock = Landlock(); k.Landlock == 0 {
		k.Unconfined = "the kernel has no Landlock, or does not let the provider use it"
		return k
	}

	d, err := p.Domain(nil, nil, Grant{})
	if err == nil {
		err = d.onThread(k.Landlock, p.checkSecrets)
	}

	if err != nil {
		k.Landlock, k.Unconfined = 0, "the kernel's Landlock does not work: "+err.Error()
	}

	return k
}

// secrets has the paths that a run without a grant cannot read: the state directory, and the ServiceAccount unless a
// flag allows it.
func (p Policy) secrets() []string {
	all := slices.Concat(p.Read, p.Write)

	return append(slices.DeleteFunc(slices.Clone(p.ServiceAccount), func(path string) bool {
		return slices.ContainsFunc(all, func(dir string) bool { return Within(path, dir) })
	}), p.State)
}

// checkSecrets returns an error if this thread can read a path of secrets, or if that cannot be determined.
func (p Policy) checkSecrets() error {
	for _, path := range p.secrets() {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)

		switch {
		case err == nil:
			_ = unix.Close(fd)

			return fmt.Errorf("it lets a thread read %q", path)
		case !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("cannot determine whether a thread can read %q: %w", path, err)
		}
	}

	return nil
}

// onThread calls a function on a thread that enters the domain and ends with the function. The domain is without
// scopes, which concern other threads, too: see the errata in newRuleset.
func (d Domain) onThread(version int, fn func() error) error {
	attr := ll.RulesetAttr{HandledAccessFS: handled(version).HandledAccessFS}

	fd, err := create(attr)
	if err != nil {
		return err
	}

	ruleset, err := d.allow(fd, attr)
	if err != nil {
		return err
	}
	defer ruleset.Close() //nolint:errcheck // Nothing was written to it.

	done := make(chan error)

	go func() {
		// For good, as the domain is.
		runtime.LockOSThread()

		err := restrict(ruleset)
		if err == nil {
			err = fn()
		}

		done <- err
	}()

	return <-done
}
