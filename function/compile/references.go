package compile

import (
	"context"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// A reference is the name of another object.
type reference struct {
	path *field.Path
	name string
	// kind of the object, where it is written.
	kind string
}

// referring fields of runs name other objects.
var referring = [...]string{"providerConfigRef", "writeConnectionSecretToRef", "varFiles", "inventories"} //nolint:gochecknoglobals // Go has no constant arrays.

// references returns those names of other objects that hold an expression.
func references(at *field.Path, object map[string]any) []reference {
	var refs []reference

	for _, f := range referring {
		if v, ok := object[f]; ok {
			eachReference(at.Child(f), f, v, func(r reference) {
				if strings.Contains(r.name, "${") {
					refs = append(refs, r)
				}
			})
		}
	}

	return refs
}

// eachReference calls do for the objects that a field of a name, and those below it, refer
// to: they are named in fields whose names end in Ref.
func eachReference(path *field.Path, name string, v any, do func(reference)) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			eachReference(path.Index(i), "", v[i], do)
		}
	case map[string]any:
		for _, k := range manifest.SortedKeys(v) {
			eachReference(path.Child(k), k, v[k], do)
		}

		if n := manifest.Text(v, "name"); strings.HasSuffix(name, "Ref") && n != "" {
			do(reference{path: path.Child("name"), name: n, kind: manifest.Text(v, "kind")})
		}
	}
}

// Expressions for the name and the uid of an XR.
const (
	sourceName = "xr.metadata.name"
	sourceUID  = "xr.metadata.uid"
)

// namesOf returns the names of other objects that a run computes, by their text. A run may
// choose any object in the namespace of its XR. The name of any other object must hold the
// uid of the XR, so that it cannot be the object of somebody else. That is so for Secrets
// that a run writes, too: core reads such a Secret, whoever wrote it.
func namesOf(env *expression.Environment, t template, namespaced bool) (map[string]*expression.Template, field.ErrorList) {
	names := map[string]*expression.Template{}

	var errs field.ErrorList

	for _, r := range references(t.path, t.object) {
		at := field.NewPath(strings.TrimPrefix(strings.TrimPrefix(r.path.String(), t.path.String()), "."))
		names[r.name], _ = env.Compile(at, r.name)
		errs = append(errs, mistyped(r.path, names[r.name], expression.String)...)

		switch {
		case !namespaced:
			if n := names[r.name]; !n.Identifies() || !n.Has(sourceUID) {
				errs = append(errs, field.Forbidden(r.path, "the name of what is not in an XR's own namespace must hold ${xr.metadata.uid}, and beside it only the name of the XR, its claim and each.key; others may be somebody else's"))
			}
		case strings.Contains(r.path.String(), "providerConfigRef") && r.kind != "ProviderConfig":
			errs = append(errs, field.Forbidden(r.path, "only the name of a ProviderConfig in the XR's own namespace can be computed; set kind: ProviderConfig"))
		}
	}

	return names, errs
}

// templates returns the templates of all computed values.
func (o Object) templates() []*expression.Template {
	var all []*expression.Template
	for _, name := range manifest.SortedKeys(o.names) {
		all = append(all, o.names[name])
	}

	for _, name := range manifest.SortedKeys(o.metadata) {
		all = append(all, o.metadata[name])
	}

	for _, name := range manifest.SortedKeys(o.settings) {
		all = append(all, o.settings[name])
	}

	return all
}

// Evaluate settings, labels, annotations and names of other objects.
func (o Object) Evaluate(ctx context.Context, data expression.Data) (Object, []expression.Problem) {
	o, problems := o.set(ctx, data)

	for _, name := range manifest.SortedKeys(o.metadata) {
		v, ps := metadataOf(ctx, data, name, o.metadata[name])
		problems = append(problems, ps...)

		if name == "labels" {
			o.labels = v
			continue
		}

		annotations := maps.Clone(o.annotations)
		for k := range o.metadata[name].Fields() {
			delete(annotations, k)
		}

		maps.Copy(annotations, v)
		o.annotations = annotations
	}

	if len(o.names) == 0 {
		return o, problems
	}

	names := make(map[string]string, len(o.names))

	for _, name := range manifest.SortedKeys(o.names) {
		t := o.names[name]

		v, _, ps := t.Evaluate(ctx, data)
		problems = append(problems, ps...)

		s, ok := v.(string)
		if len(ps) == 0 && (!ok || len(validation.IsDNS1123Subdomain(s)) > 0) {
			problems = append(problems, Invalid(t.Path(), errors.Errorf("%s cannot be the name of an object", manifest.Show(v))))
		}

		names[name] = s
	}

	o.spec, _ = named(o.spec, names).(map[string]any)
	o.parameters, _ = named(o.parameters, names).(map[string]any)

	return o, problems
}

// named returns a copy of a JSON value with other names in its references.
func named(v any, names map[string]string) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = named(v[i], names)
		}

		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = named(v[k], names)

			m, ok := v[k].(map[string]any)
			if name, computed := names[manifest.Text(m, "name")]; ok && computed && strings.HasSuffix(k, "Ref") {
				m, _ = out[k].(map[string]any)
				m["name"] = name
			}
		}

		return out
	}

	return v
}

// metadataOf evaluates the labels or the annotations of an AnsibleRun. Those whose value is
// optional.none() are left out.
func metadataOf(ctx context.Context, data expression.Data, name string, t *expression.Template) (map[string]any, []expression.Problem) {
	v, _, problems := t.Evaluate(ctx, data)
	if len(problems) > 0 {
		return nil, problems
	}

	m, _ := v.(map[string]any)

	for _, k := range manifest.SortedKeys(m) {
		s, ok := m[k].(string)

		switch {
		case !ok:
			problems = append(problems, Invalid(name+"."+k, errors.New("must be a string")))
		case name == "labels" && len(validation.IsValidLabelValue(s)) > 0:
			problems = append(problems, Invalid(name+"."+k, errors.Errorf("%.80q cannot be the value of a label", s)))
		}
	}

	return m, problems
}
