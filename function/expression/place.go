package expression

import (
	"regexp"
	"slices"
	"strconv"

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
}

// root returns the name of the root that the place is below.
func (p *place) root() string {
	for p.up != nil {
		p = p.up
	}

	return p.name
}

// path of the names from that of the root on.
func (p *place) path() []string {
	if p.up == nil {
		return []string{p.name}
	}

	return append(p.up.path(), p.name)
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
		return p.up.String() + "[" + mark + strconv.Itoa(p.index) + "]"
	}

	name := clip.Text(p.name, maxName)
	if !isSelectable(name) {
		return p.up.String() + "[" + mark + strconv.Quote(name) + "]"
	}

	return p.up.String() + "." + mark + name
}

// selectable are names that can be written after a dot, and words that cannot.
var (
	selectable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	reserved   = []string{"in", "true", "false", "null"} //nolint:gochecknoglobals // It is a constant.
)

// isSelectable is true for names that can be written after a dot.
func isSelectable(name string) bool {
	return selectable.MatchString(name) && !slices.Contains(reserved, name)
}
