// Package expression has the values of the input that may hold expressions:
// any YAML whose strings may hold CEL, written ${…}.
package expression
