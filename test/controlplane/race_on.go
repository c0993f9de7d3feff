//go:build race

package controlplane

// detecting says whether this program was built with the race detector. Then it
// takes builds of the function and of the provider that have it, too.
const detecting = true
