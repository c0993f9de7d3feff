package scaffold

import (
	"fmt"
	"strings"
)

// variable is the expression for an option among others: what the XR has, with
// the keys that the role knows. It is left out where the XR has none.
func (n Names) variable(o Option, all []Option) expression {
	return expression("${" + n.value("xr.spec", o, all, 0) + "}")
}

// value of an option below an object, optional where the option is.
func (n Names) value(object string, o Option, all []Option, depth int) string {
	v := object + member(n.property(o.Name, all), o.Required)

	if !n.renames(o) {
		return v
	}

	if o.Required {
		return n.convert(v, o, depth)
	}

	name := fmt.Sprintf("v%d", depth)

	return fmt.Sprintf("%s.optMap(%s, %s)", v, name, n.convert(name, o, depth+1))
}

// convert a value that is there to what the role knows.
func (n Names) convert(v string, o Option, depth int) string {
	if o.Type == typeList {
		name := fmt.Sprintf("v%d", depth)
		return fmt.Sprintf("%s.map(%s, %s)", v, name, n.entries(name, o, depth+1))
	}

	return n.entries(v, o, depth)
}

// entries of a dict.
func (n Names) entries(v string, o Option, depth int) string {
	var entries []string

	for _, below := range o.Options {
		if below.Secret {
			continue
		}

		key := "'" + below.Name + "'"
		if !below.Required {
			key = "?" + key
		}

		entries = append(entries, key+": "+n.value(v, below, o.Options, depth))
	}

	return "{" + strings.Join(entries, ", ") + "}"
}

// renames is true when keys below an option have other names in the XRD.
func (n Names) renames(o Option) bool {
	for _, below := range o.Options {
		if !below.Secret && (n.property(below.Name, o.Options) != below.Name || n.renames(below)) {
			return true
		}
	}

	return false
}
