package ansiblerun

import (
	"cmp"
	"encoding/json"
	"maps"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// managerComposed is the start of the names of the field managers with which core applies
// composed resources.
const managerComposed = "apiextensions.crossplane.io/composed/"

// FieldManaged is the field of metadata in which the API server records field managers.
const FieldManaged = "managedFields"

// Owned returns the fields of an observed object that core has applied, as a FieldsV1 set;
// nil when the managed fields of the object have no apply by core.
func Owned(o *structpb.Struct) *structpb.Struct {
	var owned *structpb.Struct

	fields := o.GetFields()["metadata"].GetStructValue().GetFields()[FieldManaged]
	for _, e := range fields.GetListValue().GetValues() {
		entry := e.GetStructValue().GetFields()
		if entry["operation"].GetStringValue() == "Apply" && entry["subresource"].GetStringValue() == "" &&
			strings.HasPrefix(entry["manager"].GetStringValue(), managerComposed) {
			owned = union(owned, entry["fieldsV1"].GetStructValue())
		}
	}

	return owned
}

// union of two FieldsV1 sets.
func union(a, b *structpb.Struct) *structpb.Struct {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}

	fields := maps.Clone(a.GetFields())
	for k, v := range b.GetFields() {
		fields[k] = structpb.NewStructValue(union(fields[k].GetStructValue(), v.GetStructValue()))
	}

	return &structpb.Struct{Fields: fields}
}

// Applied returns what core has to apply again in order to change nothing of an observed AnsibleRun: API version,
// kind, and the labels, annotations and spec of a set that Owned returned. It has all of spec.forProvider, also what
// other managers have applied, because an apply replaces that as a whole. If the set is nil, it has the spec and the
// OwnedAnnotations.
func Applied(o map[string]any, set *structpb.Struct) map[string]any {
	owned, _ := extract(o, set).(map[string]any)
	if set == nil {
		owned = map[string]any{"spec": o["spec"], "metadata": map[string]any{"annotations": ownAnnotations(o)}}
	}

	if p := manifest.Nested(o, "spec", "forProvider"); p != nil && set != nil {
		spec, _ := owned["spec"].(map[string]any)
		if spec == nil {
			spec = map[string]any{}
		}

		owned["spec"], spec["forProvider"] = spec, p
	}

	metadata := map[string]any{}

	for _, name := range []string{"labels", "annotations"} {
		if m := manifest.Nested(owned, "metadata", name); m != nil {
			metadata[name] = m
		}
	}

	out := map[string]any{"apiVersion": o["apiVersion"], "kind": o["kind"], "metadata": metadata}
	if spec, ok := owned["spec"]; ok {
		out["spec"] = spec
	}

	return out
}

// extract returns the fields of a value that a FieldsV1 set names. The set names members
// of objects only, since all lists in the spec of an AnsibleRun are atomic. Of an object
// for which the set names no members, only the empty object is returned.
func extract(v any, set *structpb.Struct) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}

	out := make(map[string]any, len(set.GetFields()))

	for k, below := range set.GetFields() {
		name, ok := strings.CutPrefix(k, "f:")
		if !ok {
			continue
		}

		if member, ok := m[name]; ok {
			out[name] = extract(member, below.GetStructValue())
		}
	}

	return out
}

// IsApplied is true when an observed AnsibleRun is as it is rendered now. Additional labels
// and annotations may come from later steps of the pipeline, unless they are
// OwnedAnnotations. An additional field of the spec may be one that was rendered before,
// and counts as a difference.
func IsApplied(observed map[string]any, owned *structpb.Struct, rendered map[string]any) bool {
	if owned == nil {
		return manifest.Within(rendered, observed)
	}

	applied := Applied(observed, owned)

	for _, name := range OwnedAnnotations {
		if manifest.Annotation(applied, name) != manifest.Annotation(rendered, name) {
			return false
		}
	}

	for _, name := range []string{"labels", "annotations"} {
		if !manifest.Within(manifest.Nested(rendered, "metadata", name), manifest.Nested(applied, "metadata", name)) {
			return false
		}
	}

	return IsSpecApplied(observed, owned, rendered)
}

// IsSpecApplied is true when an observed AnsibleRun has the spec that is rendered now.
func IsSpecApplied(observed map[string]any, owned *structpb.Struct, rendered map[string]any) bool {
	if owned == nil {
		return manifest.Within(rendered["spec"], observed["spec"])
	}

	return manifest.Equal(defaulted(Applied(observed, owned)["spec"]), defaulted(rendered["spec"]))
}

// defaulted returns a spec with the defaults that the API server sets in spec.forProvider.
func defaulted(spec any) any {
	s, _ := spec.(map[string]any)
	if p, _ := s["forProvider"].(map[string]any); p["stateVariable"] == nil {
		return spec
	}

	return manifest.Overlay(map[string]any{"forProvider": map[string]any{
		"stateVariable": map[string]any{"present": string(common.StatePresent), "absent": string(common.StateAbsent)},
	}}, s)
}

// Stored returns parameters as they are once the provider has written the AnsibleRun:
// 20m is 20m0s then, and what is empty is not there. Rendered in another way they would
// look changed.
func Stored(parameters map[string]any) map[string]any {
	typed, out := common.AnsibleRunParameters{}, map[string]any{}

	b, err := json.Marshal(parameters)
	if err == nil {
		err = json.Unmarshal(b, &typed)
	}

	if err == nil {
		b, err = json.Marshal(typed)
	}

	// What is no parameter of an AnsibleRun is a mistake already.
	if err != nil || json.Unmarshal(b, &out) != nil {
		return maps.Clone(parameters)
	}

	return out
}
