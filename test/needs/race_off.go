//go:build !race

package needs

// Race says whether the test was built with the race detector.
const Race = false
