package ansiblerun

import (
	"encoding/json"
	"maps"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// managerComposed is the prefix of the field managers with which core applies composed resources.
const managerComposed = "apiextensions.crossplane.io/composed/"

// FieldManaged is the name of the field metadata.managedFields.
const FieldManaged = "managedFields"

// Applied returns the part of an AnsibleRun that core has applied, by its managed fields: API version, kind, labels,
// annotations and spec. spec.forProvider is always whole, with the fields of other managers, because an apply replaces
// it as a whole. managed is the AnsibleRun as a protobuf message, since o has no managed fields. The result is nil when
// the managed fields record no apply by core.
func Applied(o map[string]any, managed *structpb.Struct) map[string]any {
	spec, _ := o["spec"].(map[string]any)
	metadata, _ := o["metadata"].(map[string]any)

	rest := maps.Clone(spec)
	delete(rest, "forProvider")

	from := map[string]any{"metadata": manifest.Pick(metadata, "labels", "annotations"), "spec": rest}

	var applied map[string]any

	fields := managed.GetFields()["metadata"].GetStructValue().GetFields()[FieldManaged]
	for _, e := range fields.GetListValue().GetValues() {
		entry := e.GetStructValue().GetFields()
		if entry["operation"].GetStringValue() != "Apply" || entry["subresource"].GetStringValue() != "" ||
			!strings.HasPrefix(entry["manager"].GetStringValue(), managerComposed) {
			continue
		}

		if applied == nil {
			applied = map[string]any{
				"apiVersion": o["apiVersion"], "kind": o["kind"], "metadata": map[string]any{},
				"spec": manifest.Pick(spec, "forProvider"),
			}
		}

		extract(applied, from, entry["fieldsV1"].GetStructValue())
	}

	return applied
}

// Again returns the object that leaves an observed AnsibleRun unchanged when core applies it: the applied part or, if
// that is unknown (nil), the spec and the OwnedAnnotations.
func Again(o, applied map[string]any) map[string]any {
	if applied != nil {
		return applied
	}

	return map[string]any{
		"apiVersion": o["apiVersion"], "kind": o["kind"], "spec": o["spec"],
		"metadata": map[string]any{"annotations": ownAnnotations(o)},
	}
}

// extract copies the fields in a FieldsV1 set from one object into another. All lists in the spec of an AnsibleRun are
// atomic, so the set has only members of objects. An object for which the set has no members is copied as an empty one.
func extract(into, from map[string]any, set *structpb.Struct) {
	for k, below := range set.GetFields() {
		name, isField := strings.CutPrefix(k, "f:")

		member, ok := from[name]
		if !isField || !ok {
			continue
		}

		object, ok := member.(map[string]any)
		if !ok {
			into[name] = member
			continue
		}

		under, ok := into[name].(map[string]any)
		if !ok {
			under = make(map[string]any, len(object))
			into[name] = under
		}

		extract(under, object, below.GetStructValue())
	}
}

// IsApplied is true when core has applied an AnsibleRun as it is rendered now. Additional labels and annotations make
// no difference, since later steps of the pipeline may add them, unless they are OwnedAnnotations. An additional field
// of the spec is a difference, since an earlier rendering may have had it.
func IsApplied(observed, applied, rendered map[string]any) bool {
	if applied == nil {
		return manifest.Within(rendered, observed)
	}

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

	return IsSpecApplied(observed, applied, rendered)
}

// IsSpecApplied is true when core has applied the spec of an AnsibleRun as it is rendered now.
func IsSpecApplied(observed, applied, rendered map[string]any) bool {
	if applied == nil {
		return manifest.Within(rendered["spec"], observed["spec"])
	}

	return manifest.Equal(defaulted(applied["spec"]), defaulted(rendered["spec"]))
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

// Stored returns parameters of an AnsibleRun as the provider writes them back: 20m becomes 20m0s, and empty fields are
// left out. In any other form, the rendered parameters would differ from the observed ones.
func Stored(parameters map[string]any) map[string]any {
	typed, out := common.AnsibleRunParameters{}, map[string]any{}

	b, err := json.Marshal(parameters)
	if err == nil {
		err = json.Unmarshal(b, &typed)
	}

	if err == nil {
		b, err = json.Marshal(typed)
	}

	// Parameters that do not fit are reported when the AnsibleRun is validated.
	if err != nil || json.Unmarshal(b, &out) != nil {
		return maps.Clone(parameters)
	}

	return out
}
