// Package scaffold writes an XRD and a Composition for a role, from what the
// role says of its variables.
package scaffold
