package observed

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// IsLegacy is true for a legacy XR: Crossplane's fields are in its spec, and not in spec.crossplane. Only legacy XRs
// have connection details of their own.
func IsLegacy(xr map[string]any) bool {
	spec, _ := xr["spec"].(map[string]any)
	namespace := manifest.Namespace(xr)

	if _, modern := spec["crossplane"]; modern || namespace != "" {
		return false
	}

	for _, name := range manifest.LegacySpec {
		if _, ok := spec[name]; ok {
			return true
		}
	}

	return false
}

// ViewRun returns an observed AnsibleRun as expressions see it. The whole run as a value has no status and no reported
// fields, which expressions can read by name only: content with a whole run in a variable must not run again after each
// run of the other one.
func ViewRun(o map[string]any) expression.Partial {
	o = withheld(o)
	v := map[string]any{"ready": ansiblerun.IsReady(o), "metadata": viewMetadata(o)}

	for _, f := range []string{"spec", "status"} {
		if x, ok := o[f]; ok {
			v[f] = x
		}
	}

	at, _ := manifest.Nested(o, "status", "atProvider").(map[string]any)

	for _, f := range []string{"outputs", "lastRun", "lastApply", "drift", "content"} {
		if x, ok := at[f]; ok {
			v[f] = x
		}
	}

	v["reported"] = viewReported(o, at)

	return partial(v, "metadata", "spec", "outputs")
}

// viewReported returns the status that content has reported for the XR: the outputs, replaced by fields that the
// content has set in the status, and the conditions of the content. It is Unknown if one of the parts is.
func viewReported(o, at map[string]any) any {
	reported := map[string]any{}

	for _, f := range []string{"outputs", "reported"} {
		if unknown, ok := at[f].(expression.Unknown); ok {
			return unknown
		}

		fields, _ := at[f].(map[string]any)
		maps.Copy(reported, fields)
	}

	delete(reported, "conditions")

	var conditions []any

	all, _ := manifest.Nested(o, "status", "conditions").([]any)
	for _, c := range all {
		c, _ := c.(map[string]any)
		typ := manifest.Text(c, "type")

		// Conditions of the function are left out: content may report them, but only the function sets them.
		if !common.IsOwn(xpv2.Condition{Type: xpv2.ConditionType(typ)}) && !plan.IsReservedCondition(typ) {
			conditions = append(conditions, manifest.Pick(c, "type", "status", "reason", "message"))
		}
	}

	if len(conditions) > 0 {
		reported["conditions"] = conditions
	}

	return reported
}

// ViewXR returns the XR as expressions see it. The whole XR as a value has no status, since each report would change
// the inputs of runs.
func ViewXR(o map[string]any) expression.Partial {
	v := map[string]any{"metadata": viewMetadata(o)}

	for _, f := range []string{"apiVersion", "kind"} {
		if x, ok := o[f]; ok {
			v[f] = x
		}
	}

	own := map[string][]string{"spec": {"crossplane"}, "status": manifest.ReservedStatus[:]}
	if IsLegacy(o) {
		own = map[string][]string{"spec": manifest.LegacySpec[:], "status": manifest.LegacyStatus[:]}
	}

	for f, own := range own {
		if x, ok := o[f].(map[string]any); ok {
			v[f] = Without(x, own...)
		}
	}

	return partial(v, "apiVersion", "kind", "metadata", "spec")
}

// viewMetadata returns the metadata of an object as expressions see it. The whole metadata as a value has no fields
// that the API server maintains, such as the generation.
func viewMetadata(o map[string]any) expression.Partial {
	m, _ := o["metadata"].(map[string]any)
	m = maps.Clone(m)
	delete(m, ansiblerun.FieldManaged)

	if a, ok := m["annotations"].(map[string]any); ok {
		m["annotations"] = Without(a, corev1.LastAppliedConfigAnnotation)
	}

	return partial(m, "name", "namespace", "uid", "labels", "annotations")
}

// partial returns an object of which the whole as a value has only the named fields.
func partial(fields map[string]any, names ...string) expression.Partial {
	return expression.Partial{Fields: fields, Whole: manifest.Pick(fields, names...)}
}

// Without returns an object of which the whole as a value does not have the named fields.
func Without(fields map[string]any, names ...string) expression.Partial {
	whole := maps.Clone(fields)
	for _, name := range names {
		delete(whole, name)
	}

	return expression.Partial{Fields: fields, Whole: whole}
}

// withheld returns an AnsibleRun with withheld outputs and reported fields as Unknown. If they were missing instead,
// expressions would use their defaults, and could remove something. Another object is returned as it is.
func withheld(o map[string]any) map[string]any {
	outputs, reported := ansiblerun.Withheld(o)
	if len(outputs)+len(reported) == 0 {
		return o
	}

	at := map[string]any{}

	for of, all := range map[string]map[string]string{"outputs": outputs, "reported": reported} {
		fields := map[string]any{}

		for name, why := range all {
			at[of], fields[name] = fields, expression.Unknown(why)
		}

		// An empty name stands for fields with withheld names, so any missing field may be withheld.
		if why, ok := all[""]; ok {
			at[of] = expression.Unknown(why)
		}
	}

	return manifest.Overlay(o, map[string]any{"status": map[string]any{"atProvider": at}})
}

// ViewObject returns an object as expressions see it.
func ViewObject(o map[string]any) map[string]any {
	o = maps.Clone(withheld(o))
	o["metadata"] = viewMetadata(o)

	return o
}
