package security

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// A call is an attack by a system call, on the process of a victim if it needs one.
type call struct {
	reason string
	// root is true for calls that the kernel permits only to root.
	root bool
	do   func(victim uintptr) error
}

// calls of other architectures are for the tests of the filter.
var calls = map[string]call{
	"limit": {reason: "A resource limit can end another process.", do: func(victim uintptr) error {
		return unix.Prlimit(int(victim), unix.RLIMIT_NOFILE, &unix.Rlimit{}, nil)
	}},
	"affinity": {reason: "An affinity can put all processes on one processor.", do: func(victim uintptr) error {
		var one unix.CPUSet
		one.Set(0)

		return unix.SchedSetaffinity(int(victim), &one)
	}},
	"priority": {reason: "A low priority can stop another process.", do: func(victim uintptr) error { return unix.Setpriority(unix.PRIO_PROCESS, int(victim), 19) }},
	"attributes": {reason: "A scheduling policy can stop another process.", do: func(victim uintptr) error {
		return unix.SchedSetAttr(int(victim), &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0)
	}},
	"idle": {reason: "Another call sets the scheduling policy, too.", do: func(victim uintptr) error {
		var none int32

		return made(unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, victim, unix.SCHED_IDLE, uintptr(unsafe.Pointer(&none))))
	}},
	// IOPRIO_WHO_PROCESS, and IOPRIO_CLASS_IDLE.
	"disk": {reason: "A low priority for disks can stop another process.", do: func(victim uintptr) error { return made(unix.RawSyscall(unix.SYS_IOPRIO_SET, 1, victim, 3<<13)) }},
	// KCMP_VM. https://man7.org/linux/man-pages/man2/kcmp.2.html
	"compare": {reason: "A comparison of processes shows what they share.", do: func(victim uintptr) error {
		return made(unix.RawSyscall6(unix.SYS_KCMP, uintptr(os.Getpid()), victim, 1, 0, 0, 0))
	}},
	"pages": {reason: "No run moves the memory of others.", do: func(victim uintptr) error { return made(unix.RawSyscall6(unix.SYS_MOVE_PAGES, victim, 0, 0, 0, 0, 0)) }},
	"descriptor": {reason: "A descriptor of another process gives access to its files.", do: func(victim uintptr) error {
		fd, err := unix.PidfdOpen(int(victim), 0)
		if err != nil {
			return err
		}

		_, err = unix.PidfdGetfd(fd, 0, 0)

		return err
	}},
	"robust": {reason: "Addresses in another process help to read its memory.", do: func(victim uintptr) error {
		var head, size uintptr

		return made(unix.RawSyscall(unix.SYS_GET_ROBUST_LIST, victim, uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&size))))
	}},
	"watch": {reason: "Events of files show the names of others' sockets.", do: func(uintptr) error {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
		if err != nil {
			return err
		}

		_, err = unix.InotifyAddWatch(fd, os.Getenv("OTHER"), unix.IN_ALL_EVENTS)

		return err
	}},
	"fanotify": {reason: "Another call watches files, too.", do: func(uintptr) error {
		_, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_REPORT_FID, unix.O_RDONLY)

		return err
	}},
	"keyring": {reason: "All runs share the keyrings of their user.", do: func(uintptr) error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true)

		return err
	}},
	"key": {reason: "The keyring of a process itself is refused, too.", do: func(uintptr) error {
		_, err := unix.AddKey("user", "attack", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)

		return err
	}},
	"segment": {reason: "All runs share the memory segments of their user.", do: func(uintptr) error {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
		if err == nil {
			_, err = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		}

		return err
	}},
	"semaphore": {reason: "All runs share the semaphores of their user.", do: func(uintptr) error {
		id, _, errno := unix.RawSyscall(unix.SYS_SEMGET, unix.IPC_PRIVATE, 1, unix.IPC_CREAT|0o600)
		if errno != 0 {
			return errno
		}

		return made(unix.RawSyscall(unix.SYS_SEMCTL, id, 0, unix.IPC_RMID))
	}},
	"queue": {reason: "All runs share the message queues of their user.", do: func(uintptr) error {
		id, _, errno := unix.RawSyscall(unix.SYS_MSGGET, unix.IPC_PRIVATE, unix.IPC_CREAT|0o600, 0)
		if errno != 0 {
			return errno
		}

		return made(unix.RawSyscall(unix.SYS_MSGCTL, id, unix.IPC_RMID, 0))
	}},
	"named": {reason: "All runs share the message queues with names, too.", do: func(uintptr) error {
		name, err := unix.BytePtrFromString("attack-" + strconv.Itoa(os.Getpid()))
		if err != nil {
			return err
		}

		if err := made(unix.RawSyscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(name)), unix.O_CREAT|unix.O_RDWR, 0o600, 0, 0, 0)); err != nil {
			return err
		}

		return made(unix.RawSyscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(name)), 0, 0))
	}},
	"memory": {reason: "Memory that counts for no process can use up that of all.", do: func(uintptr) error {
		fd, err := unix.MemfdCreate("attack", unix.MFD_CLOEXEC)
		if err != nil {
			return err
		}

		return unix.Close(fd)
	}},
	"ring": {reason: "Requests in a ring pass the filter of system calls.", do: func(uintptr) error {
		var params [120]byte

		return made(unix.RawSyscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0))
	}},
	"program": {reason: "Programs in the kernel see all processes.", root: true, do: func(uintptr) error {
		// BPF_MAP_CREATE of an array with one value.
		attr := [16]uint32{unix.BPF_MAP_TYPE_ARRAY, 4, 4, 1}

		return made(unix.RawSyscall(unix.SYS_BPF, unix.BPF_MAP_CREATE, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr)))
	}},
	// UFFD_USER_MODE_ONLY.
	"faults": {reason: "Handling page faults helps to win races in the kernel.", do: func(uintptr) error { return made(unix.RawSyscall(unix.SYS_USERFAULTFD, 1, 0, 0)) }},
	"counter": {reason: "Performance counters measure other processes, and have had vulnerabilities.", do: func(uintptr) error {
		attr := unix.PerfEventAttr{
			Type: unix.PERF_TYPE_SOFTWARE, Size: unix.PERF_ATTR_SIZE_VER0, Config: unix.PERF_COUNT_SW_TASK_CLOCK,
			Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
		}

		_, err := unix.PerfEventOpen(&attr, 0, -1, -1, 0)

		return err
	}},
	"namespace": {reason: "A run may not enter the namespaces of another process.", root: true, do: func(victim uintptr) error {
		fd, err := unix.PidfdOpen(int(victim), 0)
		if err != nil {
			return err
		}

		return unix.Setns(fd, unix.CLONE_NEWUTS)
	}},
	"clone": {reason: "A process is root in a user namespace.", do: func(uintptr) error {
		return child(unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD)|unix.CLONE_NEWUSER, 0, 0, 0, 0, 0))
	}},
	"clone3": {reason: "The filter cannot see the flags of clone3, and so refuses it.", do: func(uintptr) error {
		// clone_args: flags, and the signal when the child ends.
		args := [8]uint64{0: unix.CLONE_NEWUSER, 4: uint64(unix.SIGCHLD)}

		return child(unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0))
	}},
	"chroot": {reason: "Another root directory has other programs in it.", root: true, do: func(uintptr) error { return unix.Chroot("/") }},
	"log": {reason: "The log of the kernel is not for runs.", root: true, do: func(uintptr) error {
		// SYSLOG_ACTION_READ_ALL
		_, err := unix.Klogctl(3, make([]byte, 64))

		return err
	}},
	"character": {reason: "A device gives access to the machine.", root: true, do: func(uintptr) error { return unix.Mknod("device", unix.S_IFCHR|0o600, int(unix.Mkdev(1, 11))) }},
	"block":     {reason: "A disk has the files of all.", root: true, do: func(uintptr) error { return unix.Mknod("disk", unix.S_IFBLK|0o600, int(unix.Mkdev(7, 0))) }},
	"capability": {reason: "A root process has no capabilities.", root: true, do: func(uintptr) error {
		var has [2]unix.CapUserData
		if err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &has[0]); err != nil {
			return err
		}

		all := has[0].Permitted | has[0].Effective | has[0].Inheritable | has[1].Permitted | has[1].Effective | has[1].Inheritable

		for c := range uintptr(64) {
			// Those that the kernel does not know are errors.
			if bounding, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0); err == nil && bounding == 1 {
				all |= 1
			}
		}

		if all == 0 {
			return unix.EPERM
		}

		return nil
	}},
}

func TestCalls(t *testing.T) {
	needLandlock(t)

	w := newFixture(t)

	for name, c := range calls {
		t.Run(name, func(t *testing.T) {
			if c.root {
				needs.Root(t, "Only root can do that.")
			}

			script := fmt.Sprintf(`"$TOOL" tool call %s "$VICTIM"`, name)

			if out := w.attack(t.Context(), t, w.domain(t, w.own, sandbox.Grant{}), script); strings.Contains(out, owned) {
				t.Errorf("%s\n%s", c.reason, out)
			}

			out := w.attack(t.Context(), t, sandbox.Domain{}, script)
			if strings.Contains(out, unix.ENOSYS.Error()) {
				needs.Machinef(t, "This kernel cannot do that.")
			}

			// An attack that fails without confinement, too, proves nothing.
			if !strings.Contains(out, owned) {
				t.Errorf("without confinement: %s\n%s", c.reason, out)
			}
		})
	}
}

// made returns the error of a system call; nil if the kernel has carried it out.
func made(_, _ uintptr, errno unix.Errno) error {
	if errno != 0 {
		return errno
	}

	return nil
}

// child that a system call has made, which ends.
func child(pid, _ uintptr, errno unix.Errno) error {
	if errno == 0 && pid == 0 {
		for {
			_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}

	return made(pid, 0, errno)
}
