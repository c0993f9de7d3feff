package value

import (
	"strconv"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
)

// maxName is how many bytes are shown of a name, which strangers may have written.
const maxName = 80

// A Place is where a value is below a root, as it is written in an expression.
type Place struct {
	// up is nil for roots, which are called by their name.
	up   *Place
	name string
	// index in a list, where isIndex.
	index   int
	isIndex bool
	// waits is true for a value that may be there later.
	waits bool
}

// Root returns the name of the root that the Place is below.
func (p *Place) Root() string {
	for p.up != nil {
		p = p.up
	}

	return p.name
}

// Member returns what is selected from the root on the way to the Place; a root has
// none: "".
func (p *Place) Member() string {
	if p.up == nil {
		return ""
	}

	for p.up.up != nil {
		p = p.up
	}

	return p.name
}

// IsMember is true for a Place that is selected from a root.
func (p *Place) IsMember() bool { return p.up != nil && p.up.up == nil }

// Waits is true below a member of which something may be there later.
func (p *Place) Waits() bool {
	return p.waits || p.up != nil && p.up.Waits()
}

// String returns the Place as it is written in an expression.
func (p *Place) String() string { return p.write("") }

// Optional returns the Place such that nothing has to be there.
func (p *Place) Optional() string { return p.write("?") }

func (p *Place) write(mark string) string {
	switch {
	case p.up == nil:
		return p.name
	case p.isIndex:
		return p.up.write("") + "[" + mark + strconv.Itoa(p.index) + "]"
	}

	name := clip.Text(p.name, maxName)
	if !IsSelectable(name) {
		return p.up.write("") + "[" + mark + strconv.Quote(name) + "]"
	}

	return p.up.write("") + "." + mark + name
}

// IsSelectable is true for names that can be written after a dot.
func IsSelectable(name string) bool {
	switch name {
	case "", "in", "true", "false", "null":
		return false
	}

	return (name[0] < '0' || name[0] > '9') && !strings.ContainsFunc(name, func(c rune) bool { return !InIdentifier(c) })
}

// InIdentifier is true for characters that identifiers of CEL are made of.
func InIdentifier[C byte | rune](c C) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
