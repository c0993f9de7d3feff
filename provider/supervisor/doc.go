// Package supervisor runs a command so that none of its descendants outlives
// it.
//
// A supervisor is this binary, executed once more (see Command). It is
// the subreaper of everything that the command starts, so that daemons, which
// leave their process group, their session and their parent, remain its
// descendants. When the command ends, when the supervisor is told to stop, or
// when the process that started it is gone, it ends every descendant.
//
// Between the two the binary is executed a third time: it enters the domain that the
// command is confined to (see package sandbox) and becomes the command. The supervisor
// stays outside of the domain.
//
// This package and sandbox import little, errors of the standard library among
// it: a supervisor stays as long as its command, and starts with it.
package supervisor
