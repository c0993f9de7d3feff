package compile

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/fields"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// object returns the AnsibleRun of a run.
func (c compiler) object(r input.Run, namespaced bool) plan.Object {
	c.runNamespace(r, namespaced)
	c.oneContent(r)
	c.allowed(r)
	c.metadata(r)

	cluster := !namespaced && r.Namespace == ""
	parameters := partOf(r, fields.ForProvider)
	setInventories(parameters, r)

	parts := map[fields.Part]map[string]any{
		fields.Labels: {}, fields.Annotations: c.annotations(r), fields.Spec: partOf(r, fields.Spec),
		fields.ForProvider: ansiblerun.Stored(parameters),
	}
	parts[fields.Spec]["providerConfigRef"] = c.configRef(r, cluster)

	for _, name := range manifest.SortedKeys(r.Object) {
		if into := parts[fields.Of(name).Part]; into != nil {
			c.compute(r, name, into, namespaced)
		}
	}

	if of := c.inventory(r); of != nil {
		parts[fields.ForProvider]["inventoryInline"] = of
	}

	metadata := map[string]any{"labels": parts[fields.Labels], "annotations": parts[fields.Annotations]}
	if r.Namespace != "" {
		metadata["namespace"] = r.Namespace
	}

	apiVersion := ansiblerun.APIVersionNamespaced
	if cluster {
		apiVersion = ansiblerun.APIVersionCluster
	}

	return plan.Object{
		"apiVersion": apiVersion, "kind": common.KindAnsibleRun, "metadata": metadata,
		"spec": manifest.Overlay(parts[fields.Spec], map[string]any{"forProvider": parts[fields.ForProvider]}),
	}
}

// compute adds the computed values of a field of a run to its part of the AnsibleRun.
func (c compiler) compute(r input.Run, name string, into map[string]any, namespaced bool) {
	f, path, v := fields.Of(name), field.NewPath(name), r.Object[name]

	switch {
	case f.Kind == fields.Referring:
		into[name] = fields.Replace(path, name, into[name], func(t fields.Text) any { return c.text(r, f, t, namespaced) })
	case f.Kind == fields.Computed:
		t := c.compile(path, v)
		for _, k := range manifest.SortedKeys(t.Fields) {
			c.typed(r.Path.Child(name).Key(k), t.Fields[k], expression.String)
			into[k] = &plan.Value{Template: t.Fields[k], As: func(v any) (any, error) { return v, f.Check(v) }}
		}
	case f.Computes(v):
		is := []expression.Type{input.Type(name)}
		if is[0] == expression.Integer {
			is = append(is, expression.Number)
		}

		t := c.compile(path, v, is...)
		for i, item := range t.Items {
			c.typed(r.Path.Child(name).Index(i), item, expression.String)
		}

		into[cmp.Or(f.Annotation, name)] = &plan.Value{Template: t, As: func(v any) (any, error) {
			check := f.Check
			if check == nil {
				check = func(v any) error { return input.Check(name, v) }
			}

			err := check(v)

			if f.Part == fields.ForProvider {
				v = ansiblerun.Stored(map[string]any{name: v})[name]
			}

			return v, err
		}}
	case f.Annotation != "":
		into[f.Annotation] = v
	}
}

// partOf returns the literal fields of a run for a part of the AnsibleRun.
func partOf(r input.Run, part fields.Part) map[string]any {
	all := maps.Clone(r.Object)
	maps.DeleteFunc(all, func(name string, v any) bool {
		f := fields.Of(name)
		return f.Part != part || f.Computes(v)
	})

	return all
}

// runNamespace reports mistakes in the namespace of a run.
func (c compiler) runNamespace(r input.Run, namespaced bool) {
	path := r.Path.Child("namespace")

	switch {
	case r.Namespace == "", strings.Contains(r.Namespace, "${"): // input.Read has reported an expression.
	case namespaced:
		c.add(field.Forbidden(path, "the runs of a namespaced XR are in its own namespace"))
	default:
		c.namespace(path, r.Namespace)
	}
}

// oneContent reports a run without exactly one field of content.
func (c compiler) oneContent(r input.Run) {
	var set []string

	for _, name := range ansiblerun.ContentFields {
		if _, ok := r.Object[name]; ok {
			set = append(set, name)
		}
	}

	all := strings.Join(ansiblerun.ContentFields[:len(ansiblerun.ContentFields)-1],
		", ") + " and " + ansiblerun.ContentFields[len(ansiblerun.ContentFields)-1]

	switch len(set) {
	case 0:
		c.add(field.Required(r.Path, "exactly one of "+all+" must be set, here or in defaults"))
	case 1:
	default:
		c.add(field.Forbidden(r.Path, "exactly one of "+all+" must be set, not "+strings.Join(set, " and ")))
	}
}

// allowed reports invalid patterns in allowed.
func (c compiler) allowed(r input.Run) {
	for _, name := range manifest.SortedKeys(r.Allowed) {
		for i, pattern := range r.Allowed[name] {
			if _, err := path.Match(pattern, ""); err != nil {
				c.add(field.Invalid(r.Path.Child("allowed").Key(name).Index(i), pattern,
					"is no pattern, such as v1.* or release/v?"))
			}
		}
	}
}

// configRef returns spec.providerConfigRef of a run. A cluster-scoped AnsibleRun has no kind in it, since it can only
// be ProviderConfig.
func (c compiler) configRef(r input.Run, cluster bool) map[string]any {
	ref := ptr.Deref(r.ProviderConfigRef, v1alpha1.ProviderConfigReference{})
	path, kind, name := r.Path.Child("providerConfigRef"), ref.Kind, cmp.Or(ref.Name, "default")

	if !strings.Contains(name, "${") && len(name) > validation.LabelValueMaxLength {
		c.add(field.TooLong(path.Child("name"), name, validation.LabelValueMaxLength))
	}

	if !cluster {
		return map[string]any{"kind": cmp.Or(kind, "ClusterProviderConfig"), "name": name}
	}

	if kind != "" && kind != "ProviderConfig" {
		c.add(field.Invalid(path.Child("kind"), kind, "a cluster-scoped run can only refer to a ProviderConfig"))
	}

	return map[string]any{"name": name}
}

// annotations returns the literal annotations that the function sets, and reports annotations of the run that only the
// function sets.
func (c compiler) annotations(r input.Run) map[string]any {
	written := map[string]string{ansiblerun.AnnotationDependsOn: "dependsOn", ansiblerun.AnnotationPrune: "prune"}
	for _, name := range fields.Names(func(f fields.Field) bool { return f.Annotation != "" }) {
		written[fields.Of(name).Annotation] = name
	}

	for _, own := range ansiblerun.OwnedAnnotations {
		if _, ok := r.Annotations[own]; ok {
			c.add(field.Forbidden(r.Path.Child("annotations").Key(own),
				"write the field "+written[own]+" of the run in its place"))
		}
	}

	if ptr.Deref(r.Prune, true) {
		return map[string]any{}
	}

	return map[string]any{ansiblerun.AnnotationPrune: ansiblerun.PruneNever}
}

// metadata reports literal labels and annotations that the API server would refuse, which would block the whole XR, and
// those that core or the function sets.
func (c compiler) metadata(r input.Run) {
	for _, of := range []struct {
		name   string
		values map[string]string
	}{{"labels", r.Labels}, {"annotations", r.Annotations}} {
		for _, k := range manifest.SortedKeys(of.values) {
			path, v := r.Path.Child(of.name).Key(k), of.values[k]

			switch {
			case strings.Contains(k, "${"):
				// Compilation reports an expression in a key.
			case k == ansiblerun.LabelComposite:
				c.add(field.Forbidden(path, "function-ansible sets this itself"))
			case slices.Contains(ansiblerun.CoreMetadata[:], k):
				c.add(field.Forbidden(path, "Crossplane sets this itself"))
			case len(validation.IsQualifiedName(k)) > 0:
				c.add(field.Invalid(path, k, "cannot be the name of a label or an annotation"))
			case of.name == "labels" && !strings.Contains(v, "${") && len(validation.IsValidLabelValue(v)) > 0:
				c.add(field.Invalid(path, v, "cannot be the value of a label"))
			}
		}
	}
}
