package redact

import "runtime/debug"

// Panic is deferred. It recovers from a panic, prints the stack to standard error, and calls
// then. The value of the panic is not printed, since it may have a secret in it.
func Panic(then func()) {
	if recover() == nil {
		return
	}

	debug.PrintStack()
	then()
}
