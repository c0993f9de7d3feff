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

// A Kernel is what the kernel does to runs, as was found out by trying.
type Kernel struct {
	// Landlock is the version of its ABI that keeps runs from files; 0 for none.
	Landlock int
	// Seccomp is true where the container's runtime has the kernel filter system calls.
	Seccomp bool
	// Unconfined says why runs are not kept from files; empty where they are.
	Unconfined string
}

// Try what the kernel does to runs with the policy.
func (p Policy) Try() Kernel {
	// PR_GET_SECCOMP(2const): 0 without a filter, and an error in a kernel that has none.
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
		err = d.onThread(k.Landlock, p.readsNoSecret)
	}

	if err != nil {
		k.Landlock, k.Unconfined = 0, "the kernel's Landlock does not work: "+err.Error()
	}

	return k
}

// secrets are the paths that no run may read to which nothing is granted: the state directory, and the service account
// unless a flag gives it to all.
func (p Policy) secrets() []string {
	all := slices.Concat(p.Read, p.Write)

	return append(slices.DeleteFunc(slices.Clone(p.ServiceAccount), func(path string) bool {
		return slices.ContainsFunc(all, func(dir string) bool { return Within(path, dir) })
	}), p.State)
}

// readsNoSecret returns an error about a path that no run may read, and that this thread can, or of which that is not
// known.
func (p Policy) readsNoSecret() error {
	for _, path := range p.secrets() {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)

		switch {
		case err == nil:
			_ = unix.Close(fd)

			return fmt.Errorf("it does not keep a thread from %q", path)
		case !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("cannot tell whether it keeps a thread from %q: %w", path, err)
		}
	}

	return nil
}

// onThread calls a function on a thread that enters the domain, as far as a version of Landlock is about files, and
// ends with the function. With a scope, other threads would be concerned, too: see newRuleset about errata.
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
