// Package expression compiles and evaluates the values of the input that may hold expressions: any JSON with strings
// that may hold CEL, written ${…}. An Environment knows what expressions see, and compiles a value to a Template,
// once for a Composition; the Template is evaluated with the Data of each XR. The mistakes and Problems say in one
// line what is wrong, and where.
//
// Package value has the values that expressions see, package library the functions
// that they call, and package cost the limits of their work.
package expression
