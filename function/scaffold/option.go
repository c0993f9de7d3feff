package scaffold

import (
	"fmt"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/function/schema"
)

// Types of options, as argument specifications have them.
const (
	typeBits    = "bits"
	typeBool    = "bool"
	typeBytes   = "bytes"
	typeDict    = "dict"
	typeFloat   = "float"
	typeInt     = "int"
	typeJSON    = "json"
	typeJSONArg = "jsonarg"
	typeList    = "list"
	typePath    = "path"
	typeRaw     = "raw"
	typeStr     = "str"
)

// preserve is what a schema says of fields that it does not have.
const preserve = "x-kubernetes-preserve-unknown-fields"

// An Option is a variable of a role, or a key in one.
type Option struct {
	// Name as the role calls it.
	Name string
	// Type as argument specifications have it: str, list, dict, bool, int,
	// float, path, raw, jsonarg, json, bytes, or bits.
	Type string
	// Elements is the type of a list's elements; empty when it is not told.
	Elements string
	// Required options must be there.
	Required bool
	// Secret options must not be shown.
	Secret bool
	// Choices are the values that there are; of a list, those of its elements.
	Choices []any
	// Default as the role has it; nil when there is none that does not depend
	// on other variables.
	Default any
	// Description of the option.
	Description string
	// Options in a dict, or in each dict of a list.
	Options []Option
	// Notes are what else the role says of the option, which XRDs cannot.
	Notes []string
}

// element is the type of what choices and options are of: that of a list's elements, or of
// the option.
func (o *Option) element() *string {
	if o.Type == typeList {
		return &o.Elements
	}

	return &o.Type
}

// setDefault of an option, or say that only the role has it.
func (o *Option) setDefault(v any) {
	if v == nil || o.Secret {
		return
	}

	if d, ok := o.fit(v); ok {
		o.Default = d
		return
	}

	o.Notes = append(o.Notes, "the role sets its default: "+oneLine(v))
}

// fit a value to the schema of the option, as Ansible would convert it; false when that
// cannot be, or when the value is a template.
func (o *Option) fit(v any) (any, bool) {
	value, err := asJSON(v)
	written, werr := asJSON(AsIs.schema(*o))

	of := object(written)
	if err != nil || werr != nil || of == nil || isTemplate(v) {
		return nil, false
	}

	// Nothing merges a default: what is empty stays.
	of["x-kubernetes-map-type"] = "atomic"

	out, err := schema.NewConverter(of).Convert(value)

	return out, err == nil
}

// properties of options, in their order, and the names of those that are required. Secret options are left out: an XR
// is not protected as a Secret is.
func (n Names) properties(options []Option) (properties *mapping, required []string) {
	properties = newMapping()

	for _, o := range options {
		if o.Secret {
			continue
		}

		name := n.property(o.Name, options)
		properties.set(name, n.schema(o))

		if o.Required {
			required = append(required, name)
		}
	}

	return properties, required
}

// schema of an option.
func (n Names) schema(o Option) *mapping {
	s := newMapping()

	if o.Description != "" {
		s.set("description", o.Description)
	}

	n.typed(s, o.Type, o)

	if o.Default != nil {
		s.set("default", n.rename(o.Default, o))
	}

	return s
}

// typed adds what there is to say of a type.
func (n Names) typed(s *mapping, kind string, o Option) {
	if kind != typeList && len(o.Choices) > 0 {
		defer s.set("enum", o.Choices)
	}

	switch kind {
	case typeStr, typePath, typeJSON, typeJSONArg:
		s.set("type", "string")
	case typeInt:
		s.set("type", "integer")
	case typeFloat:
		s.set("type", "number")
	case typeBool:
		s.set("type", "boolean")
	case typeBytes, typeBits:
		s.set("x-kubernetes-int-or-string", true)
	case typeList:
		items := newMapping()
		n.typed(items, o.Elements, o)
		s.set("type", "array").set("items", items)
	case typeDict:
		s.set("type", "object")

		if len(o.Options) == 0 {
			s.set(preserve, true)
			return
		}

		properties, required := n.properties(o.Options)
		s.set("properties", properties)

		if len(required) > 0 {
			s.set("required", required)
		}
	default:
		s.set(preserve, true)
	}
}

// rename the keys of a value to those of the XRD.
func (n Names) rename(v any, o Option) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = n.rename(v[i], o)
		}

		return out
	case map[string]any:
		if len(o.Options) == 0 {
			return v
		}

		out := map[string]any{}

		for _, below := range o.Options {
			if value, ok := v[below.Name]; ok {
				out[n.property(below.Name, o.Options)] = n.rename(value, below)
			}
		}

		return out
	}

	return v
}

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

// convert a value that is there to what the role knows: a dict, or a list of these.
func (n Names) convert(v string, o Option, depth int) string {
	if o.Type == typeList {
		name := fmt.Sprintf("v%d", depth)
		o.Type = o.Elements

		return fmt.Sprintf("%s.map(%s, %s)", v, name, n.convert(name, o, depth+1))
	}

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

// example of values for options: all that are required.
func (n Names) example(options []Option) *mapping {
	m := newMapping()

	for _, o := range options {
		if o.Required && !o.Secret {
			m.set(n.property(o.Name, options), n.exampleValue(o))
		}
	}

	return m
}

func (n Names) exampleValue(o Option) any {
	if len(o.Choices) > 0 && o.Type != typeList {
		return o.Choices[0]
	}

	switch o.Type {
	case typeInt, typeFloat:
		return 1
	case typeBool:
		return true
	case typeList:
		return []any{}
	case typeDict:
		return n.example(o.Options)
	}

	return "example"
}
