//go:build tools

// Package tools pins the Crossplane core that the tests run against.
package tools

import _ "github.com/crossplane/crossplane/v2/cmd/crossplane"
