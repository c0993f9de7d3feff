//go:build tools

// Package tools pins the command line of Helm, which content of the tests runs.
package tools

import (
	_ "helm.sh/helm/v4/cmd/helm"
)
