package main

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"
)

// digest of structs: that of others is another one.
func digest(structs ...*structpb.Struct) [sha256.Size]byte {
	const usual = 4 << 10

	b := make([]byte, 0, usual)
	for _, s := range structs {
		b = appendStruct(b, s)
	}

	return sha256.Sum256(b)
}

// appendStruct appends a struct to a text, with its fields in order. It is several times
// as fast as to marshal it that way, and no two structs have the same text.
func appendStruct(b []byte, s *structpb.Struct) []byte {
	fields := s.GetFields()
	names := slices.AppendSeq(make([]string, 0, len(fields)), maps.Keys(fields))
	slices.Sort(names)

	b = binary.AppendUvarint(append(b, '{'), uint64(len(names)))

	for _, name := range names {
		b = appendValue(appendText(b, name), fields[name])
	}

	return b
}

func appendValue(b []byte, v *structpb.Value) []byte {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StructValue:
		return appendStruct(b, k.StructValue)
	case *structpb.Value_ListValue:
		items := k.ListValue.GetValues()
		b = binary.AppendUvarint(append(b, '['), uint64(len(items)))

		for _, item := range items {
			b = appendValue(b, item)
		}

		return b
	case *structpb.Value_StringValue:
		return appendText(append(b, '"'), k.StringValue)
	case *structpb.Value_NumberValue:
		return binary.BigEndian.AppendUint64(append(b, '#'), math.Float64bits(k.NumberValue))
	case *structpb.Value_BoolValue:
		if k.BoolValue {
			return append(b, 't')
		}

		return append(b, 'f')
	}

	return append(b, '0')
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
