package main

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// Structs of one digest are equal, and what is read twice has one digest.
func FuzzDigest(f *testing.F) {
	for _, s := range [][2]string{
		{`{"a": [1, "", {}, true], "b": null}`, `{"b": null, "a": [1, "", {}, true]}`},
		{`{"a": {"b": "c"}}`, `{"a": {}, "b": "c"}`},
		{`{"a": "bc"}`, `{"ab": "c"}`},
		{`{"a": ["b", "c"]}`, `{"a": [["b"], "c"]}`},
		{`{"a": null}`, `{"a": false}`},
		{`{"a": 1}`, `{"a": "1"}`},
	} {
		f.Add(s[0], s[1])
	}

	f.Fuzz(func(t *testing.T, x, y string) {
		a, again, b := &structpb.Struct{}, &structpb.Struct{}, &structpb.Struct{}
		if a.UnmarshalJSON([]byte(x)) != nil || again.UnmarshalJSON([]byte(x)) != nil || b.UnmarshalJSON([]byte(y)) != nil {
			return
		}

		if digest(a) != digest(again) {
			t.Errorf("%v has two digests", a)
		}

		if digest(a) == digest(b) && !proto.Equal(a, b) {
			t.Errorf("%v and %v have one digest", a, b)
		}
	})
}
