// Package runner carries runs out with ansible-runner.
//
// A Spec says what is to be run, as plain values. The runner prepares it: the files of a
// private data directory, arguments, and an environment. It executes ansible-runner there,
// confined and under a supervisor, until all processes have ended. Of the events and the exit
// status it makes a verdict, the Result, and removes the directory. What a provider that was
// killed has left, the next one sweeps up.
package runner
