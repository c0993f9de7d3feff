// Package supervisor runs a command so that none of its descendants outlives it.
//
// A supervisor is another process of this binary (see Command). It is the subreaper of the processes that the command
// starts, so that daemons, which leave their process group, their session and their parent, remain its descendants. It
// ends every descendant when the command ends, when the supervisor receives a signal to stop, or when the process that
// started it is gone.
//
// The supervisor executes this binary once more: that process enters the domain of the command (see package sandbox)
// and executes the command. The supervisor stays outside of the domain.
//
// This package and sandbox have few imports, so that a supervisor starts fast and needs little memory.
package supervisor
