//go:build tools

// Package tools pins Crossplane's command line, which renders Compositions
// offline. It is in another module than core from the next version on.
package tools

import _ "github.com/crossplane/crossplane/v2/cmd/crank"
