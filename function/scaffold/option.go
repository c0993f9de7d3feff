package scaffold

import (
	"github.com/crossplane-ansible/crossplane-ansible/function/schema"
)

// Types of options, as argument specifications have them.
const (
	typeBool  = "bool"
	typeDict  = "dict"
	typeFloat = "float"
	typeInt   = "int"
	typeList  = "list"
	typeRaw   = "raw"
	typeStr   = "str"
)

// scalars are the types of schemas for those of options.
var scalars = map[string]string{ //nolint:gochecknoglobals // Go has no constant maps.
	typeStr: "string", "path": "string", "json": "string", "jsonarg": "string",
	typeInt: "integer", typeFloat: "number", typeBool: "boolean",
}

// preserve is what a schema says of fields that it does not have.
const preserve = "x-kubernetes-preserve-unknown-fields"

// An Option is a variable of a role, or a key in one.
type Option struct {
	// Name as the role calls it.
	Name string `yaml:"-"`
	// Property of an XR that it becomes. Below another option it has the name that content knows.
	Property string `yaml:"-"`
	// Type as argument specifications have it: str, list, dict, bool, int,
	// float, path, raw, jsonarg, json, bytes, or bits.
	Type string `yaml:"type"`
	// Elements is the type of a list's elements; empty when it is not told.
	Elements string `yaml:"elements"`
	// Required options must be there.
	Required bool `yaml:"required"`
	// Secret options must not be shown.
	Secret bool `yaml:"no_log"`
	// Choices are the values that there are; of a list, those of its elements.
	Choices []any `yaml:"-"`
	// Default as the role has it; nil when there is none that does not depend
	// on other variables.
	Default any `yaml:"-"`
	// Description of the option.
	Description string `yaml:"-"`
	// Options in a dict, or in each dict of a list.
	Options optionSpecs `yaml:"options"`
	// Notes are what else the role says of the option, which XRDs cannot.
	Notes []string `yaml:"-"`
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
	value, of := asJSON(v), object(asJSON(schemaOf(*o)))
	if value == nil || isTemplate(v) {
		return nil, false
	}

	// Nothing merges a default: what is empty stays.
	of["x-kubernetes-map-type"] = "atomic"

	out, err := schema.NewConverter(of).Convert(value)

	return out, err == nil
}

// setProperties that options become, in their order. Secret ones are left out: an XR is not protected as a Secret is.
func (m *mapping) setProperties(options []Option) *mapping {
	var required []string

	properties := newMapping()

	for _, o := range options {
		if o.Secret {
			continue
		}

		properties.set(o.Property, schemaOf(o))

		if o.Required {
			required = append(required, o.Property)
		}
	}

	return m.set("properties", properties).some("required", required)
}

// schemaOf an option.
func schemaOf(o Option) *mapping {
	s := newMapping().some("description", o.Description)

	switch o.Type {
	case "bytes", "bits":
		s.set("x-kubernetes-int-or-string", true)
	case typeList:
		s.set("type", "array").
			set("items", schemaOf(Option{Type: o.Elements, Choices: o.Choices, Options: o.Options}))
	case typeDict:
		s.set("type", "object")

		if len(o.Options) == 0 {
			s.set(preserve, true)
		} else {
			s.setProperties(o.Options)
		}
	default:
		if s.some("type", scalars[o.Type]); scalars[o.Type] == "" {
			s.set(preserve, true)
		}
	}

	if o.Type != typeList {
		s.some("enum", o.Choices)
	}

	if o.Default != nil {
		s.set("default", o.Default)
	}

	return s
}

// exampleOf values for options: all that are required.
func exampleOf(options []Option) *mapping {
	m := newMapping()

	for _, o := range options {
		if !o.Required || o.Secret {
			continue
		}

		v := map[string]any{typeList: []any{}, typeInt: 1, typeFloat: 1, typeBool: true}[o.Type]

		switch {
		case o.Type == typeDict:
			v = exampleOf(o.Options)
		case o.Type != typeList && len(o.Choices) > 0:
			v = o.Choices[0]
		case v == nil:
			v = "example"
		}

		m.set(o.Property, v)
	}

	return m
}
