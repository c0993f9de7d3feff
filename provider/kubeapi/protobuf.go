package kubeapi

import (
	"bytes"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// typeProtobuf is the format that typed clients in Go write in, such as kubectl create and helm: a prefix, then
// a message around that of the object.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
const typeProtobuf = runtime.ContentTypeProtobuf

// Fields of messages. All objects have their metadata in the same one, and a map has entries of two fields.
// Source: generated.proto of k8s.io/apimachinery.
const (
	fieldMetadata = 1

	fieldLabels          = 11
	fieldAnnotations     = 12
	fieldOwnerReferences = 13

	fieldKey   = 1
	fieldValue = 2
)

// prefixProtobuf of all objects.
func prefixProtobuf() []byte { return []byte("k8s\x00") }

// readProtobuf reads the message around an object, and the metadata of the object.
func readProtobuf(body []byte) (*runtime.Unknown, *metav1.PartialObjectMetadata, error) {
	text, ok := bytes.CutPrefix(body, prefixProtobuf())
	if !ok {
		return nil, nil, errors.New("it is no object of Kubernetes in Protobuf")
	}

	around, o := &runtime.Unknown{}, &metav1.PartialObjectMetadata{}
	if err := around.Unmarshal(text); err != nil {
		return nil, nil, err
	}

	if lengthOf(fieldMetadata, around.Raw) > maxDecoded {
		return nil, nil, errLongMetadata
	}

	// A message skips the fields that it does not have, those of the spec for example.
	if err := o.Unmarshal(around.Raw); err != nil {
		return nil, nil, err
	}

	o.SetGroupVersionKind(around.GroupVersionKind())

	return around, o, nil
}

// lengthOf a field of a message, each time that it is there, in bytes.
func lengthOf(field protowire.Number, message []byte) int {
	length := 0

	for len(message) > 0 {
		number, _, n := protowire.ConsumeField(message)
		if n < 0 {
			break // The message cannot be read.
		}

		if number == field {
			length += n
		}

		message = message[n:]
	}

	return length
}

// injectProtobuf injects marks as inject does. A message is read as the one before it in the same field, merged with
// it: what is appended to an object adds to it, whatever kind it is.
func injectProtobuf(body []byte, marks marks) ([]byte, error) {
	around, o, err := readProtobuf(body)

	switch {
	case errors.Is(err, errLongMetadata):
		return nil, err
	case err != nil:
		return body, nil //nolint:nilerr // The API server says what is wrong with it.
	}

	var meta []byte

	for _, l := range []struct {
		field  protowire.Number
		values map[string]string
	}{{fieldLabels, marks.labels}, {fieldAnnotations, marks.annotations}} {
		for key, value := range l.values {
			entry := appendField(appendField(nil, fieldKey, []byte(key)), fieldValue, []byte(value))
			meta = appendField(meta, l.field, entry)
		}
	}

	if r := marks.owner; r != nil &&
		!slices.ContainsFunc(o.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == r.UID }) {
		text, _ := r.Marshal() // It fails for no message that fits into memory.
		meta = appendField(meta, fieldOwnerReferences, text)
	}

	around.Raw = appendField(around.Raw, fieldMetadata, meta)

	text, err := around.Marshal()
	if err != nil {
		return body, nil //nolint:nilerr // As above.
	}

	return append(prefixProtobuf(), text...), nil
}

// appendField appends a field to a message.
func appendField(to []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), value)
}
