// Package validate checks Compositions before they are applied: everything that can be
// known of their inputs without an XR, and what they would change for the runs of XRs.
package validate
