// Package sandbox confines the processes that the provider starts on its machine, with Landlock and limits of the
// kernel. The API and the flags call that confinement.
//
// A Policy comes from the provider's flags and the machine. It makes a Domain, which is plain data, from the needs of a
// run and the grants of its configuration. A process enters its domain before it executes a program of a run. Neither
// it nor its descendants can leave the domain.
package sandbox
