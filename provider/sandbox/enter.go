package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// umask of the provider and of all processes that it starts: only the owner can access new files.
const umask = 0o077

// killMeFirst is the oom_score_adj of processes of a run, so that the kernel ends them rather than the provider when
// memory runs out. The maximum is 1000.
// https://man7.org/linux/man-pages/man5/proc_pid_oom_score_adj.5.html
const killMeFirst = 500

// Rights of Landlock.
const (
	// ofFiles are the rights that apply to files.
	ofFiles = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev |
		ll.AccessFSResolveUnix
	read = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir
	// write is everything except making devices.
	write = ^uint64(ll.AccessFSMakeChar | ll.AccessFSMakeBlock)
	// sharedMemory has the rights in /dev/shm, which all runs share: a run may use files with names that it knows, and
	// cannot list names. Semaphores of Python's multiprocessing have names that cannot be guessed.
	sharedMemory = ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSMakeReg |
		ll.AccessFSRemoveFile
)

// Self protects the memory and the environment of this process from other processes of the same user, and the files
// that it makes from other users.
func Self() error {
	unix.Umask(umask)

	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("cannot turn core dumps off: %w", err)
	}

	// PR_SET_DUMPABLE(2const): /proc/self then belongs to root, and no process can trace this one. An execve ends the
	// setting.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot protect this process from being traced: %w", err)
	}

	return nil
}

// An Entry describes, in plain values, how a process enters a domain, so that programs in other languages can do it.
// With a ruleset the process calls landlock_restrict_self(2).
type Entry struct {
	// Confined is as in the Domain.
	Confined bool `json:"confined"`
	// Limits are pairs of a resource of setrlimit(2) and its maximum.
	Limits [][2]uint64 `json:"limits"`
	// OOMScoreAdj is the value for the file oom_score_adj in /proc.
	OOMScoreAdj int `json:"oomScoreAdj"`
}

// Entry returns the entry of the domain, and its Landlock ruleset as a file; nil if there is none. It creates missing
// writable directories.
func (d Domain) Entry() (Entry, *os.File, error) {
	e := Entry{Confined: d.Confined, OOMScoreAdj: killMeFirst, Limits: d.Limits.resources()}

	for _, p := range d.Write {
		if _, err := os.Stat(p); err == nil {
			continue
		}

		if err := os.MkdirAll(p, 0o700); err != nil {
			return e, nil, fmt.Errorf("cannot create a writable directory: %w", err)
		}
	}

	if !d.Confined {
		return e, nil, nil
	}

	ruleset, err := d.ruleset()

	return e, ruleset, err
}

// Enter puts this process into the domain for good. The caller must then exec another program from the same goroutine,
// which is locked to its thread.
func (d Domain) Enter() error {
	runtime.LockOSThread()

	e, ruleset, err := d.Entry()
	if err != nil {
		return err
	}

	// Some containers lack the file. It is a mere optimization.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(strconv.Itoa(e.OOMScoreAdj)), 0)

	if err := e.limit(); err != nil || !e.Confined {
		return err
	}

	if err := restrict(ruleset); err != nil {
		return err
	}

	return dropCapabilities()
}

// restrict this thread to a ruleset, if there is one.
func restrict(ruleset *os.File) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot set no_new_privs: %w", err)
	}

	if ruleset == nil {
		return nil
	}

	if err := ll.LandlockRestrictSelf(int(ruleset.Fd()), 0); err != nil {
		return fmt.Errorf("cannot confine this process: %w", err)
	}

	return nil
}

// handled returns the rights that a version of Landlock knows, except those of the network: content has to reach hosts.
func handled(abi int) ll.RulesetAttr {
	versions := []landlock.Config{
		landlock.V1, landlock.V2, landlock.V3, landlock.V4, landlock.V5, landlock.V6,
		landlock.V7, landlock.V8, landlock.V9, landlock.V10, landlock.V11,
	}
	v := versions[min(abi, len(versions))-1]

	return ll.RulesetAttr{HandledAccessFS: uint64(v.HandledAccessFS), Scoped: uint64(v.Scoped)}
}

// newRuleset creates an empty ruleset that handles as many rights as the kernel accepts. A vendor's kernel may report a
// version, but refuse a part of it: that of RHEL 9 reports version 6, and has no scope for signals. The version is 0,
// without a ruleset, if the kernel has no Landlock or the container's runtime refuses it.
//
// Known errata of scopes concern processes with threads in several domains. No such process exists here.
func newRuleset() (fd int, attr ll.RulesetAttr, version int, err error) {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		return -1, attr, 0, nil //nolint:nilerr // There is no Landlock.
	}

	for ; abi > 0; abi-- {
		attr = handled(abi)
		for _, attr.Scoped = range slices.Compact([]uint64{attr.Scoped, attr.Scoped &^ ll.ScopeSignal, 0}) {
			if fd, err = create(attr); !errors.Is(err, unix.EINVAL) {
				return fd, attr, abi, err
			}
		}
	}

	return -1, attr, 0, nil
}

// create a ruleset. Older kernels do not know scopes: without scopes, the attributes have the length that these kernels
// accept.
func create(attr ll.RulesetAttr) (int, error) {
	size := unsafe.Offsetof(attr.QuietAccessFS)
	if attr.Scoped == 0 {
		size = unsafe.Offsetof(attr.Scoped)
	}

	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0) //nolint:gosec // go-landlock passes the full size only.
	if errno != 0 {
		return -1, fmt.Errorf("cannot make a ruleset of Landlock: %w", errno)
	}

	return int(fd), nil
}

// Landlock returns the version of the ABI that this process can use; 0 for none.
func Landlock() int {
	fd, _, version, err := newRuleset()
	if err != nil || version == 0 {
		return 0
	}

	_ = unix.Close(fd)

	return version
}

// ruleset returns the ruleset of the domain; nil if the kernel has no Landlock.
func (d Domain) ruleset() (*os.File, error) {
	fd, attr, version, err := newRuleset()
	if err != nil || version == 0 {
		return nil, err
	}

	return d.allow(fd, attr)
}

// allow adds the rules of the domain to a ruleset.
func (d Domain) allow(fd int, attr ll.RulesetAttr) (*os.File, error) {
	f := os.NewFile(uintptr(fd), "ruleset")

	for _, r := range d.rules() {
		if err := r.add(fd, attr); err != nil {
			_ = f.Close()
			return nil, err
		}
	}

	return f, nil
}

// A rule grants access to a file, or to everything below a directory.
type rule struct {
	path   string
	access uint64
}

// rules returns the rules of the domain. Rules for missing paths have no effect, see add.
func (d Domain) rules() []rule {
	var rules []rule

	for _, p := range d.Read {
		rules = append(rules, rule{p, read})
	}

	for _, p := range d.Write {
		rules = append(rules, rule{p, write})
	}

	for _, p := range []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"} {
		rules = append(rules, rule{p, write})
	}

	return append(rules, rule{"/dev/shm", sharedMemory})
}

// add adds the rule to a ruleset, with the rights that the ruleset handles.
func (r rule) add(ruleset int, attr ll.RulesetAttr) error {
	fd, err := unix.Open(r.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES) {
		return nil
	}

	if err != nil {
		return fmt.Errorf("cannot open %q to confine a process to it: %w", r.path, err)
	}

	defer unix.Close(fd) //nolint:errcheck // Nothing was written to it.

	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("cannot stat %q: %w", r.path, err)
	}

	access := r.access & attr.HandledAccessFS
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= ofFiles
	}

	if err := ll.LandlockAddPathBeneathRule(ruleset, &ll.PathBeneathAttr{ParentFd: fd, AllowedAccess: access},
		0); err != nil {
		return fmt.Errorf("cannot confine a process to %q: %w", r.path, err)
	}

	return nil
}

// resources returns the limits as pairs of a resource and its maximum.
func (l Limits) resources() [][2]uint64 {
	var out [][2]uint64

	for resource, most := range map[uint64]int64{
		unix.RLIMIT_DATA: l.Memory, unix.RLIMIT_NPROC: l.Processes,
		unix.RLIMIT_FSIZE: l.FileSize,
	} {
		if most > 0 {
			out = append(out, [2]uint64{resource, uint64(most)})
		}
	}

	return out
}

// limit lowers the limits of this process.
func (e Entry) limit() error {
	for _, l := range e.Limits {
		var now unix.Rlimit
		if err := unix.Getrlimit(int(l[0]), &now); err != nil { //nolint:gosec // A small number.
			return fmt.Errorf("cannot get a limit of this process: %w", err)
		}

		most := min(l[1], now.Max)
		if err := unix.Setrlimit(int(l[0]), &unix.Rlimit{Cur: most, Max: most}); err != nil { //nolint:gosec // A small number.
			return fmt.Errorf("cannot limit this process: %w", err)
		}
	}

	return nil
}
