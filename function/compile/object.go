package compile

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// parameters are the fields that go into spec.forProvider as they are: all that there
// are but variables, which are evaluated.
var parameters = parameterNames() //nolint:gochecknoglobals // It is a constant that has to be read from a type.

func parameterNames() []string {
	var names []string

	for _, f := range reflect.VisibleFields(reflect.TypeFor[common.AnsibleRunParameters]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "vars" && name != "unsafeVars" {
			names = append(names, name)
		}
	}

	return names
}

// An Object is an AnsibleRun without what is computed.
type Object struct {
	APIVersion  string
	namespace   string
	labels      map[string]any
	annotations map[string]any
	spec        map[string]any
	// parameters as they are stored.
	parameters map[string]any
	// metadata are the labels and annotations that may hold expressions.
	metadata map[string]*expression.Template
	// settings that hold expressions, by name.
	settings map[string]*expression.Template
	// names of other objects that hold expressions.
	names map[string]*expression.Template
}

// Computed are the parts of an AnsibleRun that depend on the XR.
type Computed struct {
	Vars, UnsafeVars map[string]any
	Inventory        string
	DependsOn        []string
	// CompositeUID is the uid of the XR.
	CompositeUID string
}

// With returns the AnsibleRun with what is computed, and an annotation of what
// it was rendered after. The object itself stays as it is.
func (o Object) With(p Computed) map[string]any {
	parameters, spec, metadata := maps.Clone(o.parameters), maps.Clone(o.spec), map[string]any{}
	spec["forProvider"] = parameters

	if len(p.Vars) > 0 {
		parameters["vars"] = p.Vars
	}

	if len(p.UnsafeVars) > 0 {
		parameters["unsafeVars"] = p.UnsafeVars
	}

	if p.Inventory != "" {
		parameters["inventoryInline"] = p.Inventory
	}

	if o.namespace != "" {
		metadata["namespace"] = o.namespace
	}

	labels := manifest.Overlay(o.labels, nil)
	if p.CompositeUID != "" {
		labels[ansiblerun.LabelComposite] = p.CompositeUID
	}

	if len(labels) > 0 {
		metadata["labels"] = labels
	}

	annotations := maps.Clone(o.annotations)
	if len(p.DependsOn) > 0 {
		annotations[ansiblerun.AnnotationDependsOn] = strings.Join(p.DependsOn, ",")
	}

	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}

	return map[string]any{
		"apiVersion": o.APIVersion,
		"kind":       common.KindAnsibleRun,
		"metadata":   metadata,
		"spec":       spec,
	}
}

// stored returns parameters as they are once the provider has written the AnsibleRun:
// 20m is 20m0s then, and what is empty is not there. Rendered in another way they would
// look changed.
func stored(parameters map[string]any) map[string]any {
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

// objectOf returns the AnsibleRun of a run, without what is computed.
func objectOf(env *expression.Environment, t template, namespaced bool) (Object, field.ErrorList) {
	scope, errs := scopeOf(t, namespaced)
	errs = append(errs, oneContent(t)...)

	config, cerrs := configRef(t, scope)
	errs = append(errs, cerrs...)

	annotations, aerrs := annotationsOf(t)
	errs = append(errs, aerrs...)
	errs = append(errs, metadataMistakes(t)...)

	o := Object{
		APIVersion:  ansiblerun.APIVersionNamespaced,
		namespace:   t.Namespace,
		annotations: annotations,
		spec:        map[string]any{"providerConfigRef": config},
		parameters:  manifest.Pick(t.object, parameters...),
		metadata:    map[string]*expression.Template{},
	}

	for _, name := range []string{"labels", "annotations"} {
		if m, ok := t.object[name].(map[string]any); ok {
			o.metadata[name], _ = env.Compile(field.NewPath(name), m)

			for _, k := range manifest.SortedKeys(o.metadata[name].Fields()) {
				errs = append(errs, mistyped(t.path.Child(name).Key(k), o.metadata[name].Fields()[k], expression.String)...)
			}
		}
	}

	maps.Copy(o.spec, manifest.Pick(t.object, "managementPolicies", "deletionPolicy", "writeConnectionSecretToRef"))
	errs = append(errs, secretRef(t, scope)...)

	if scope == v1alpha1.ScopeCluster {
		o.APIVersion = ansiblerun.APIVersionCluster
	} else if _, ok := o.spec["deletionPolicy"]; ok {
		errs = append(errs, field.Forbidden(t.path.Child("deletionPolicy"), "only cluster-scoped runs have a deletionPolicy; use managementPolicies"))
	}

	set, serrs := settingsOf(env, t)
	o.settings = set
	errs = append(errs, serrs...)

	for name := range set {
		delete(o.spec, name)
		delete(o.parameters, name)

		if name == "runPolicy" {
			delete(o.annotations, common.AnnotationRunPolicy)
		}
	}

	o.parameters = stored(o.parameters)

	names, nerrs := namesOf(env, t, namespaced)
	o.names = names
	errs = append(errs, nerrs...)

	if isSet(t.object) {
		errs = append(errs, sharedSecret(t, names)...)
	}

	return o, errs
}

// sharedSecret reports a Secret for connection details that the runs of all items
// would write, of which one can.
func sharedSecret(t template, names map[string]*expression.Template) field.ErrorList {
	ref := t.WriteConnectionSecretToRef
	if ref == nil || names[ref.Name] != nil && names[ref.Name].Each() {
		return nil
	}

	return field.ErrorList{field.Forbidden(t.path.Child("writeConnectionSecretToRef", "name"), "all items would write the same Secret: have ${each.key} in its name")}
}

// secretRef reports a Secret for connection details that is not where Secrets
// of such runs are.
func secretRef(t template, scope v1alpha1.Scope) field.ErrorList {
	ref := t.WriteConnectionSecretToRef
	path := t.path.Child("writeConnectionSecretToRef", "namespace")

	switch {
	case ref == nil:
	case scope == v1alpha1.ScopeCluster && ref.Namespace == "":
		return field.ErrorList{field.Required(path, "a cluster-scoped run needs the namespace of the Secret")}
	case scope != v1alpha1.ScopeCluster && ref.Namespace != "":
		return field.ErrorList{field.Forbidden(path, "the Secret of a namespaced run is in its own namespace")}
	}

	return nil
}

// scopeOf a run.
func scopeOf(t template, namespaced bool) (v1alpha1.Scope, field.ErrorList) {
	scope, namespace := t.Scope, t.Namespace
	path := t.path.Child("namespace")

	switch {
	case namespaced && scope == v1alpha1.ScopeCluster:
		return scope, field.ErrorList{field.Forbidden(t.path.Child("scope"), "a namespaced XR can only have namespaced runs")}
	case namespaced && namespace != "":
		return scope, field.ErrorList{field.Forbidden(path, "the runs of a namespaced XR are in its own namespace")}
	case namespaced:
		return v1alpha1.ScopeNamespaced, nil
	case scope == v1alpha1.ScopeNamespaced && namespace != "" && !strings.Contains(namespace, "${"):
		// Reading has said it of an expression.
		return scope, notANamespace(path, namespace)
	case scope == v1alpha1.ScopeNamespaced && namespace == "":
		return scope, field.ErrorList{field.Required(path, "a namespaced run of a cluster-scoped XR needs a namespace")}
	case scope != v1alpha1.ScopeNamespaced && namespace != "":
		return scope, field.ErrorList{field.Forbidden(path, "only with scope: Namespaced")}
	case scope == "":
		return v1alpha1.ScopeCluster, nil
	}

	return scope, nil
}

// notANamespace reports what cannot be the name of a namespace: core could compose
// nothing of the XR.
func notANamespace(path *field.Path, name string) field.ErrorList {
	if len(validation.IsDNS1123Label(name)) == 0 {
		return nil
	}

	return field.ErrorList{field.Invalid(path, name, "cannot be the name of a namespace; it is literal")}
}

// oneContent reports a run with no content, or with more than one.
func oneContent(t template) field.ErrorList {
	var set []string

	for _, c := range ansiblerun.ContentFields {
		if _, ok := t.object[c]; ok {
			set = append(set, c)
		}
	}

	all := strings.Join(ansiblerun.ContentFields[:len(ansiblerun.ContentFields)-1], ", ") + " and " + ansiblerun.ContentFields[len(ansiblerun.ContentFields)-1]

	switch len(set) {
	case 0:
		return field.ErrorList{field.Required(t.path, "exactly one of "+all+" must be set, here or in defaults")}
	case 1:
		return nil
	}

	return field.ErrorList{field.Forbidden(t.path, "exactly one of "+all+" must be set, not "+strings.Join(set, " and "))}
}

// configRef of a run. Cluster-scoped runs only know one kind, and do not say
// it.
func configRef(t template, scope v1alpha1.Scope) (map[string]any, field.ErrorList) {
	ref := ptr.Deref(t.ProviderConfigRef, v1alpha1.ProviderConfigReference{})
	kind, name := ref.Kind, cmp.Or(ref.Name, "default")

	if scope == v1alpha1.ScopeCluster {
		if kind != "" && kind != "ProviderConfig" {
			return nil, field.ErrorList{field.Invalid(t.path.Child("providerConfigRef", "kind"), kind, "a cluster-scoped run can only refer to a ProviderConfig")}
		}

		return map[string]any{"name": name}, nil
	}

	return map[string]any{"kind": cmp.Or(kind, "ClusterProviderConfig"), "name": name}, nil
}

// annotationsOf an AnsibleRun.
func annotationsOf(t template) (map[string]any, field.ErrorList) {
	annotations := map[string]any{}

	maps.Copy(annotations, manifest.Strings(t.Annotations))

	var errs field.ErrorList

	for _, own := range ansiblerun.OwnedAnnotations {
		if _, ok := annotations[own]; ok {
			errs = append(errs, field.Forbidden(t.path.Child("annotations").Key(own), "this annotation follows from other fields of the run"))
		}
	}

	if !ptr.Deref(t.Prune, true) {
		annotations[ansiblerun.AnnotationPrune] = ansiblerun.PruneNever
	}

	if policy := manifest.Text(t.object, "runPolicy"); policy != "" {
		annotations[common.AnnotationRunPolicy] = policy
	}

	return annotations, errs
}

// metadataMistakes are labels and annotations of literal names and values that the
// API server refuses, which would stop the whole XR, and those that are core's own.
func metadataMistakes(t template) field.ErrorList {
	var errs field.ErrorList

	for _, of := range []struct {
		name   string
		values map[string]string
	}{{"labels", t.Labels}, {"annotations", t.Annotations}} {
		for _, k := range manifest.SortedKeys(of.values) {
			path, v := t.path.Child(of.name).Key(k), of.values[k]

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
