package sandbox

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// dropCapabilities drops the capabilities of this thread and its descendants. After that even root has only the rights
// of its user id.
func dropCapabilities() error {
	// A process that may not change the bounding set needs no change: without new privileges no program can gain a
	// capability of the set. capabilities(7)
	for c := uintptr(0); ; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) {
			break
		}

		if err != nil {
			return fmt.Errorf("cannot drop a capability: %w", err)
		}
	}

	// An empty inheritable set also clears the ambient set.
	var none [2]unix.CapUserData

	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
		return fmt.Errorf("cannot drop capabilities: %w", err)
	}

	return nil
}
