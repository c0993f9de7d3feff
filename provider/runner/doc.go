// Package runner executes runs with ansible-runner.
//
// A Spec describes a run as plain values. The runner prepares the files of a private data directory, arguments, and an
// environment. It executes ansible-runner there, confined and under a supervisor, until all processes have ended. It
// makes a Result from the events and the exit status, and removes the directory. Package executor calls Run.
package runner
