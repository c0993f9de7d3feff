package plan

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/fields"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// An Object is an AnsibleRun without what is computed.
type Object struct {
	APIVersion string
	Namespace  string
	// Annotations that fields of a run become.
	Annotations map[string]any
	// Spec without forProvider.
	Spec map[string]any
	// Parameters are spec.forProvider, as they are stored.
	Parameters map[string]any
	// Settings that hold expressions, labels and annotations, by the names of the fields.
	Settings map[string]*expression.Template
	// Names of other objects, content and variables of the environment that hold expressions.
	Names map[fields.Key]*expression.Template
	// Allowed are the patterns of content that holds expressions.
	Allowed map[string][]string

	// labels as evaluated.
	labels map[string]any
}

// Computed are the parts of an AnsibleRun that depend on the XR.
type Computed struct {
	Vars, UnsafeVars map[string]any
	Inventory        string
	DependsOn        []string
	// Secret for connection details, as a reference; nil for none.
	Secret map[string]any
	// CompositeUID is the uid of the XR.
	CompositeUID string
	// InUse is true for an AnsibleRun with LabelInUse.
	InUse bool
}

// With returns the AnsibleRun with what is computed, and an annotation of what
// it was rendered after. The object itself stays as it is.
func (o Object) With(p Computed) map[string]any {
	parameters, spec, metadata := maps.Clone(o.Parameters), maps.Clone(o.Spec), map[string]any{}
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

	if p.Secret != nil {
		spec["writeConnectionSecretToRef"] = p.Secret
	}

	if o.Namespace != "" {
		metadata["namespace"] = o.Namespace
	}

	labels := manifest.Overlay(o.labels, nil)
	if p.CompositeUID != "" {
		labels[ansiblerun.LabelComposite] = p.CompositeUID
	}

	if p.InUse {
		labels[ansiblerun.LabelInUse] = "true"
	}

	if len(labels) > 0 {
		metadata["labels"] = labels
	}

	annotations := maps.Clone(o.Annotations)
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

// Templates returns the templates of all computed values.
func (o Object) Templates() []*expression.Template {
	var all []*expression.Template

	for _, key := range o.keys() {
		all = append(all, o.Names[key])
	}

	for _, name := range manifest.SortedKeys(o.Settings) {
		all = append(all, o.Settings[name])
	}

	return all
}

// keys of the names that hold expressions, in their order.
func (o Object) keys() []fields.Key {
	return slices.SortedFunc(maps.Keys(o.Names), fields.Key.Compare)
}

// Evaluate settings, labels, annotations and names of other objects.
func (o Object) Evaluate(ctx context.Context, data expression.Data) (Object, []expression.Problem) {
	o, problems := o.set(ctx, data)

	if len(o.Names) == 0 {
		return o, problems
	}

	names := make(map[fields.Key]string, len(o.Names))

	for _, key := range o.keys() {
		t := o.Names[key]

		v, _, ps := t.Evaluate(ctx, data)
		problems = append(problems, ps...)

		if len(ps) > 0 {
			continue
		}

		if err := o.check(key, v); err != nil {
			problems = append(problems, expression.InvalidAt(t.Path(), err))
		}

		names[key], _ = v.(string)
	}

	return o.Named(names), problems
}

// computes is true if content with a key in allowed is computed.
func (o Object) computes(allowed string) bool {
	return slices.ContainsFunc(o.keys(), func(k fields.Key) bool { return k.Of == allowed })
}

// check a value that was computed for a text.
func (o Object) check(key fields.Key, v any) error {
	playbook := key.Of == fields.AllowedPlaybook || key.Of == fields.AllowedPlaybooks
	ext := path.Ext(fmt.Sprint(v))

	if playbook && o.Parameters["project"] == nil && (ext == ".yml" || ext == ".yaml") {
		return errors.Errorf("%s is a path, which needs project, the repository that has it", manifest.Show(v))
	}

	return key.Check(v, o.Allowed[key.Of])
}

// Named returns the object with other names in its references.
func (o Object) Named(names map[fields.Key]string) Object {
	replace := func(t fields.Text) string {
		if name, ok := names[t.Key()]; ok && t.Computes() {
			return name
		}

		return t.Value
	}

	o.Spec, _ = fields.Replace(nil, "", o.Spec, replace).(map[string]any)
	o.Parameters, _ = fields.Replace(nil, "", o.Parameters, replace).(map[string]any)

	return o
}

// messageNoItems says what to write for a list that is written out, and of which all items are optional.none().
const messageNoItems = `nothing that its items are made of is set; write xr.spec.?field.orValue("…") for an item ` +
	`with a default, or "${xr.spec.?field.optMap(f, [f])}" in place of the list if it may be missing`

// set evaluates the settings, labels and annotations. One with the value optional.none() is left out.
func (o Object) set(ctx context.Context, data expression.Data) (Object, []expression.Problem) {
	if len(o.Settings) == 0 {
		return o, nil
	}

	var problems []expression.Problem

	o.Annotations, o.Spec, o.Parameters = maps.Clone(o.Annotations), maps.Clone(o.Spec), maps.Clone(o.Parameters)

	for _, name := range manifest.SortedKeys(o.Settings) {
		v, ok, ps := o.Settings[name].Evaluate(ctx, data)
		problems = append(problems, ps...)

		if !ok || len(ps) > 0 {
			continue
		}

		if list, isList := v.([]any); isList && len(list) == 0 && len(o.Settings[name].Items()) > 0 {
			problems = append(problems, expression.Problem{Path: name, Kind: expression.NotSet, Message: messageNoItems})
			continue
		}

		f := fields.Of(name)
		if f.Part == fields.Metadata {
			problems = append(problems, metadataMistakes(name, v)...)
		} else if err := f.Check(v); err != nil {
			problems = append(problems, expression.InvalidAt(name, err))
		}

		object, _ := v.(map[string]any)

		switch {
		case name == "labels":
			o.labels = object
		case f.Part == fields.Metadata:
			maps.Copy(o.Annotations, object)
		case f.Part == fields.Elsewhere:
			o.Annotations[f.Annotation] = v
		case f.Part == fields.Spec:
			o.Spec[name] = v
		case f.Part == fields.ForProvider:
			maps.Copy(o.Parameters, ansiblerun.Stored(map[string]any{name: v}))
		}
	}

	return o, problems
}

// metadataMistakes are what is wrong with labels or annotations.
func metadataMistakes(name string, v any) []expression.Problem {
	var problems []expression.Problem

	m, _ := v.(map[string]any)

	for _, k := range manifest.SortedKeys(m) {
		s, ok := m[k].(string)

		switch {
		case !ok:
			problems = append(problems, expression.InvalidAt(name+"."+k, errors.New("must be a string")))
		case name == "labels" && len(validation.IsValidLabelValue(s)) > 0:
			problems = append(problems,
				expression.InvalidAt(name+"."+k, errors.Errorf("%.80q cannot be the value of a label", s)))
		}
	}

	return problems
}
