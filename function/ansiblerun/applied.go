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
	var applied map[string]any

	fields := managed.GetFields()["metadata"].GetStructValue().GetFields()[FieldManaged]
	for _, e := range fields.GetListValue().GetValues() {
		entry := e.GetStructValue().GetFields()
		if entry["operation"].GetStringValue() == "Apply" && entry["subresource"].GetStringValue() == "" &&
			strings.HasPrefix(entry["manager"].GetStringValue(), managerComposed) {
			owned, _ := extract(o, entry["fieldsV1"].GetStructValue()).(map[string]any)
			applied = manifest.Overlay(applied, owned)
		}
	}

	if applied == nil {
		return nil
	}

	metadata, _ := applied["metadata"].(map[string]any)
	spec, _ := o["spec"].(map[string]any)

	return manifest.Overlay(manifest.Pick(applied, "spec"), map[string]any{
		"apiVersion": o["apiVersion"], "kind": o["kind"], "spec": manifest.Pick(spec, "forProvider"),
		"metadata": manifest.Pick(metadata, "labels", "annotations"),
	})
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
