package render

import (
	"context"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression/value"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// The Secret that holds connection details of XRs that have none of their own.
const (
	// ResourceConnection is its composition resource name.
	ResourceConnection = "connection-details"

	typeConnection   = "connection.crossplane.io/v1alpha1"
	suffixConnection = "-connection"
)

// details are the connection details of XRs, compiled.
type details struct {
	names     []string
	values    []*expression.Template
	namespace string
	// name of the Secret; nil for the usual one.
	name *expression.Template
}

// compileDetails of the XR. Only here do expressions see connection details of
// runs.
func compileDetails(env *expression.Environment, in map[string]any, namespaced bool) (details, field.ErrorList) {
	var (
		d    details
		errs field.ErrorList
	)

	root := field.NewPath("connectionDetails")
	list, _ := in["connectionDetails"].([]any)

	for i := range list {
		m, _ := list[i].(map[string]any)
		name := manifest.Text(m, "name")

		if slices.Contains(d.names, name) {
			errs = append(errs, field.Duplicate(root.Index(i).Child("name"), name))
		}

		t, terrs := env.Compile(root.Index(i).Child("value"), m["value"])
		errs = append(errs, terrs...)
		errs = append(errs, mistyped(root.Index(i).Child("value"), t, expression.String)...)
		d.names = append(d.names, name)
		d.values = append(d.values, t)
	}

	secret, _ := in["connectionSecret"].(map[string]any)
	d.namespace = manifest.Text(secret, "namespace")

	if namespaced && d.namespace != "" {
		errs = append(errs, field.Forbidden(field.NewPath("connectionSecret", "namespace"), "the Secret of a namespaced XR is in its own namespace"))
	} else if d.namespace != "" {
		errs = append(errs, notANamespace(field.NewPath("connectionSecret", "namespace"), d.namespace)...)
	}

	if name := manifest.Text(secret, "name"); name != "" {
		t, terrs := env.Compile(field.NewPath("connectionSecret", "name"), name)
		d.name = t
		errs = append(errs, append(terrs, nameMistakes(t, namespaced)...)...)
	}

	return d, errs
}

// nameMistakes in the name of the Secret with the connection details of an XR. In
// a namespace that is not the XR's own, no author of one may choose it freely.
func nameMistakes(t *expression.Template, namespaced bool) field.ErrorList {
	partial := strings.Join(t.Text(), "") != ""

	if t.Identifies() && (t.Has(sourceUID) || t.Has(sourceName) && (namespaced || partial)) {
		return nil
	}

	return field.ErrorList{field.Forbidden(field.NewPath("connectionSecret", "name"), "must hold what is the XR's own, as in ${xr.metadata.name}-admin or ${xr.metadata.uid}, and beside that only the name of the XR and its claim")}
}

// isLegacy is true for XRs that publish connection details themselves: their
// spec has the fields that modern ones have below spec.crossplane.
func isLegacy(xr map[string]any) bool {
	spec, _ := xr["spec"].(map[string]any)
	namespace := manifest.Namespace(xr)

	if _, modern := spec["crossplane"]; modern || namespace != "" {
		return false
	}

	for _, name := range legacy {
		if _, ok := spec[name]; ok {
			return true
		}
	}

	return false
}

// legacy are the fields that Crossplane has in the spec of legacy XRs.
var legacy = [...]string{ //nolint:gochecknoglobals // Go has no constant arrays.
	"claimRef", "compositeDeletePolicy", "compositionRef", "compositionRevisionRef", "compositionRevisionSelector",
	"compositionSelector", "compositionUpdatePolicy", "environmentConfigRefs", "publishConnectionDetailsTo", "resourceRef", "resourceRefs",
	"writeConnectionSecretToRef",
}

// details evaluates the connection details of the XR: those of a legacy XR, or
// the Secret for another. What is not to be had keeps its value. The problems
// hold nothing of any value.
func (r *rendering) details(ctx context.Context) (native map[string][]byte, secret map[string]any, problems []expression.Problem) {
	d := r.composition.details
	if len(d.names) == 0 {
		return nil, nil, nil
	}

	legacy := isLegacy(r.observed.XR)
	was := r.observed.Details[""]

	if !legacy {
		was = secretData(r.observed.Resources[ResourceConnection])
	}

	values := map[string][]byte{}
	data := r.withDetails()

	for i, name := range d.names {
		v, keep, ps := r.detail(ctx, d.values[i], data)
		problems = append(problems, ps...)

		if old, ok := was[name]; ok && keep {
			values[name] = old
		}

		if v != nil {
			values[name] = v
		}
	}

	if legacy {
		return values, nil, problems
	}

	secret, ps := r.secret(ctx, values)

	return nil, secret, append(problems, ps...)
}

// detail evaluates one connection detail. It keeps its value (true) while there
// is no other.
func (r *rendering) detail(ctx context.Context, t *expression.Template, data expression.Data) ([]byte, bool, []expression.Problem) {
	gone, waiting := r.prospect(ctx, t)
	if gone {
		return nil, false, nil
	}

	v, ok, problems := t.Evaluate(ctx, data)

	problems = slices.DeleteFunc(problems, func(p expression.Problem) bool { return p.Kind == expression.Pending && waiting })
	for i := range problems {
		if problems[i].Kind == expression.Invalid && !problems[i].Plain {
			problems[i].Message = "cannot be computed"
		}
	}

	s, isText := v.(string)

	switch {
	case !ok:
		return nil, true, problems
	case v == nil:
		return nil, false, problems
	case !isText:
		return nil, true, append(problems, invalid(t.Path(), errors.New("must be a string")))
	}

	return []byte(s), true, problems
}

// withDetails returns data in which runs have their connection details.
func (r *rendering) withDetails() expression.Data {
	data := r.data
	data.Runs = maps.Clone(data.Runs)

	with := func(v any, resource string) any {
		all := map[string]any{}

		for k, b := range r.observed.Details[resource] {
			all[k] = b
			if utf8.Valid(b) {
				all[k] = string(b)
			}
		}

		view, _ := v.(value.Partial)
		view.Fields = maps.Clone(view.Fields)
		view.Fields["connectionDetails"] = all

		return view
	}

	data.Resources = make(map[string]any, len(r.data.Resources))
	for name, v := range r.data.Resources {
		data.Resources[name] = with(v, name)
	}

	for _, run := range r.composition.runs {
		switch v := data.Runs[run.name].(type) {
		case value.Partial:
			data.Runs[run.name] = with(v, run.resource)
		case map[string]any:
			set := map[string]any{}
			for key := range v {
				set[key] = with(v[key], memberOf(run.resource, key))
			}

			data.Runs[run.name] = set
		}
	}

	return data
}

// secret returns the Secret with connection details; nil when there is nothing
// to be in it yet.
func (r *rendering) secret(ctx context.Context, values map[string][]byte) (map[string]any, []expression.Problem) {
	if _, ok := r.observed.Resources[ResourceConnection]; !ok && len(values) == 0 {
		return nil, nil
	}

	name, namespace, problems := r.secretName(ctx)
	metadata := map[string]any{"name": name}

	if xr := manifest.Namespace(r.observed.XR); xr == "" {
		metadata["namespace"] = namespace
	}

	if len(problems) > 0 {
		return nil, problems
	}

	data := map[string]any{}
	for k, v := range values {
		data[k] = base64.StdEncoding.EncodeToString(v)
	}

	return map[string]any{
		"apiVersion": "v1",
		"kind":       "Secret",
		"metadata":   metadata,
		"type":       typeConnection,
		"data":       data,
	}, nil
}

// secretName of the connection details of the XR, and its namespace, which a
// namespaced XR does not need. One that is there keeps them.
func (r *rendering) secretName(ctx context.Context) (name, namespace string, problems []expression.Problem) {
	if o, ok := r.observed.Resources[ResourceConnection]; ok {
		name = manifest.Name(o)
		namespace = manifest.Namespace(o)

		return name, namespace, nil
	}

	d := r.composition.details
	if xr := manifest.Namespace(r.observed.XR); xr == "" && d.namespace == "" {
		problems = append(problems, invalid("connectionDetails", errors.New("a cluster-scoped XR has no namespace for its Secret; set connectionSecret.namespace")))
	}

	if d.name == nil {
		name = manifest.Name(r.observed.XR)
		return name + suffixConnection, d.namespace, problems
	}

	v, _, ps := d.name.Evaluate(ctx, r.data)

	name, ok := v.(string)
	if len(ps) == 0 && (!ok || len(validation.IsDNS1123Subdomain(name)) > 0) {
		ps = append(ps, invalid(d.name.Path(), errors.Errorf("%s cannot be the name of an object", manifest.Show(v))))
	}

	return name, d.namespace, append(problems, ps...)
}

func secretData(o map[string]any) map[string][]byte {
	data, _ := o["data"].(map[string]any)
	out := map[string][]byte{}

	for k := range data {
		if b, err := base64.StdEncoding.DecodeString(manifest.Text(data, k)); err == nil {
			out[k] = b
		}
	}

	return out
}
