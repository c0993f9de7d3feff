// Package sandbox says what the processes that the provider starts may do on
// its machine, and makes the kernel see to it.
//
// A Policy is what the provider's flags and the machine say. It makes a Domain
// of what one run needs and what its configuration grants, which is plain data
// and has no effect. A process enters a domain once, before it becomes a
// program of a run; neither it nor anything that it starts can leave. The
// supervisor stays outside, where what it has to end cannot reach it.
package sandbox
