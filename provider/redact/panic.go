package redact

import "runtime/debug"

// Panic is deferred. It recovers from a panic, prints the stack to standard error, and calls then. It does not print
// the value of the panic, which may contain a secret.
func Panic(then func()) {
	if recover() == nil {
		return
	}

	debug.PrintStack()
	then()
}
