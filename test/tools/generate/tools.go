//go:build tools

// Package tools pins the code generator.
package tools

import _ "sigs.k8s.io/controller-tools/cmd/controller-gen"
