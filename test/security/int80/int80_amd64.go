// Package int80 makes system calls of i386, from a program of any architecture
// that can.
package int80

import "syscall"

func call(number, a, b uint32) int32

// Call by its number in the table of i386, with arguments that are no pointers.
func Call(number, a, b uint32) (int, error) {
	ret := call(number, a, b)
	if ret < 0 {
		return 0, syscall.Errno(-ret)
	}

	return int(ret), nil
}
