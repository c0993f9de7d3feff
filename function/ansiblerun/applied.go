package ansiblerun

import (
	"cmp"
	"maps"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// managerComposed is how the names start under which core applies composed
// resources.
const managerComposed = "apiextensions.crossplane.io/composed/"

// FieldManaged is the field of metadata where the API server notes who owns what.
const FieldManaged = "managedFields"

// Owned returns the FieldsV1 set of what core's own apply owns of an observed object;
// nil where managed fields do not say.
func Owned(o *structpb.Struct) *structpb.Struct {
	var owned *structpb.Struct

	fields := o.GetFields()["metadata"].GetStructValue().GetFields()[FieldManaged]
	for _, e := range fields.GetListValue().GetValues() {
		entry := e.GetStructValue().GetFields()
		if entry["operation"].GetStringValue() == "Apply" && entry["subresource"].GetStringValue() == "" && strings.HasPrefix(entry["manager"].GetStringValue(), managerComposed) {
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

// Applied returns what core's own apply owns of an observed AnsibleRun: API
// version, kind, labels, annotations and spec. It is what core would have to be
// given again to change nothing, which takes all of spec.forProvider: an apply
// replaces that, whoever has written it. Where it is not known what is owned, it is
// the spec and our own annotations.
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

// extract from a value the fields of a FieldsV1 set. Sets name the members of
// objects, but only objects: all lists of an AnsibleRun's spec are atomic. An
// object without named members is owned as such, not with members of others.
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

// IsApplied is true when an observed AnsibleRun is what is rendered now. Later
// steps of the pipeline may have added labels and annotations to it, but for
// those that are ours alone. A field that was added to the spec, however, might
// just as well be one that is not rendered any more.
func IsApplied(observed map[string]any, owned *structpb.Struct, rendered map[string]any) bool {
	if owned == nil {
		return manifest.Within(rendered, observed)
	}

	for _, field := range []string{"labels", "annotations"} {
		was, is := manifest.Nested(observed, "metadata", field), manifest.Nested(rendered, "metadata", field)

		if !isAdded(was, below(below(owned, "metadata"), field), is) {
			return false
		}
	}

	return isSame(defaulted(observed["spec"]), below(owned, "spec"), defaulted(rendered["spec"]))
}

// isAdded is true when what is owned of observed labels or annotations is what is
// rendered, with nothing added to it that is ours alone.
func isAdded(observed any, owned *structpb.Struct, rendered any) bool {
	was, _ := observed.(map[string]any)
	is, _ := rendered.(map[string]any)

	for _, name := range OwnedAnnotations {
		if _, ok := owned.GetFields()["f:"+name]; ok && was[name] != nil && is[name] == nil {
			return false
		}
	}

	for name, v := range is {
		if _, ok := owned.GetFields()["f:"+name]; !manifest.Equal(v, nil) && (!ok || !manifest.Equal(v, was[name])) {
			return false
		}
	}

	return true
}

// isSame is true when what is owned of an observed value, by a FieldsV1 set, is equal
// to what is rendered. All of forProvider is.
func isSame(observed any, owned *structpb.Struct, rendered any) bool {
	was, ok := observed.(map[string]any)
	if !ok {
		return manifest.Equal(observed, rendered)
	}

	is, ok := rendered.(map[string]any)
	if !ok && rendered != nil {
		return false
	}

	for name, v := range was {
		set, ok := owned.GetFields()["f:"+name]

		switch {
		case name == "forProvider":
			ok = manifest.Equal(v, is[name])
		case ok:
			ok = isSame(v, set.GetStructValue(), is[name])
		default:
			ok = manifest.Equal(is[name], nil)
		}

		if !ok {
			return false
		}
	}

	for name, v := range is {
		if _, ok := was[name]; !ok && !manifest.Equal(v, nil) {
			return false
		}
	}

	return true
}

// below returns the set of a field.
func below(set *structpb.Struct, name string) *structpb.Struct {
	return set.GetFields()["f:"+name].GetStructValue()
}

// defaulted returns a spec with the defaults that the API server gives to what is in
// spec.forProvider.
func defaulted(spec any) any {
	s, _ := spec.(map[string]any)
	if p, _ := s["forProvider"].(map[string]any); p["stateVariable"] == nil {
		return spec
	}

	return manifest.Overlay(map[string]any{"forProvider": map[string]any{
		"stateVariable": map[string]any{"present": string(common.StatePresent), "absent": string(common.StateAbsent)},
	}}, s)
}
