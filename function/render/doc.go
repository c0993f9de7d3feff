// Package render turns the input and what was observed into AnsibleRuns.
//
// Compile does once per input all that does not depend on an XR, and finds the
// mistakes of the Composition. Render does the rest for each XR; whatever goes
// wrong there is the state of a run, never an error.
package render
