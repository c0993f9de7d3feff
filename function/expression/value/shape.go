package value

// A Shape says where the numbers are that stay doubles though they are integral.
// It is nil where there are none.
type Shape struct {
	double bool
	fields map[string]*Shape
	// values of the other fields of an object, or items of a list.
	values *Shape
}

// ShapeOf values with an OpenAPI v3 schema.
func ShapeOf(schema map[string]any) *Shape {
	if schema["type"] == "number" {
		return &Shape{double: true}
	}

	s := &Shape{fields: map[string]*Shape{}}

	properties, _ := schema["properties"].(map[string]any)
	for name := range properties {
		p, _ := properties[name].(map[string]any)
		if f := ShapeOf(p); f != nil {
			s.fields[name] = f
		}
	}

	for _, name := range []string{"additionalProperties", "items"} {
		if values, ok := schema[name].(map[string]any); ok {
			s.values = ShapeOf(values)
		}
	}

	if len(s.fields) == 0 && s.values == nil {
		return nil
	}

	return s
}

// exact is the Shape of values in which numbers that are doubles are float64, and
// others int64.
var exact = func() *Shape { //nolint:gochecknoglobals // It is a constant.
	s := &Shape{double: true}
	s.values = s

	return s
}()

func (s *Shape) isDouble() bool {
	return s != nil && s.double
}

// below returns the Shape of the items of a list, and of fields that are not known.
func (s *Shape) below() *Shape {
	if s == nil {
		return nil
	}

	return s.values
}

func (s *Shape) field(name string) *Shape {
	if s != nil {
		if f, ok := s.fields[name]; ok {
			return f
		}
	}

	return s.below()
}
