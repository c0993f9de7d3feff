package expression

import (
	"strconv"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
)

// maxName is how many bytes are shown of a name, which strangers may have written.
const maxName = 80

// A place is where a value is below a root, as it is written in an expression.
type place struct {
	// up is nil for roots, which are called by their name.
	up   *place
	name string
	// index in a list, where isIndex.
	index   int
	isIndex bool
	// waits is true for a value that may be there later without an edit of the XR.
	waits bool
}

// root returns the name of the root that the place is below.
func (p *place) root() string {
	for p.up != nil {
		p = p.up
	}

	return p.name
}

// String returns the place as it is written in an expression.
func (p *place) String() string { return p.write("") }

// optional returns the place such that nothing has to be there.
func (p *place) optional() string { return p.write("?") }

func (p *place) write(mark string) string {
	switch {
	case p.up == nil:
		return p.name
	case p.isIndex:
		return p.up.write("") + "[" + mark + strconv.Itoa(p.index) + "]"
	}

	name := clip.Text(p.name, maxName)
	if !isSelectable(name) {
		return p.up.write("") + "[" + mark + strconv.Quote(name) + "]"
	}

	return p.up.write("") + "." + mark + name
}

// isSelectable is true for names that can be written after a dot.
func isSelectable(name string) bool {
	switch name {
	case "", "in", "true", "false", "null":
		return false
	}

	return (name[0] < '0' || name[0] > '9') && !strings.ContainsFunc(name, func(c rune) bool { return !inIdentifier(c) })
}

// inIdentifier is true for characters that identifiers of CEL are made of.
func inIdentifier[C byte | rune](c C) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
