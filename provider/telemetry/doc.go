// Package telemetry writes about runs to the log, to Kubernetes events of their objects, and
// to metrics. Observed wraps a backend so that it tells the Observer of each run.
package telemetry
