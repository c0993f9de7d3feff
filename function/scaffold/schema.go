package scaffold

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
			s.set("x-kubernetes-preserve-unknown-fields", true)
			return
		}

		properties, required := n.properties(o.Options)
		s.set("properties", properties)

		if len(required) > 0 {
			s.set("required", required)
		}
	default:
		s.set("x-kubernetes-preserve-unknown-fields", true)
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
