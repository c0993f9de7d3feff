package compile

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/fields"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// object returns the AnsibleRun of a run, without what is computed.
func (c compiler) object(r input.Run, namespaced bool) plan.Object {
	c.runNamespace(r, namespaced)
	c.oneContent(r)
	c.allowed(r)
	c.metadata(r)

	cluster := !namespaced && r.Namespace == ""
	o := plan.Object{
		APIVersion:  ansiblerun.APIVersionNamespaced,
		Namespace:   r.Namespace,
		Annotations: c.annotations(r),
		Spec:        partOf(r, fields.Spec),
		Parameters:  partOf(r, fields.ForProvider),
		Settings:    map[string]*expression.Template{},
		Allowed:     r.Allowed,
	}

	if cluster {
		o.APIVersion = ansiblerun.APIVersionCluster
	}

	o.Spec["providerConfigRef"] = c.configRef(r, cluster)
	setInventories(o.Parameters, r)

	for _, name := range manifest.SortedKeys(r.Object) {
		f := fields.Of(name)
		if f.Part != fields.Metadata && (f.Kind != fields.Setting || !f.Computes(r.Object[name])) {
			continue
		}

		t := c.compile(field.NewPath(name), r.Object[name], f.Types...)
		for _, k := range manifest.SortedKeys(t.Fields()) {
			c.typed(r.Path.Child(name).Key(k), t.Fields()[k], expression.String)
		}

		for i, item := range t.Items() {
			c.typed(r.Path.Child(name).Index(i), item, expression.String)
		}

		o.Settings[name] = t
		delete(o.Spec, name)
		delete(o.Parameters, name)
	}

	o.Parameters = ansiblerun.Stored(o.Parameters)
	o.Names = c.names(r, namespaced)

	return o
}

// partOf an AnsibleRun that a run has, as it is written.
func partOf(r input.Run, part fields.Part) map[string]any {
	return manifest.Pick(r.Object, fields.Names(func(f fields.Field) bool { return f.Part == part })...)
}

// runNamespace reports mistakes in the namespace of a run.
func (c compiler) runNamespace(r input.Run, namespaced bool) {
	path := r.Path.Child("namespace")

	switch {
	case r.Namespace == "", strings.Contains(r.Namespace, "${"): // Reading has said it of an expression.
	case namespaced:
		c.add(field.Forbidden(path, "the runs of a namespaced XR are in its own namespace"))
	default:
		c.namespace(path, r.Namespace)
	}
}

// oneContent reports a run with no content, or with more than one.
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

// allowed reports patterns that allow nothing.
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

// configRef of a run. Cluster-scoped runs only know one kind, and do not say
// it.
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

// annotations of an AnsibleRun that fields of a run become.
func (c compiler) annotations(r input.Run) map[string]any {
	annotations := map[string]any{}
	written := map[string]string{ansiblerun.AnnotationDependsOn: "dependsOn", ansiblerun.AnnotationPrune: "prune"}
	settings := fields.Names(func(f fields.Field) bool { return f.Annotation != "" })

	for _, name := range settings {
		written[fields.Of(name).Annotation] = name
	}

	for _, own := range ansiblerun.OwnedAnnotations {
		if _, ok := r.Annotations[own]; ok {
			c.add(field.Forbidden(r.Path.Child("annotations").Key(own),
				"write the field "+written[own]+" of the run in its place"))
		}
	}

	if !ptr.Deref(r.Prune, true) {
		annotations[ansiblerun.AnnotationPrune] = ansiblerun.PruneNever
	}

	for _, name := range settings {
		f, v := fields.Of(name), manifest.Text(r.Object, name)
		if v != "" && !f.Computes(v) {
			annotations[f.Annotation] = v
		}
	}

	return annotations
}

// metadata reports labels and annotations of literal names and values that the
// API server refuses, which would stop the whole XR, and those that are core's own.
func (c compiler) metadata(r input.Run) {
	for _, of := range []struct {
		name   string
		values map[string]string
	}{{"labels", r.Labels}, {"annotations", r.Annotations}} {
		for _, k := range manifest.SortedKeys(of.values) {
			path, v := r.Path.Child(of.name).Key(k), of.values[k]

			switch {
			case strings.Contains(k, "${"):
				// Compiling says it.
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
