package needs

import (
	"testing"

	"golang.org/x/sys/unix"
)

// SmallDisk mounts a disk of so many bytes on a directory.
func SmallDisk(tb testing.TB, dir, bytes string) {
	tb.Helper()

	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+bytes); err != nil {
		Machinef(tb, "A small disk cannot be mounted: %v", err)
	}

	tb.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			tb.Errorf("cannot unmount: %v", err)
		}
	})
}
