//go:build !amd64

// Package int80 makes system calls of i386, from a program of any architecture
// that can.
package int80

import "syscall"

// Call by its number in the table of i386, which does not exist on this architecture.
func Call(_, _, _ uint32) (int, error) { return 0, syscall.ENOSYS }
