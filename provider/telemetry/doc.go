// Package telemetry writes about runs to the log, to Kubernetes events of their
// objects, and to metrics. An executor that is observed calls it; so does the
// reconciler, for runs that were interrupted.
package telemetry
