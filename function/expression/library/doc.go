// Package library has the functions that expressions may call: those of CEL and
// Kubernetes, and its own, which are called as in kro. They know nothing of XRs and
// runs.
package library
