package expression

import (
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression/value"
)

// Names of the roots of expressions.
const (
	rootXR          = "xr"
	rootRuns        = "runs"
	rootRequired    = "required"
	rootResources   = "resources"
	rootEach        = "each"
	rootEnvironment = "environment"
	rootContext     = "context"
	rootLocals      = "locals"
)

// roots of expressions, those of which only members can be used first.
var roots = [...]string{rootRuns, rootRequired, rootResources, rootXR, rootEach, rootEnvironment, rootContext, rootLocals} //nolint:gochecknoglobals // Go has no constant arrays.

// given are the roots of what others have written.
var given = [...]string{rootXR, rootRequired, rootEnvironment, rootContext} //nolint:gochecknoglobals // Go has no constant arrays.

// examples of names below roots.
var examples = map[string]string{rootRuns: "database", rootRequired: "network", rootResources: "machine", rootLocals: "fqdn"} //nolint:gochecknoglobals // It is a constant.

// waits is true for a value, of a root and the names that lead to it, which may be
// there later.
func waits(root string, path []string) bool {
	switch root {
	case rootRuns, rootRequired, rootResources, rootEnvironment, rootContext:
		return true
	case rootXR:
		return len(path) == 0 || path[0] == "status"
	}

	return false
}

// isPending is true for a place at which something may be there later without an edit of the XR.
func isPending(at *value.Place) bool {
	switch at.Root() {
	case rootXR:
		return at.Member() == "status"
	case rootLocals:
		return at.Waits()
	case rootEach:
		return false
	}

	return true
}

// origin says what has to put something at a place, if that may not be clear.
func origin(at *value.Place) string {
	unless := ", or write " + at.Optional() + " if it may be missing"

	switch at.Root() {
	case rootEnvironment:
		return "; an EnvironmentConfig of an earlier step has to provide it" + unless
	case rootResources:
		if at.IsMember() {
			return "; another step has to compose it" + unless
		}
	case rootContext:
		return "; an earlier step has to put it into the context" + unless
	}

	return ""
}

// identity is what an XR is called: what never changes, and what Crossplane says of
// its claim. Names that lead there are separated by spaces.
var identity = [...]string{ //nolint:gochecknoglobals // Go has no constant arrays.
	"metadata name",
	"metadata namespace",
	"metadata uid",
	"metadata labels crossplane.io/claim-name",
	"metadata labels crossplane.io/claim-namespace",
	"spec claimRef",
}

// identifies is true for a value, of a root and the names that lead to it, which
// is part of the identity of an XR, or the key of an item.
func identifies(root string, path []string) bool {
	switch root {
	case rootEach:
		return len(path) > 0 && path[0] == "key"
	case rootXR:
		at := strings.Join(path, " ") + " "
		return slices.ContainsFunc(identity[:], func(known string) bool { return strings.HasPrefix(at, known+" ") })
	}

	return false
}
