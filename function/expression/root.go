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
	// of the data; empty for locals, which are computed when they are asked for.
	of func(d *Data) any
	// example of a name below it, where only members can be used.
	example string
	// given is true for what others have written.
	given bool
	// later is true if a value may be there later without an edit of the XR.
	later bool
	// none says that there is none of a name below it, where the names are known.
	none string
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
		of: func(d *Data) any { return d.Resources }, example: "machine", later: true, none: "no step composes a resource",
	},
	rootEach:        {of: func(d *Data) any { return d.Each }},
	rootEnvironment: {of: func(d *Data) any { return d.Environment }, given: true, later: true},
	rootContext:     {of: func(d *Data) any { return d.Context }, given: true, later: true},
	rootLocals:      {of: func(*Data) any { return map[string]any(nil) }, example: "fqdn", none: "there is no local"},
}

// isRoot is true for the name of a root.
func isRoot(name string) bool {
	_, ok := roots[name]
	return ok
}

// waits is true for a value, at a path from a root, which may be there later.
func waits(path []string) bool {
	return roots[path[0]].later || path[0] == rootXR && (len(path) == 1 || path[1] == "status")
}

// identity is what an XR is called: what never changes, and what Crossplane says of its claim; and the key of an item.
// The names of a path are separated by spaces.
var identity = [...]string{ //nolint:gochecknoglobals // Go has no constant arrays.
	"xr metadata name ",
	"xr metadata namespace ",
	"xr metadata uid ",
	"xr metadata labels crossplane.io/claim-name ",
	"xr metadata labels crossplane.io/claim-namespace ",
	"xr spec claimRef ",
	"each key ",
}

// identifies is true for a value, at a path from a root, which is part of the identity.
func identifies(path []string) bool {
	at := strings.Join(path, " ") + " "
	return slices.ContainsFunc(identity[:], func(known string) bool { return strings.HasPrefix(at, known) })
}
