package security

import (
	"fmt"
	"os"
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

// calls that Landlock refuses, or the lack of capabilities. Most of the others are for the seccomp of the container's
// runtime.
var calls = map[string]call{
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
	"namespace": {reason: "A run may not enter the namespaces of another process.", root: true, do: func(victim uintptr) error {
		fd, err := unix.PidfdOpen(int(victim), 0)
		if err != nil {
			return err
		}

		return unix.Setns(fd, unix.CLONE_NEWUTS)
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
