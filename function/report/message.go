package report

import (
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane/function-sdk-go/errors"
)

// Protobuf values together with the parts that they point to, in one allocation each.
type (
	text struct {
		structpb.Value

		kind structpb.Value_StringValue
	}
	list struct {
		structpb.Value

		kind structpb.Value_ListValue
		list structpb.ListValue
	}
	object struct {
		structpb.Value

		kind   structpb.Value_StructValue
		object structpb.Struct
	}
)

// message returns a JSON object as a protobuf message. It does what structpb.NewStruct does
// with half of its allocations, since most of a response consists of these messages. The
// error is about a value that is not JSON.
func message(o map[string]any) (*structpb.Struct, error) {
	s := &structpb.Struct{}
	return s, fill(s, o)
}

// fill a message with the fields of a JSON object.
func fill(s *structpb.Struct, o map[string]any) error {
	s.Fields = make(map[string]*structpb.Value, len(o))

	for name, field := range o {
		if !utf8.ValidString(name) {
			return errors.Errorf("%q is not UTF-8 text", name)
		}

		v, err := value(field)
		if err != nil {
			return err
		}

		s.Fields[name] = v
	}

	return nil
}

// value returns a JSON value as a protobuf message.
func value(v any) (*structpb.Value, error) {
	switch v := v.(type) {
	case string:
		if !utf8.ValidString(v) {
			return nil, errors.Errorf("%q is not UTF-8 text", v)
		}

		t := &text{kind: structpb.Value_StringValue{StringValue: v}}
		t.Kind = &t.kind

		return &t.Value, nil
	case []any:
		l := &list{}
		l.Kind, l.kind.ListValue = &l.kind, &l.list
		l.list.Values = make([]*structpb.Value, len(v))

		for i := range v {
			item, err := value(v[i])
			if err != nil {
				return nil, err
			}

			l.list.Values[i] = item
		}

		return &l.Value, nil
	case map[string]any:
		o := &object{}
		o.Kind, o.kind.StructValue = &o.kind, &o.object

		return &o.Value, fill(&o.object, v)
	}

	return structpb.NewValue(v)
}
