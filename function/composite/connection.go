package composite

import (
	"context"
	"encoding/base64"
	"maps"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/observed"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// Type, and suffix of the default name, of the Secret with the connection details of an XR.
const (
	typeConnection   = "connection.crossplane.io/v1alpha1"
	suffixConnection = "-connection"
)

// details evaluates the connection details: native ones for a legacy XR, a Secret for others. A detail without a value
// keeps its observed one. The problems quote no values, which may be secret.
func (e *evaluator) details(ctx context.Context) (native map[string][]byte, secret map[string]any) {
	d := e.plan.Connection
	if len(d.Names) == 0 {
		return nil, nil
	}

	legacy := observed.IsLegacy(e.runs.Observed.XR)
	was := e.runs.Observed.Details

	if !legacy {
		was = secretData(e.runs.Observed.Resources[plan.ResourceConnection].Object)

		// Core sends no connection details of lost resources, so the Secret stays as it is.
		if e.runs.Observed.HasLost() {
			return nil, e.secret(ctx, was)
		}
	}

	values := map[string][]byte{}
	data := e.withDetails()

	for i, name := range d.Names {
		v, keep := e.detail(ctx, d.Values[i], data)

		if old, ok := was[name]; ok && keep {
			values[name] = old
		}

		if v != nil {
			values[name] = v
		}
	}

	if legacy {
		return values, nil
	}

	return nil, e.secret(ctx, values)
}

// detail evaluates a connection detail. It returns false if the detail is left out. With true, nil means that the
// detail keeps its observed value.
func (e *evaluator) detail(ctx context.Context, t *expression.Template, data expression.Data) ([]byte, bool) {
	gone, waiting := e.availability(ctx, t)
	if gone {
		return nil, false
	}

	v, ok, problems := t.Evaluate(ctx, data)

	for i := range problems {
		if problems[i].Kind == expression.Invalid && !problems[i].Plain {
			problems[i].Message = "cannot be computed"
		}
	}

	e.pending(problems, waiting)

	s, isText := v.(string)

	switch {
	case !ok:
		return nil, true
	case v == nil:
		return nil, false
	case !isText:
		e.invalid(t.Path, errors.New("must be a string"))
		return nil, true
	}

	return []byte(s), true
}

// withDetails returns data with the connection details of runs and resources.
func (e *evaluator) withDetails() expression.Data {
	data := e.runs.Data
	data.Runs = maps.Clone(data.Runs)

	with := func(v any, resource string) any {
		all := map[string]any{}

		for k, b := range e.runs.Observed.Resources[resource].Details {
			all[k] = b
			if utf8.Valid(b) {
				all[k] = string(b)
			}
		}

		view, _ := v.(expression.Partial)
		view.Fields = maps.Clone(view.Fields)
		view.Fields["connectionDetails"] = all

		return view
	}

	data.Resources = make(map[string]any, len(e.runs.Data.Resources))
	for name, v := range e.runs.Data.Resources {
		data.Resources[name] = with(v, name)
	}

	for _, run := range e.plan.Runs {
		switch v := data.Runs[run.Name].(type) {
		case expression.Partial:
			data.Runs[run.Name] = with(v, run.Name)
		case map[string]any:
			set := map[string]any{}
			for key := range v {
				set[key] = with(v[key], plan.MemberName(run.Name, key))
			}

			data.Runs[run.Name] = set
		}
	}

	return data
}

// secret returns the Secret with connection details; nil if it does not exist yet and would be empty.
func (e *evaluator) secret(ctx context.Context, values map[string][]byte) map[string]any {
	if _, ok := e.runs.Observed.Resources[plan.ResourceConnection]; !ok && len(values) == 0 {
		return nil
	}

	before := len(e.problems)
	name, namespace := e.secretName(ctx)
	metadata := map[string]any{"name": name}

	if xr := manifest.Namespace(e.runs.Observed.XR); xr == "" {
		metadata["namespace"] = namespace
	}

	if len(e.problems) > before {
		return nil
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
	}
}

// secretName returns the name and the namespace of the Secret with the connection details. An existing Secret keeps
// both. The namespace is not used for a namespaced XR.
func (e *evaluator) secretName(ctx context.Context) (name, namespace string) {
	if o, ok := e.runs.Observed.Resources[plan.ResourceConnection]; ok {
		return manifest.Name(o.Object), manifest.Namespace(o.Object)
	}

	d := e.plan.Connection
	if xr := manifest.Namespace(e.runs.Observed.XR); xr == "" && d.Namespace == "" {
		e.invalid("connectionDetails",
			errors.New("a cluster-scoped XR has no namespace for its Secret; set connectionSecret.namespace"))
	}

	if d.Name == nil {
		return manifest.Name(e.runs.Observed.XR) + suffixConnection, d.Namespace
	}

	v, _, problems := d.Name.Evaluate(ctx, e.runs.Data)
	e.problems = append(e.problems, problems...)

	name, ok := v.(string)
	if len(problems) == 0 && (!ok || len(validation.IsDNS1123Subdomain(name)) > 0) {
		e.invalid(d.Name.Path, errors.Errorf("%s cannot be the name of an object", manifest.Show(v)))
	}

	return name, d.Namespace
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
