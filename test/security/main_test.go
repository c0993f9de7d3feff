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

	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
)

// owned is what a successful attack prints.
const owned = "OWNED"

// self is the argv of the test binary as a supervisor.
var self, errSelf = supervisor.Self()

// TestMain lets the test binary be a tool of attacks, and run as an ordinary user.
func TestMain(m *testing.M) {
	switch {
	case errSelf != nil:
		panic(errSelf)
	case len(os.Args) > 2 && os.Args[1] == "tool":
		if tool(os.Args[2], os.Args[3:]) {
			fmt.Println(owned)
		}
	case len(os.Args) > 3 && os.Args[1] == "on-kernel":
		panic(onKernel(os.Args[2], os.Args[3:]))
	case len(os.Args) > 4 && os.Args[1] == "as-user":
		var u user
		if _, err := fmt.Sscanf(os.Args[2], "%d:%d", &u.uid, &u.gid); err != nil {
			panic(err)
		}

		panic(becomeUser(u, strings.Split(os.Args[3], ":"), os.Args[4:]))
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
	case "call":
		victim, err := strconv.Atoi(args[1])
		if err == nil {
			err = calls[args[0]].do(uintptr(victim))
		}

		if err != nil {
			fmt.Println(err)
		}

		return err == nil
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
