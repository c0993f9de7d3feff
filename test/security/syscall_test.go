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
	"github.com/crossplane-ansible/crossplane-ansible/test/security/int80"
)

// Numbers of inotify_init1 in the tables that are not a program's own. x32 has
// those of x86-64 with a bit more.
const (
	inotifyI386 = 332
	inotifyX32  = 0x40000000 | 294
)

// A call is an attack by a system call, on a victim where it needs one.
type call struct {
	reason string
	// root is true for what other users cannot do anyhow.
	root bool
	do   func(victim uintptr) error
}

var calls = map[string]call{
	"limit": {reason: "A limit ends a process, or what it can do.", do: func(victim uintptr) error {
		return unix.Prlimit(int(victim), unix.RLIMIT_NOFILE, &unix.Rlimit{}, nil)
	}},
	"affinity": {reason: "All on one processor is a slow machine.", do: func(victim uintptr) error {
		var one unix.CPUSet
		one.Set(0)

		return unix.SchedSetaffinity(int(victim), &one)
	}},
	"priority": {reason: "Who is last in the queue is as good as stopped.", do: func(victim uintptr) error { return unix.Setpriority(unix.PRIO_PROCESS, int(victim), 19) }},
	"attributes": {reason: "So is who runs only on an idle machine.", do: func(victim uintptr) error {
		return unix.SchedSetAttr(int(victim), &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0)
	}},
	"idle": {reason: "There are two ways to say that.", do: func(victim uintptr) error {
		var none int32

		return made(unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, victim, unix.SCHED_IDLE, uintptr(unsafe.Pointer(&none))))
	}},
	// IOPRIO_WHO_PROCESS, and IOPRIO_CLASS_IDLE.
	"disk": {reason: "And the same for its disk.", do: func(victim uintptr) error { return made(unix.RawSyscall(unix.SYS_IOPRIO_SET, 1, victim, 3<<13)) }},
	// KCMP_VM. https://man7.org/linux/man-pages/man2/kcmp.2.html
	"compare": {reason: "What processes share is the first step to what they have.", do: func(victim uintptr) error {
		return made(unix.RawSyscall6(unix.SYS_KCMP, uintptr(os.Getpid()), victim, 1, 0, 0, 0))
	}},
	"pages": {reason: "Memory of others stays where it is.", do: func(victim uintptr) error { return made(unix.RawSyscall6(unix.SYS_MOVE_PAGES, victim, 0, 0, 0, 0, 0)) }},
	"descriptor": {reason: "A descriptor is what it leads to.", do: func(victim uintptr) error {
		fd, err := unix.PidfdOpen(int(victim), 0)
		if err != nil {
			return err
		}

		_, err = unix.PidfdGetfd(fd, 0, 0)

		return err
	}},
	"robust": {reason: "Where memory is helps to read it.", do: func(victim uintptr) error {
		var head, size uintptr

		return made(unix.RawSyscall(unix.SYS_GET_ROBUST_LIST, victim, uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&size))))
	}},
	"watch": {reason: "Names of files are how others' sockets are reached.", do: func(uintptr) error {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
		if err != nil {
			return err
		}

		_, err = unix.InotifyAddWatch(fd, os.Getenv("OTHER"), unix.IN_ALL_EVENTS)

		return err
	}},
	"fanotify": {reason: "There are two ways to watch.", do: func(uintptr) error {
		_, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_REPORT_FID, unix.O_RDONLY)

		return err
	}},
	"keyring": {reason: "Keyrings are the user's.", do: func(uintptr) error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true)

		return err
	}},
	"key": {reason: "A key of a process' own is as good as none.", do: func(uintptr) error {
		_, err := unix.AddKey("user", "attack", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)

		return err
	}},
	"segment": {reason: "Shared memory is the user's.", do: func(uintptr) error {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
		if err == nil {
			_, err = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		}

		return err
	}},
	"semaphore": {reason: "So are semaphores.", do: func(uintptr) error {
		id, _, errno := unix.RawSyscall(unix.SYS_SEMGET, unix.IPC_PRIVATE, 1, unix.IPC_CREAT|0o600)
		if errno != 0 {
			return errno
		}

		return made(unix.RawSyscall(unix.SYS_SEMCTL, id, 0, unix.IPC_RMID))
	}},
	"queue": {reason: "And queues of messages.", do: func(uintptr) error {
		id, _, errno := unix.RawSyscall(unix.SYS_MSGGET, unix.IPC_PRIVATE, unix.IPC_CREAT|0o600, 0)
		if errno != 0 {
			return errno
		}

		return made(unix.RawSyscall(unix.SYS_MSGCTL, id, unix.IPC_RMID, 0))
	}},
	"named": {reason: "Even those with names.", do: func(uintptr) error {
		name, err := unix.BytePtrFromString("attack-" + strconv.Itoa(os.Getpid()))
		if err != nil {
			return err
		}

		if err := made(unix.RawSyscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(name)), unix.O_CREAT|unix.O_RDWR, 0o600, 0, 0, 0)); err != nil {
			return err
		}

		return made(unix.RawSyscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(name)), 0, 0))
	}},
	"memory": {reason: "Memory that no process has ends all of them, when it is used up.", do: func(uintptr) error {
		fd, err := unix.MemfdCreate("attack", unix.MFD_CLOEXEC)
		if err != nil {
			return err
		}

		return unix.Close(fd)
	}},
	"ring": {reason: "What asks by a ring is not asked about.", do: func(uintptr) error {
		var params [120]byte

		return made(unix.RawSyscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0))
	}},
	"program": {reason: "Programs in the kernel see all.", root: true, do: func(uintptr) error {
		// BPF_MAP_CREATE of an array with one value.
		attr := [16]uint32{unix.BPF_MAP_TYPE_ARRAY, 4, 4, 1}

		return made(unix.RawSyscall(unix.SYS_BPF, unix.BPF_MAP_CREATE, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr)))
	}},
	// UFFD_USER_MODE_ONLY.
	"faults": {reason: "Who handles faults wins races in the kernel.", do: func(uintptr) error { return made(unix.RawSyscall(unix.SYS_USERFAULTFD, 1, 0, 0)) }},
	"counter": {reason: "Counters tell about others, and have a history.", do: func(uintptr) error {
		attr := unix.PerfEventAttr{
			Type: unix.PERF_TYPE_SOFTWARE, Size: unix.PERF_ATTR_SIZE_VER0, Config: unix.PERF_COUNT_SW_TASK_CLOCK,
			Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
		}

		_, err := unix.PerfEventOpen(&attr, 0, -1, -1, 0)

		return err
	}},
	"namespace": {reason: "A namespace has mounts and hosts of its own.", root: true, do: func(victim uintptr) error {
		fd, err := unix.PidfdOpen(int(victim), 0)
		if err != nil {
			return err
		}

		return unix.Setns(fd, unix.CLONE_NEWUTS)
	}},
	"clone": {reason: "In a user namespace everybody is root.", do: func(uintptr) error {
		return child(unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD)|unix.CLONE_NEWUSER, 0, 0, 0, 0, 0))
	}},
	"clone3": {reason: "What cannot be looked at is not let pass.", do: func(uintptr) error {
		// clone_args: flags, and the signal when the child ends.
		args := [8]uint64{0: unix.CLONE_NEWUSER, 4: uint64(unix.SIGCHLD)}

		return child(unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0))
	}},
	"chroot": {reason: "Another root directory has other programs in it.", root: true, do: func(uintptr) error { return unix.Chroot("/") }},
	"log": {reason: "What the kernel logs is the machine's.", root: true, do: func(uintptr) error {
		// SYSLOG_ACTION_READ_ALL
		_, err := unix.Klogctl(3, make([]byte, 64))

		return err
	}},
	"character": {reason: "Devices are the machine.", root: true, do: func(uintptr) error { return unix.Mknod("device", unix.S_IFCHR|0o600, int(unix.Mkdev(1, 11))) }},
	"block":     {reason: "A disk has everybody's files.", root: true, do: func(uintptr) error { return unix.Mknod("disk", unix.S_IFBLK|0o600, int(unix.Mkdev(7, 0))) }},
	"capability": {reason: "What root may do beyond what files say it does by capabilities.", root: true, do: func(uintptr) error {
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
	"i386": {reason: "Another table of calls has the same calls.", do: func(uintptr) error {
		_, err := int80.Call(inotifyI386, 0, 0)

		return err
	}},
	"x32": {reason: "There are two of them.", do: func(uintptr) error { return made(unix.RawSyscall(inotifyX32, 0, 0, 0)) }},
}

func TestCalls(t *testing.T) {
	needLandlock(t)

	w := newWorld(t)

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
			if strings.Contains(out, unix.ENOSYS.Error()) || strings.Contains(out, "SIGSEGV") {
				needs.Machinef(t, "This kernel cannot do that.")
			}

			// An attack that fails by itself proves nothing.
			if !strings.Contains(out, owned) {
				t.Errorf("without confinement: %s\n%s", c.reason, out)
			}
		})
	}
}

// made a system call, or not.
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
