// Package expression compiles and evaluates the values of the input that may hold expressions: any JSON with strings
// that may hold CEL, written ${…}. An Environment knows what expressions see, and compiles a value to a Template,
// once for a Composition; the Template is evaluated with the Data of each XR. The mistakes and Problems say in one
// line what is wrong, and where.
//
// value.go has the values that expressions see, library.go the functions that they call, and budget.go and calls.go the
// limits of their work.
package expression
