// Package expression compiles and evaluates values of the input: JSON with strings that may contain CEL expressions,
// written ${…}. An Environment declares the variables of expressions, and compiles a value to a Template, once for a
// Composition. The Template is evaluated with the Data of each XR. Mistakes are errors of compilation, and Problems are
// errors of evaluation. Both are messages of one line.
//
// value.go has the values of the variables, library.go the functions, and budget.go and calls.go limit the work.
package expression
