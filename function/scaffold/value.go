package scaffold

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
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

// element is the type of what choices are of: that of a list's elements, or of
// the option.
func (o Option) element() string {
	if o.Type == typeList {
		return o.Elements
	}

	return o.Type
}

// coerce a value to the type of the option, as Ansible would; false when that
// cannot be, or when the value is a template.
func (o Option) coerce(v any) (any, bool) {
	if o.Type != typeList {
		return o.coerceElement(v)
	}

	l, ok := v.([]any)
	if !ok {
		return nil, false
	}

	out := make([]any, len(l))

	for i := range l {
		if out[i], ok = o.coerceElement(l[i]); !ok {
			return nil, false
		}
	}

	return out, true
}

// coerceElement is coerce for the elements of a list.
func (o Option) coerceElement(v any) (any, bool) {
	if isTemplate(v) {
		return nil, false
	}

	if m, ok := v.(map[string]any); ok && o.element() == typeDict && len(o.Options) > 0 {
		return o.coerceDict(m)
	}

	c, ok := coerceTo(o.element(), v)
	if ok && len(o.Choices) > 0 &&
		!slices.ContainsFunc(o.Choices, func(choice any) bool { return reflect.DeepEqual(choice, c) }) {
		return nil, false
	}

	return c, ok
}

// coerceDict with known keys. Required ones must be there.
func (o Option) coerceDict(m map[string]any) (any, bool) {
	out := map[string]any{}

	for _, below := range o.Options {
		v, there := m[below.Name]
		if !there && below.Required {
			return nil, false
		}

		if !there {
			continue
		}

		c, ok := below.coerce(v)
		if !ok || below.Secret {
			return nil, false
		}

		out[below.Name] = c
	}

	return out, len(out) == len(m)
}

func coerceTo(kind string, v any) (any, bool) {
	switch kind {
	case typeStr, typePath, typeJSON, typeJSONArg:
		switch v := v.(type) {
		case string:
			return v, true
		case int, float64, bool:
			return fmt.Sprint(v), true
		}

		return nil, false
	case typeBytes, typeBits:
		switch v.(type) {
		case string, int:
			return v, true
		}

		return nil, false
	case typeInt:
		if s, ok := v.(string); ok {
			i, err := strconv.Atoi(s)
			return i, err == nil
		}

		i, ok := v.(int)

		return i, ok
	case typeFloat:
		switch v := v.(type) {
		case float64:
			return v, true
		case int:
			return v, true
		}

		return nil, false
	case typeBool:
		return coerceBool(v)
	case typeDict:
		m, ok := v.(map[string]any)
		return m, ok
	}

	return v, true
}

// coerceBool knows the words that YAML 1.1 has for booleans.
func coerceBool(v any) (any, bool) {
	if b, ok := v.(bool); ok {
		return b, true
	}

	s, _ := v.(string)
	switch strings.ToLower(s) {
	case "yes", "on", "true":
		return true, true
	case "no", "off", "false":
		return false, true
	}

	return nil, false
}

// isTemplate is true when there is Jinja2 anywhere in a value.
func isTemplate(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, "{{") || strings.Contains(v, "{%")
	case []any:
		return slices.ContainsFunc(v, isTemplate)
	case map[string]any:
		for k := range v {
			if isTemplate(k) || isTemplate(v[k]) {
				return true
			}
		}
	}

	return false
}
