// Package config looks up the configuration of an AnsibleRun, records that it
// is used, and resolves all references of both to plain values.
package config
