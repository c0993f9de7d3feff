package expression

import (
	"slices"
	"strings"
)

// These are the names of the roots, the variables of expressions.
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

// A root is a variable of expressions.
type root struct {
	// of returns the value; an empty map for locals, since each is computed at its first use.
	of func(d *Data) any
	// example is the name of a field, for the message about a root that must be followed by a name.
	example string
	// given is true for values that are set outside of the Composition.
	given bool
	// later is true if a missing value may be set later without an edit of the XR.
	later bool
	// none is the start of the message about an undeclared name; empty for roots with fixed or any fields.
	none string
}

// roots has the roots by name.
var roots = map[string]root{ //nolint:gochecknoglobals // It is a constant.
	rootXR:   {of: func(d *Data) any { return d.XR }, given: true},
	rootRuns: {of: func(d *Data) any { return d.Runs }, example: "database", later: true, none: "there is no run"},
	rootRequired: {
		of: func(d *Data) any { return d.Required }, example: "network", given: true, later: true,
		none: "there is no required resource",
	},
	rootResources: {
		of: func(d *Data) any { return d.Resources }, example: "machine", later: true, none: "no step composes a resource",
	},
	rootEach:        {of: func(d *Data) any { return d.Each }},
	rootEnvironment: {of: func(d *Data) any { return d.Environment }, given: true, later: true},
	rootContext:     {of: func(d *Data) any { return d.Context }, given: true, later: true},
	rootLocals:      {of: func(*Data) any { return map[string]any(nil) }, example: "fqdn", none: "there is no local"},
}

func isRoot(name string) bool {
	_, ok := roots[name]
	return ok
}

// waits is true for the path of a value that may be set later without an edit of the XR.
func waits(path []string) bool {
	return roots[path[0]].later || path[0] == rootXR && (len(path) == 1 || path[1] == "status")
}

// identity has the paths of values that identify an XR, its claim, or an item of forEach. They do not change during the
// life of the XR. A space follows each name of a path.
var identity = [...]string{ //nolint:gochecknoglobals // Go has no constant arrays.
	"xr metadata name ",
	"xr metadata namespace ",
	"xr metadata uid ",
	"xr metadata labels crossplane.io/claim-name ",
	"xr metadata labels crossplane.io/claim-namespace ",
	"xr spec claimRef ",
	"each key ",
}

// identifies is true for the path of a value in the identity.
func identifies(path []string) bool {
	at := strings.Join(path, " ") + " "
	return slices.ContainsFunc(identity[:], func(known string) bool { return strings.HasPrefix(at, known) })
}
