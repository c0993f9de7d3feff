// Package validate checks Compositions before they are applied: everything that
// can be known of their inputs without an XR.
package validate
