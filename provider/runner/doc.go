// Package runner carries runs out with ansible-runner.
//
// A Spec says what is to be run, as plain values. The runner prepares it: the files of a
// private data directory, arguments, and an environment. It executes ansible-runner there,
// confined and under a supervisor, until all processes have ended. It makes a Result of the
// events and the exit status, and removes the directory. Package executor calls Run.
package runner
