// Package security attacks what the provider protects, as untrusted content could.
package security

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// owned is what a successful attack prints.
const owned = "OWNED"

// TestMain lets the test binary be a tool of attacks, and run as an ordinary user.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 2 && os.Args[1] == "tool":
		if tool(os.Args[2], os.Args[3:]) {
			fmt.Println(owned)
		}
	case len(os.Args) > 3 && os.Args[1] == "on-kernel":
		panic(onKernel(os.Args[2], os.Args[3:]))
	case len(os.Args) > 3 && os.Args[1] == "as-user":
		panic(becomeUser(strings.Split(os.Args[2], ":"), os.Args[3:]))
	default:
		os.Exit(m.Run())
	}
}

// tool carries out attacks for which a shell has no command.
func tool(name string, args []string) bool {
	switch name {
	case "trace":
		pid, err := strconv.Atoi(args[0])

		return err == nil && unix.PtraceAttach(pid) == nil
	case "descriptor":
		pid, _ := strconv.Atoi(args[0])

		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return false
		}

		_, err = unix.PidfdGetfd(fd, 0, 0)

		return err == nil
	case "capabilities":
		var has [2]unix.CapUserData
		if err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &has[0]); err != nil {
			return false
		}

		all := has[0].Permitted | has[0].Effective | has[0].Inheritable | has[1].Permitted | has[1].Effective | has[1].Inheritable

		for c := range uintptr(64) {
			// Those that the kernel does not know are errors.
			if bounding, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0); err == nil && bounding == 1 {
				return true
			}
		}

		return all != 0
	case "connect":
		c, err := net.Dial("unix", args[0])
		if err != nil {
			return false
		}

		return c.Close() == nil
	case "privileges":
		on, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)

		return err == nil && on == 0
	case "descriptors":
		for fd := 3; fd < 1024; fd++ {
			// Those that this process has opened itself are closed on exec.
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
				return true
			}
		}
	}

	return false
}
