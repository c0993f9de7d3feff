// Package sandbox says what the processes that the provider starts may do on its machine, and
// has the kernel enforce it, with Landlock and limits. The API and the flags call that
// confinement.
//
// A Policy comes from the provider's flags and the machine. It makes a Domain from what one run
// needs and what its configuration grants; a Domain is plain data. A process enters a domain
// before it becomes a program of a run, and neither it nor any process that it starts can leave.
package sandbox
