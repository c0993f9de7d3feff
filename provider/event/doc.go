// Package event turns the event stream of ansible-runner into a typed, bounded
// summary.
//
// The stream is what `ansible-runner run --json` writes: one JSON object per
// line for each event of the playbook, as ansible-runner's callback plugin
// awx_display makes them, and between them lines of text.
package event
