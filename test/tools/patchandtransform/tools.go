//go:build tools

// Package tools pins the function that most Compositions use, which stands beside
// function-ansible in pipelines of the tests.
package tools

import _ "github.com/crossplane-contrib/function-patch-and-transform"
