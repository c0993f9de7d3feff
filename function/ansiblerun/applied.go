package ansiblerun

import (
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

// Applied returns what core has applied of an AnsibleRun, which has its managed fields as a message only: API version,
// kind, and the labels, annotations and spec. It has all of spec.forProvider, also what other managers have applied,
// because an apply replaces that as a whole. It is nil when the managed fields have no apply by core.
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

// Again returns what core has to apply again in order to change nothing of an observed AnsibleRun: what it has applied,
// or the spec and the OwnedAnnotations if that is not known.
func Again(o, applied map[string]any) map[string]any {
	if applied != nil {
		return applied
	}

	return map[string]any{
		"apiVersion": o["apiVersion"], "kind": o["kind"], "spec": o["spec"],
		"metadata": map[string]any{"annotations": ownAnnotations(o)},
	}
}

// extract copies the fields of an object that a FieldsV1 set names into another one. The set names members of objects
// only, since all lists in the spec of an AnsibleRun are atomic. Of an object for which the set names no members, only
// the empty object is copied.
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

// IsApplied is true when an observed AnsibleRun is as it is rendered now, by what core has applied of it. Additional
// labels and annotations may come from later steps of the pipeline, unless they are OwnedAnnotations. An additional
// field of the spec may be one that was rendered before, and counts as a difference.
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

// IsSpecApplied is true when an observed AnsibleRun has the spec that is rendered now.
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
