package expression

import (
	"strconv"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
)

// A place is where a value is below a root, as it is written in an expression.
type place struct {
	// up is nil for roots, which are called by their name.
	up   *place
	name string
	// index in a list, where isIndex.
	index   int
	isIndex bool
	// waits is true for a local of which something may be there later.
	waits bool
}

// root returns the name of the root, and of what is selected from it.
func (p *place) root() (root string, member place) {
	for p.up != nil {
		member, p = *p, p.up
	}

	return p.name, member
}

// pending is true for what may be there later without anybody changing the XR.
func (p *place) pending() bool {
	switch root, member := p.root(); root {
	case rootXR:
		return member.name == "status"
	case rootLocals:
		return member.waits
	case rootEach:
		return false
	}

	return true
}

// hint says where what is pending has to come from, if that may not be clear.
func (p *place) hint() string {
	switch root, _ := p.root(); root {
	case rootEnvironment:
		return "; an EnvironmentConfig of an earlier step has to provide it, or write " + p.optional() + " if it may be missing"
	case rootResources:
		if _, member := p.root(); member == *p {
			return "; another step has to compose it, or write " + p.optional() + " if it may be missing"
		}
	case rootContext:
		return "; an earlier step has to put it into the context, or write " + p.optional() + " if it may be missing"
	}

	return ""
}

// String returns the place as it is written in an expression.
func (p *place) String() string {
	return p.write("")
}

// optional returns the place such that nothing has to be there.
func (p *place) optional() string {
	return p.write("?")
}

func (p *place) write(mark string) string {
	switch {
	case p.up == nil:
		return p.name
	case p.isIndex:
		return p.up.write("") + "[" + mark + strconv.Itoa(p.index) + "]"
	}

	name := clip.Text(p.name, maxShown)
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

	return (name[0] < '0' || name[0] > '9') && !strings.ContainsFunc(name, func(c rune) bool { return !isIdentifier(c) })
}
