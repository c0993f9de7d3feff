// Package telemetry reports runs in the log, in Kubernetes events of their objects, and in metrics. The pool calls its
// Observer.
package telemetry
