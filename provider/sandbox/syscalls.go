package sandbox

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"unsafe"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Answers to a refused system call: that the kernel does not have the call, so that programs do
// without it, or that the process may not make it.
const (
	absent = seccomp.ActionErrno | seccomp.Action(unix.ENOSYS)
	denied = seccomp.ActionErrno | seccomp.Action(unix.EPERM)
)

// namespaces are the flags of clone(2) with which the child is in a new one.
const namespaces = unix.CLONE_NEWCGROUP | unix.CLONE_NEWIPC | unix.CLONE_NEWNET | unix.CLONE_NEWNS |
	unix.CLONE_NEWPID | unix.CLONE_NEWUSER | unix.CLONE_NEWUTS

// refused returns the system calls that a run may not make, by what they return. With them a
// run would reach other processes of its user, which Landlock does not prevent, or parts of the
// kernel that it does not need.
func refused() []seccomp.SyscallGroup {
	return []seccomp.SyscallGroup{
		{Action: absent, Names: []string{
			// The flags of clone3(2) are in memory, which filters cannot read. C libraries
			// use clone(2) instead.
			"clone3",
			// Objects of the user, which all runs would share.
			"add_key", "keyctl", "request_key",
			"msgctl", "msgget", "msgrcv", "msgsnd", "semctl", "semget", "semop", "semtimedop", "shmat", "shmctl",
			"shmdt", "shmget",
			"mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive", "mq_timedsend", "mq_unlink",
			// Watching would tell what happens to files that a run cannot open.
			"fanotify_init", "fanotify_mark", "inotify_add_watch", "inotify_init", "inotify_init1", "inotify_rm_watch",
			// io_uring makes system calls that no filter sees.
			"bpf", "io_uring_enter", "io_uring_register", "io_uring_setup", "perf_event_open", "userfaultfd",
			// Files in memory, which no limit counts, since it is no process's.
			"memfd_create", "memfd_secret",
		}},
		{Action: denied, Names: []string{
			"get_robust_list", "kcmp", "migrate_pages", "move_pages", "pidfd_getfd", "process_madvise", "process_mrelease",
			"process_vm_readv", "process_vm_writev", "ptrace",
			"chroot", "fsconfig", "fsmount", "fsopen", "fspick", "mount", "mount_setattr", "move_mount", "open_by_handle_at",
			"open_tree",
			"open_tree_attr", "pivot_root", "setns", "umount2", "unshare",
			"syslog",
		}},
		// A process may do this to itself, which is process 0 in these calls.
		{Action: denied, NamesWithCondtions: []seccomp.NameWithConditions{
			when("prlimit64", 0, seccomp.NotEqual, 0),
			when("sched_setaffinity", 0, seccomp.NotEqual, 0),
			when("sched_setattr", 0, seccomp.NotEqual, 0),
			when("sched_setparam", 0, seccomp.NotEqual, 0),
			when("sched_setscheduler", 0, seccomp.NotEqual, 0),
			when("setpriority", 0, seccomp.NotEqual, unix.PRIO_PROCESS),
			when("setpriority", 1, seccomp.NotEqual, 0),
			when("ioprio_set", 0, seccomp.NotEqual, ioprioProcess),
			when("ioprio_set", 1, seccomp.NotEqual, 0),
			when("clone", 0, seccomp.BitsSet, namespaces),
			// Among the types that can be made only those of devices have this bit.
			when("mknod", 1, seccomp.BitsSet, unix.S_IFCHR),
			when("mknodat", 2, seccomp.BitsSet, unix.S_IFCHR),
			// It tells the names of sockets, to which whoever knows them can connect.
			{Name: "socket", Conditions: seccomp.ArgumentConditions{
				{Argument: 0, Operation: seccomp.Equal, Value: unix.AF_NETLINK}, {
					Argument: 2, Operation: seccomp.Equal,
					Value: unix.NETLINK_SOCK_DIAG,
				},
			}},
		}},
	}
}

// ioprioProcess is IOPRIO_WHO_PROCESS of ioprio_set(2).
const ioprioProcess = 1

// when returns a condition on an argument of a system call, counted from 0. The kernel may look
// at the lower half of an argument only, so the conditions compare with the allowed value.
func when(name string, argument uint32, is seccomp.Operation, value uint64) seccomp.NameWithConditions {
	return seccomp.NameWithConditions{
		Name:       name,
		Conditions: seccomp.ArgumentConditions{{Argument: argument, Operation: is, Value: value}},
	}
}

// filterProgram returns the program that decides about each system call, for the architecture of
// this binary.
func filterProgram() ([]bpf.Instruction, error) {
	// seccomp_data in linux/seccomp.h.
	const offNumber, offArch, word = 0, 4, 4

	machine, err := arch.GetInfo("")
	if err != nil {
		return nil, fmt.Errorf("cannot tell the system calls of this machine: %w", err)
	}

	last := slices.Max(slices.Collect(maps.Keys(machine.SyscallNumbers)))
	p := seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: refused()}

	// Not every machine has the older ones.
	for i := range p.Syscalls {
		g := &p.Syscalls[i]
		g.Names = slices.DeleteFunc(g.Names, func(name string) bool { return !has(machine, name) })
		g.NamesWithCondtions = slices.DeleteFunc(g.NamesWithCondtions,
			func(c seccomp.NameWithConditions) bool { return !has(machine, c.Name) })
	}

	program, err := p.Assemble()
	if err != nil {
		return nil, fmt.Errorf("cannot make the filter of system calls: %w", err)
	}

	// The library lets the tables of other architectures pass that the machine can
	// run, such as i386, and system calls that it does not know.
	return append([]bpf.Instruction{
		bpf.LoadAbsolute{Off: offArch, Size: word},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(machine.ID), SkipTrue: 2},
		bpf.LoadAbsolute{Off: offNumber, Size: word},
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: uint32(last), SkipTrue: 1}, //nolint:gosec // It is a number of the table.
		bpf.RetConstant{Val: uint32(absent)},
	}, program...), nil
}

func has(machine *arch.Info, name string) bool {
	_, ok := machine.SyscallNames[name]

	return ok
}

// Filters is true when system calls can be filtered on this machine.
func Filters() bool {
	if _, err := arch.GetInfo(""); err != nil {
		return false
	}

	// A kernel with filters refuses the missing argument with EFAULT: PR_SET_SECCOMP(2const).
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, 0, 0, 0) == unix.EFAULT
}

// sizeofInstruction is the size of struct sock_filter of linux/filter.h, in bytes.
const sizeofInstruction = 8

// filter of system calls, as the instructions that the kernel takes.
func filter() ([]byte, error) {
	program, err := filterProgram()
	if err != nil {
		return nil, err
	}

	raw, err := bpf.Assemble(program)
	if err != nil {
		return nil, fmt.Errorf("cannot assemble the filter of system calls: %w", err)
	}

	var code []byte

	// struct sock_filter of linux/filter.h, in the order of this machine's bytes.
	for _, i := range raw {
		code = binary.NativeEndian.AppendUint16(code, i.Op)
		code = append(code, i.Jt, i.Jf)
		code = binary.NativeEndian.AppendUint32(code, i.K)
	}

	return code, nil
}

// filterCalls filters the system calls of this thread, and of all that it starts. The thread must
// have given up new privileges.
func filterCalls(code []byte) error {
	p := unix.SockFprog{
		Len:    uint16(len(code) / sizeofInstruction),                      //nolint:gosec // The kernel takes no more than 4096.
		Filter: (*unix.SockFilter)(unsafe.Pointer(unsafe.SliceData(code))), //nolint:gosec // There is no other way to say it.
	}

	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&p))) //nolint:gosec // As above.
	if errno != 0 {
		return fmt.Errorf("cannot filter system calls: %w", errno)
	}

	return nil
}
