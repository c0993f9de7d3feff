package expression

import (
	"slices"
	"strings"
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

// A root is what expressions see under a name.
type root struct {
	// of the data; nil for locals.
	of func(d *Data) any
	// example of a name below it, where only members can be used.
	example string
	// given is true for what others have written.
	given bool
	// later is true if a value may be there later without an edit of the XR.
	later bool
	// none says that there is none of a name below it, where the names are known.
	none string
	// bring says what has to bring a value, if that may not be clear.
	bring string
}

// roots of expressions by their names.
var roots = map[string]root{ //nolint:gochecknoglobals // It is a constant.
	rootXR:   {of: func(d *Data) any { return d.XR }, given: true},
	rootRuns: {of: func(d *Data) any { return d.Runs }, example: "database", later: true, none: "there is no run"},
	rootRequired: {
		of: func(d *Data) any { return d.Required }, example: "network", given: true, later: true,
		none: "there is no required resource",
	},
	rootResources: {
		of: func(d *Data) any { return d.Resources }, example: "machine", later: true,
		none:  "no step composes a resource",
		bring: "another step has to compose it",
	},
	rootEach: {of: func(d *Data) any { return d.Each }},
	rootEnvironment: {
		of: func(d *Data) any { return d.Environment }, given: true, later: true,
		bring: "an EnvironmentConfig of an earlier step has to provide it",
	},
	rootContext: {
		of: func(d *Data) any { return d.Context }, given: true, later: true,
		bring: "an earlier step has to put it into the context",
	},
	rootLocals: {of: func(*Data) any { return nil }, example: "fqdn", none: "there is no local"},
}

// isRoot is true for the name of a root.
func isRoot(name string) bool {
	_, ok := roots[name]
	return ok
}

// waits is true for a value, of a root and the names that lead to it, which may be there later.
func waits(root string, path []string) bool {
	return roots[root].later || root == rootXR && (len(path) == 0 || path[0] == "status")
}

// origin says what has to put something at a place, if that may not be clear.
func origin(at *place) string {
	bring := roots[at.root()].bring
	if bring == "" || at.root() == rootResources && at.up.up != nil {
		return ""
	}

	return "; " + bring + ", or write " + at.optional() + " if it may be missing"
}

// identity is what an XR is called: what never changes, and what Crossplane says of its claim. Names that lead there
// are separated by spaces.
var identity = [...]string{ //nolint:gochecknoglobals // Go has no constant arrays.
	"metadata name",
	"metadata namespace",
	"metadata uid",
	"metadata labels crossplane.io/claim-name",
	"metadata labels crossplane.io/claim-namespace",
	"spec claimRef",
}

// identifies is true for a value, of a root and the names that lead to it, which is part of the identity of an XR, or
// the key of an item.
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
