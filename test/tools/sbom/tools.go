//go:build tools

// Package tools pins what lists the parts of an image.
package tools

import _ "github.com/anchore/syft/cmd/syft"
