package main

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// perValue is the most that a value of a message takes beside its own texts: the tags
// and the lengths of an entry of a map, its key and its value, in bytes.
const perValue = 32

// sizeOf a response as a message, in bytes. Where it can be at most maxResponse, it
// may be less than that: to know it takes a tenth of what the runs took to render.
func sizeOf(rsp *fnv1.RunFunctionResponse) int {
	resources := rsp.GetDesired().GetResources()
	if len(resources) == 0 {
		return proto.Size(rsp)
	}

	rsp.Desired.Resources = nil
	size := proto.Size(rsp)
	rsp.Desired.Resources = resources

	for name, r := range resources {
		size += perValue + len(name) + structSize(r.GetResource())
		for key, b := range r.GetConnectionDetails() {
			size += perValue + len(key) + len(b)
		}
	}

	if size <= maxResponse {
		return size
	}

	return proto.Size(rsp)
}

// structSize is what a struct takes at most.
func structSize(s *structpb.Struct) int {
	size := perValue
	for name, v := range s.GetFields() {
		size += len(name) + valueSize(v)
	}

	return size
}

func valueSize(v *structpb.Value) int {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StructValue:
		return perValue + structSize(k.StructValue)
	case *structpb.Value_ListValue:
		size := perValue
		for _, item := range k.ListValue.GetValues() {
			size += valueSize(item)
		}

		return size
	case *structpb.Value_StringValue:
		return perValue + len(k.StringValue)
	}

	return perValue
}
