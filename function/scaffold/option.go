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

// scalars has the OpenAPI type for each scalar type of options.
var scalars = map[string]string{ //nolint:gochecknoglobals // Go has no constant maps.
	typeStr: "string", "path": "string", "json": "string", "jsonarg": "string",
	typeInt: "integer", typeFloat: "number", typeBool: "boolean",
}

// preserve is the field of a schema that allows unknown fields.
const preserve = "x-kubernetes-preserve-unknown-fields"

// An Option is a variable of a role, or a key in one.
type Option struct {
	// Name is the name of the variable or key.
	Name string `yaml:"-"`
	// Property is the name of the field of an XR. For an option in another option, it is Name.
	Property string `yaml:"-"`
	// Type is the type in the argument specification: str, list, dict, bool, int, float, path, raw, jsonarg, json,
	// bytes, or bits.
	Type string `yaml:"type"`
	// Elements is the type of the elements of a list; empty when it is unknown.
	Elements string `yaml:"elements"`
	// Required is true for an option without which the role does not run.
	Required bool `yaml:"required"`
	// Secret is true for an option with a secret value.
	Secret bool `yaml:"no_log"`
	// Choices are the allowed values of the option, or of the elements of a list.
	Choices []any `yaml:"-"`
	// Default is the default of the role; nil for none, and for one that depends on other variables.
	Default     any    `yaml:"-"`
	Description string `yaml:"-"`
	// Options are the keys of a dict, or of each dict in a list.
	Options optionSpecs `yaml:"options"`
	// Notes are remarks about the option that an XRD cannot express.
	Notes []string `yaml:"-"`
}

// element returns the type to which choices and options apply: Elements of a list, and Type of another option.
func (o *Option) element() *string {
	if o.Type == typeList {
		return &o.Elements
	}

	return &o.Type
}

// setDefault sets the default of an option. If the default does not fit, it adds a note instead.
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

// fit converts a value to the schema of the option, as Ansible would. It returns false when that is impossible, or when
// the value is a template.
func (o *Option) fit(v any) (any, bool) {
	value, of := asJSON(v), object(asJSON(schemaOf(*o)))
	if value == nil || isTemplate(v) {
		return nil, false
	}

	// A default is not merged, so Convert keeps an empty one.
	of["x-kubernetes-map-type"] = "atomic"

	out, err := schema.NewConverter(of).Convert(value)

	return out, err == nil
}

// setProperties adds the schemas of options to m, in their order. Secret options are left out, since an XR is not
// protected like a Secret.
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

// schemaOf returns the OpenAPI schema of an option.
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

// exampleOf returns example values for the required options.
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
