// Package events turns the event stream of ansible-runner into a typed, bounded and redacted summary. The runner writes
// standard output and standard error of ansible-runner to a Recorder, and reads its Summary.
//
// The stream has one JSON object per line: an event of the callback plugin awx_display, or a line of text. A line that
// is not JSON is text, too.
package events
