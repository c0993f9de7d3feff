package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"strconv"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Umask of the provider and of all that it starts: files are their owner's from
// the moment they exist.
const Umask = 0o077

// killMeFirst makes the kernel end a process of a run rather than the provider when memory runs
// out. The most is 1000.
// https://man7.org/linux/man-pages/man5/proc_pid_oom_score_adj.5.html
const killMeFirst = 500

// Rights of the directory for shared memory, which all runs have in common: a run may use files
// whose names it knows, and cannot list names. Semaphores of Python's multiprocessing have names
// that cannot be guessed.
const sharedMemory landlock.AccessFSSet = ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate |
	ll.AccessFSMakeReg | ll.AccessFSRemoveFile

// Rights of a directory that may be written to. Nobody makes devices.
const write landlock.AccessFSSet = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir | ll.AccessFSWriteFile | ll.AccessFSTruncate |
	ll.AccessFSRemoveFile | ll.AccessFSRemoveDir | ll.AccessFSMakeReg | ll.AccessFSMakeDir | ll.AccessFSMakeSym | ll.AccessFSMakeFifo |
	ll.AccessFSMakeSock

// Kernel returns the version of Landlock that the kernel has and lets this
// process use; 0 for none.
func Kernel() int {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}

	return abi
}

// Self keeps the memory and the environment of this process from other processes of the same
// user, and the files that it makes from other users.
func Self() error {
	unix.Umask(Umask)

	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("cannot turn core dumps off: %w", err)
	}

	// PR_SET_DUMPABLE(2const): /proc/self belongs to root then, and no process can trace this
	// one. The setting ends when the process becomes another program.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot keep this process to itself: %w", err)
	}

	return nil
}

// Enter the domain with this process, for good. The process must then become another program
// from the same goroutine, which stays on its thread.
func (d Domain) Enter() error {
	runtime.LockOSThread()

	// Not every container has the file, and no promise depends on it.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(strconv.Itoa(killMeFirst)), 0)

	for _, p := range d.Write {
		if _, err := os.Stat(p); err == nil {
			continue
		}

		if err := os.MkdirAll(p, 0o700); err != nil {
			return fmt.Errorf("cannot make a directory that may be written to: %w", err)
		}
	}

	if err := d.Limits.set(); err != nil || !d.Confined {
		return err
	}

	if err := d.restrict(); err != nil {
		return err
	}

	if err := dropCapabilities(); err != nil || !Filters() {
		return err
	}

	return filterCalls()
}

// restrict this process to the domain's paths.
func (d Domain) restrict() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot give up new privileges: %w", err)
	}

	// A newer kernel confines more. The network stays open: reaching hosts is what content is
	// for.
	c := landlock.V11.BestEffort()
	c.HandledAccessNet = 0

	if err := c.Restrict(d.rules(Kernel())...); err != nil {
		return fmt.Errorf("cannot confine this process: %w", err)
	}

	return nil
}

// rules of the domain for a version of Landlock. The first version cannot allow moving files from
// one directory to another, and confines nothing at all if it is asked to.
func (d Domain) rules(abi int) []landlock.Rule {
	own := landlock.PathAccess(write, dirs(d.Write)...)
	if abi > 1 {
		own = own.WithRefer()
	}

	return []landlock.Rule{
		landlock.RODirs(dirs(d.Read)...).IgnoreIfMissing(),
		landlock.ROFiles(files(d.Read)...).IgnoreIfMissing(),
		own.WithIoctlDev().WithResolveUnix(),
		landlock.RWFiles(files(d.Write)...).WithIoctlDev().WithResolveUnix(),
		landlock.RWFiles("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom").WithIoctlDev().IgnoreIfMissing(),
		landlock.PathAccess(sharedMemory, "/dev/shm").IgnoreIfMissing(),
	}
}

// set the limits of this process, below those that it has.
func (l Limits) set() error {
	for _, r := range []struct {
		what     string
		resource int
		most     int64
	}{
		{what: "memory", resource: unix.RLIMIT_DATA, most: l.Memory},
		{what: "processes", resource: unix.RLIMIT_NPROC, most: l.Processes},
		{what: "the size of files", resource: unix.RLIMIT_FSIZE, most: l.FileSize},
	} {
		if r.most <= 0 {
			continue
		}

		var now unix.Rlimit
		if err := unix.Getrlimit(r.resource, &now); err != nil {
			return fmt.Errorf("cannot tell the limit of %s: %w", r.what, err)
		}

		most := min(uint64(r.most), now.Max)
		if err := unix.Setrlimit(r.resource, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("cannot limit %s: %w", r.what, err)
		}
	}

	return nil
}

// dirs returns the directories among paths.
func dirs(paths []string) []string { return filter(paths, true) }

// files returns the paths that are not directories. Paths that do not exist are left out.
func files(paths []string) []string { return filter(paths, false) }

func filter(paths []string, dir bool) []string {
	var out []string

	for _, p := range paths {
		info, err := os.Stat(p)
		if err == nil && info.IsDir() == dir {
			out = append(out, p)
		}
	}

	return out
}
