// Package value converts between JSON and the values of CEL. What is observed
// comes in as decoded JSON, and expressions see it as values of CEL that know
// their Place and that are converted only as far as they are looked at. A Writer
// makes JSON, or text, of what an expression evaluates to.
package value
