// Package telemetry tells of runs: to the log, as Kubernetes events of their
// objects, and as metrics.
package telemetry
