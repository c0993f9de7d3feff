// Package telemetry writes about runs to the log, to Kubernetes events of their objects, and
// to metrics. The pool tells the Observer of each run.
package telemetry
