// Package event turns the event stream of ansible-runner into a typed, bounded
// summary.
//
// The stream has one JSON object per line, in which ansible-runner tells of an event
// of the playbook that its callback plugin awx_display has made, or of a line of
// text. Lines that are not JSON are text, too.
package events
