//go:build tools

// Package tools pins what looks for known vulnerabilities in Go programs.
package tools

import _ "golang.org/x/vuln/cmd/govulncheck"
