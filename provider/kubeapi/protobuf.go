package kubeapi

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime"
)

// typeProtobuf is the format of typed clients in Go, such as kubectl create and helm: a prefix, then a message around
// that of the object.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
const (
	typeProtobuf   = runtime.ContentTypeProtobuf
	prefixProtobuf = "k8s\x00"
)

// Fields of messages. All objects have their metadata in the same field, and an entry of a map has two fields. Source:
// generated.proto of k8s.io/apimachinery.
const (
	fieldMetadata = 1

	fieldLabels          = 11
	fieldAnnotations     = 12
	fieldOwnerReferences = 13

	fieldKey   = 1
	fieldValue = 2
)

// injectProtobuf adds marks to an object as inject does. A decoder merges repeated messages of a field: metadata that
// is appended to an object of any kind extends its metadata. The API server drops duplicate owners. A body that cannot
// be decoded passes unchanged.
func injectProtobuf(body []byte, marks marks) []byte {
	text, ok := bytes.CutPrefix(body, []byte(prefixProtobuf))

	around := &runtime.Unknown{}
	if !ok || around.Unmarshal(text) != nil {
		return body
	}

	var meta []byte

	for field, values := range map[protowire.Number]map[string]string{
		fieldLabels: marks.labels, fieldAnnotations: marks.annotations,
	} {
		for key, value := range values {
			entry := appendField(appendField(nil, fieldKey, []byte(key)), fieldValue, []byte(value))
			meta = appendField(meta, field, entry)
		}
	}

	if marks.owner != nil {
		owner, _ := marks.owner.Marshal() // It cannot fail.
		meta = appendField(meta, fieldOwnerReferences, owner)
	}

	around.Raw = appendField(around.Raw, fieldMetadata, meta)

	text, err := around.Marshal()
	if err != nil {
		return body
	}

	return append([]byte(prefixProtobuf), text...)
}

// appendField appends a field to a message.
func appendField(to []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), value)
}
