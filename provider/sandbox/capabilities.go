package sandbox

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// dropCapabilities of this thread, and of all that it starts. After that root, too, has only the
// rights that the modes of files and the owners of processes give it.
func dropCapabilities() error {
	// A process that may not change the bounding set does no harm with it: without new
	// privileges no program can gain a capability of the set. capabilities(7)
	for c := uintptr(0); ; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) {
			break
		}

		if err != nil {
			return fmt.Errorf("cannot drop a capability: %w", err)
		}
	}

	// The ambient ones go with those that can be inherited.
	var none [2]unix.CapUserData

	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
		return fmt.Errorf("cannot drop capabilities: %w", err)
	}

	return nil
}
