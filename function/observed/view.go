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

// IsLegacy is true for XRs that publish connection details themselves: their
// spec has the fields that XRs of Crossplane v2 have below spec.crossplane.
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

// ViewRun returns what expressions see of an observed run. Its status and what it reports can be named, but are not
// part of the run as a whole: content with a run as a whole in a variable must not run again each time that the other
// run has run.
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

// viewReported returns what content has reported for the status of the XR: its outputs and,
// over them, what it has set of the status itself; and its conditions. It is there as soon as
// the run is. It is not known where one of its parts is not.
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

// ViewXR returns what expressions see of the XR. The XR as a whole is what its author has
// written. What Crossplane and this function report in it is not part of the whole, since
// each report would change the inputs of runs.
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

// viewMetadata returns what expressions see of the metadata of an object. Fields that the
// API server maintains, such as the generation, are not part of the whole.
func viewMetadata(o map[string]any) expression.Partial {
	m, _ := o["metadata"].(map[string]any)
	m = maps.Clone(m)
	delete(m, ansiblerun.FieldManaged)

	if a, ok := m["annotations"].(map[string]any); ok {
		m["annotations"] = Without(a, corev1.LastAppliedConfigAnnotation)
	}

	return partial(m, "name", "namespace", "uid", "labels", "annotations")
}

// partial returns an object that has only the named fields when it is taken as a whole.
func partial(fields map[string]any, names ...string) expression.Partial {
	return expression.Partial{Fields: fields, Whole: manifest.Pick(fields, names...)}
}

// Without returns an object that lacks the named fields when it is taken as a whole.
func Without(fields map[string]any, names ...string) expression.Partial {
	whole := maps.Clone(fields)
	for _, name := range names {
		delete(whole, name)
	}

	return expression.Partial{Fields: fields, Whole: whole}
}

// withheld returns an AnsibleRun in which the outputs that the provider has withheld are there, and unknown: an
// expression that found nothing in their place could remove something. Any other object stays as it is.
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

		// Any one that is not there may be the one without a name.
		if why, ok := all[""]; ok {
			at[of] = expression.Unknown(why)
		}
	}

	return manifest.Overlay(o, map[string]any{"status": map[string]any{"atProvider": at}})
}

// ViewObject returns what expressions see of an object.
func ViewObject(o map[string]any) map[string]any {
	o = maps.Clone(withheld(o))
	o["metadata"] = viewMetadata(o)

	return o
}
