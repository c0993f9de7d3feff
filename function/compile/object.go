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

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/fields"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// objectOf returns the AnsibleRun of a run, without what is computed.
func objectOf(env *expression.Environment, r input.Run, namespaced bool) (plan.Object, field.ErrorList) {
	errs := append(namespaceMistakes(r, namespaced), oneContent(r)...)
	errs = append(errs, allowedMistakes(r)...)
	cluster := !namespaced && r.Namespace == ""

	config, cerrs := configRef(r, cluster)
	errs = append(errs, cerrs...)

	annotations, aerrs := annotationsOf(r)
	errs = append(errs, aerrs...)
	errs = append(errs, metadataMistakes(r)...)

	o := plan.Object{
		APIVersion:  ansiblerun.APIVersionNamespaced,
		Namespace:   r.Namespace,
		Annotations: annotations,
		Spec:        partOf(r, fields.Spec),
		Parameters:  partOf(r, fields.ForProvider),
		Metadata:    map[string]*expression.Template{},
		Allowed:     r.Allowed,
	}
	o.Spec["providerConfigRef"] = config
	setInventories(o.Parameters, r)

	for _, name := range []string{"labels", "annotations"} {
		if m, ok := r.Object[name].(map[string]any); ok {
			o.Metadata[name], _ = env.Compile(field.NewPath(name), m)

			for _, k := range manifest.SortedKeys(o.Metadata[name].Fields()) {
				errs = append(errs, mistyped(r.Path.Child(name).Key(k), o.Metadata[name].Fields()[k], expression.String)...)
			}
		}
	}

	if cluster {
		o.APIVersion = ansiblerun.APIVersionCluster
	}

	set, serrs := settingsOf(env, r)
	o.Settings = set
	errs = append(errs, serrs...)

	for name := range set {
		delete(o.Spec, name)
		delete(o.Parameters, name)
	}

	o.Parameters = ansiblerun.Stored(o.Parameters)

	names, nerrs := objectNames(env, r, namespaced)
	o.Names = names

	return o, append(errs, nerrs...)
}

// partOf an AnsibleRun that a run has, as it is written.
func partOf(r input.Run, part fields.Part) map[string]any {
	return manifest.Pick(r.Object, fields.Names(func(f fields.Field) bool { return f.Part == part })...)
}

// settingsOf returns the settings of a run that hold expressions, by name.
func settingsOf(env *expression.Environment, r input.Run) (map[string]*expression.Template, field.ErrorList) {
	var errs field.ErrorList

	all := map[string]*expression.Template{}

	for _, name := range manifest.SortedKeys(r.Object) {
		if f := fields.Of(name); f.Kind == fields.Setting && f.Computes(r.Object[name]) {
			all[name], _ = env.Compile(field.NewPath(name), r.Object[name])
			errs = append(errs, mistyped(r.Path.Child(name), all[name], f.Types...)...)
		}
	}

	return all, errs
}

// namespaceMistakes of a run.
func namespaceMistakes(r input.Run, namespaced bool) field.ErrorList {
	path := r.Path.Child("namespace")

	switch {
	case r.Namespace == "", strings.Contains(r.Namespace, "${"): // Reading has said it of an expression.
		return nil
	case namespaced:
		return field.ErrorList{field.Forbidden(path, "the runs of a namespaced XR are in its own namespace")}
	}

	return notANamespace(path, r.Namespace)
}

// oneContent reports a run with no content, or with more than one.
func oneContent(r input.Run) field.ErrorList {
	var set []string

	for _, c := range ansiblerun.ContentFields {
		if _, ok := r.Object[c]; ok {
			set = append(set, c)
		}
	}

	all := strings.Join(ansiblerun.ContentFields[:len(ansiblerun.ContentFields)-1],
		", ") + " and " + ansiblerun.ContentFields[len(ansiblerun.ContentFields)-1]

	switch len(set) {
	case 0:
		return field.ErrorList{field.Required(r.Path, "exactly one of "+all+" must be set, here or in defaults")}
	case 1:
		return nil
	}

	return field.ErrorList{field.Forbidden(r.Path, "exactly one of "+all+" must be set, not "+strings.Join(set, " and "))}
}

// allowedMistakes are patterns that allow nothing.
func allowedMistakes(r input.Run) field.ErrorList {
	var errs field.ErrorList

	for _, name := range manifest.SortedKeys(r.Allowed) {
		for i, pattern := range r.Allowed[name] {
			if _, err := path.Match(pattern, ""); err != nil {
				errs = append(errs,
					field.Invalid(r.Path.Child("allowed").Key(name).Index(i), pattern, "is no pattern, such as v1.* or release/v?"))
			}
		}
	}

	return errs
}

// configRef of a run. Cluster-scoped runs only know one kind, and do not say
// it.
func configRef(r input.Run, cluster bool) (map[string]any, field.ErrorList) {
	ref := ptr.Deref(r.ProviderConfigRef, v1alpha1.ProviderConfigReference{})
	kind, name := ref.Kind, cmp.Or(ref.Name, "default")

	if !strings.Contains(name, "${") && len(name) > validation.LabelValueMaxLength {
		return nil, field.ErrorList{
			field.TooLong(r.Path.Child("providerConfigRef", "name"), name, validation.LabelValueMaxLength),
		}
	}

	if cluster {
		if kind != "" && kind != "ProviderConfig" {
			return nil, field.ErrorList{field.Invalid(r.Path.Child("providerConfigRef", "kind"), kind,
				"a cluster-scoped run can only refer to a ProviderConfig")}
		}

		return map[string]any{"name": name}, nil
	}

	return map[string]any{"kind": cmp.Or(kind, "ClusterProviderConfig"), "name": name}, nil
}

// annotationsOf an AnsibleRun.
func annotationsOf(r input.Run) (map[string]any, field.ErrorList) {
	annotations := map[string]any{}

	maps.Copy(annotations, manifest.Strings(r.Annotations))

	var errs field.ErrorList

	written := map[string]string{ansiblerun.AnnotationDependsOn: "dependsOn", ansiblerun.AnnotationPrune: "prune"}
	settings := fields.Names(func(f fields.Field) bool { return f.Annotation != "" })

	for _, name := range settings {
		written[fields.Of(name).Annotation] = name
	}

	for _, own := range ansiblerun.OwnedAnnotations {
		if _, ok := annotations[own]; ok {
			errs = append(errs,
				field.Forbidden(r.Path.Child("annotations").Key(own), "write the field "+written[own]+" of the run in its place"))
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

	return annotations, errs
}

// metadataMistakes are labels and annotations of literal names and values that the
// API server refuses, which would stop the whole XR, and those that are core's own.
func metadataMistakes(r input.Run) field.ErrorList {
	var errs field.ErrorList

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
				errs = append(errs, field.Forbidden(path, "function-ansible sets this itself"))
			case slices.Contains(ansiblerun.CoreMetadata[:], k):
				errs = append(errs, field.Forbidden(path, "Crossplane sets this itself"))
			case len(validation.IsQualifiedName(k)) > 0:
				errs = append(errs, field.Invalid(path, k, "cannot be the name of a label or an annotation"))
			case of.name == "labels" && !strings.Contains(v, "${") && len(validation.IsValidLabelValue(v)) > 0:
				errs = append(errs, field.Invalid(path, v, "cannot be the value of a label"))
			}
		}
	}

	return errs
}
