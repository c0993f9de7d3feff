//go:build tools

// Package tools pins the function that decides about the readiness of composed
// resources, which stands beside function-ansible in pipelines of the tests.
package tools

import _ "github.com/crossplane/function-auto-ready"
