package render

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression/value"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// managerComposed is how the names start under which core applies composed
// resources.
const managerComposed = "apiextensions.crossplane.io/composed/"

// coreMetadata are the labels and annotations that core adds to composed
// resources.
var coreMetadata = [...]string{ //nolint:gochecknoglobals // Go has no constant arrays.
	"crossplane.io/composite",
	"crossplane.io/claim-name",
	"crossplane.io/claim-namespace",
	"crossplane.io/composition-resource-name",
}

// FieldManaged is the field of metadata where the API server notes who owns what.
const FieldManaged = "managedFields"

// ownedAnnotations of AnsibleRuns are nobody else's.
var ownedAnnotations = [...]string{common.AnnotationRunPolicy, AnnotationDependsOn, AnnotationPrune} //nolint:gochecknoglobals // Go has no constant arrays.

// Observed state. Its values are JSON with all numbers float64, and are not
// changed.
type Observed struct {
	// XR as observed.
	XR map[string]any
	// Resources that the XR is composed of, by composition resource name. They need
	// no managed fields.
	Resources map[string]map[string]any
	// Owned are the FieldsV1 sets of what core's own apply owns of Resources, by the
	// same names, as Owned returns them.
	Owned map[string]*structpb.Struct
	// Required resources by name, those that core has answered.
	Required map[string][]map[string]any
	// Details are the connection details of Resources, by the same names, and of
	// the XR, under "".
	Details map[string]map[string][]byte
	// Context of the pipeline.
	Context map[string]any
	// Earlier are the composition resource names of what earlier steps of the
	// pipeline compose.
	Earlier map[string]bool
	// Ready is what earlier steps say of the readiness of what they compose, where
	// they do.
	Ready map[string]bool
	// Reported is what was said of the runs before: a line each, which starts
	// with the name of the run and a colon.
	Reported string
}

// run returns an observed AnsibleRun.
func (o Observed) run(resource string) (map[string]any, bool) {
	r := o.Resources[resource]
	return r, isAnsibleRun(r)
}

// reported returns what was said of the failure of a run before.
func (o Observed) reported(name string) []string {
	var messages []string

	for l := range strings.Lines(o.Reported) {
		m, ok := strings.CutPrefix(strings.TrimSuffix(l, "\n"), name+": ")
		if ok && !strings.HasPrefix(m, "is ") && !strings.HasPrefix(m, waitingFor) {
			messages = append(messages, m)
		}
	}

	return messages
}

// foreign is true for what an earlier step of the pipeline composes, and no run of
// this one.
func (r *rendering) foreign(resource string) bool {
	return r.observed.Earlier[resource] && r.composition.run(resource) == nil
}

// isAnsibleRun is true for AnsibleRuns of either group.
func isAnsibleRun(o map[string]any) bool {
	group, _, _ := strings.Cut(manifest.Text(o, "apiVersion"), "/")
	return manifest.Text(o, "kind") == common.KindAnsibleRun && (group == common.GroupCluster || group == common.GroupNamespaced)
}

// Owned returns the FieldsV1 set of what core's own apply owns of an observed object;
// nil where managed fields do not say.
func Owned(o *structpb.Struct) *structpb.Struct {
	var owned *structpb.Struct

	fields := o.GetFields()["metadata"].GetStructValue().GetFields()[FieldManaged]
	for _, e := range fields.GetListValue().GetValues() {
		entry := e.GetStructValue().GetFields()
		if entry["operation"].GetStringValue() == "Apply" && entry["subresource"].GetStringValue() == "" && strings.HasPrefix(entry["manager"].GetStringValue(), managerComposed) {
			owned = union(owned, entry["fieldsV1"].GetStructValue())
		}
	}

	return owned
}

// union of two FieldsV1 sets.
func union(a, b *structpb.Struct) *structpb.Struct {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}

	fields := maps.Clone(a.GetFields())
	for k, v := range b.GetFields() {
		fields[k] = structpb.NewStructValue(union(fields[k].GetStructValue(), v.GetStructValue()))
	}

	return &structpb.Struct{Fields: fields}
}

// applied returns what core's own apply owns of an observed AnsibleRun: API
// version, kind, labels, annotations and spec. It is what core would have to be
// given again to change nothing, which takes all of spec.forProvider: an apply
// replaces that, whoever has written it. Where it is not known what is owned, it is
// the spec and our own annotations.
func applied(o map[string]any, set *structpb.Struct) map[string]any {
	owned, _ := extract(o, set).(map[string]any)
	if set == nil {
		owned = map[string]any{"spec": o["spec"], "metadata": map[string]any{"annotations": ownAnnotations(o)}}
	}

	if p := manifest.Nested(o, "spec", "forProvider"); p != nil && set != nil {
		spec, _ := owned["spec"].(map[string]any)
		if spec == nil {
			spec = map[string]any{}
		}

		owned["spec"], spec["forProvider"] = spec, p
	}

	metadata := map[string]any{}

	for _, name := range []string{"labels", "annotations"} {
		if m := manifest.Nested(owned, "metadata", name); m != nil {
			metadata[name] = m
		}
	}

	out := map[string]any{"apiVersion": o["apiVersion"], "kind": o["kind"], "metadata": metadata}
	if spec, ok := owned["spec"]; ok {
		out["spec"] = spec
	}

	return out
}

// extract from a value the fields of a FieldsV1 set. Sets name the members of
// objects, but only objects: all lists of an AnsibleRun's spec are atomic. An
// object without named members is owned as such, not with members of others.
func extract(v any, set *structpb.Struct) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}

	out := make(map[string]any, len(set.GetFields()))

	for k, below := range set.GetFields() {
		name, ok := strings.CutPrefix(k, "f:")
		if !ok {
			continue
		}

		if member, ok := m[name]; ok {
			out[name] = extract(member, below.GetStructValue())
		}
	}

	return out
}

func ownAnnotations(o map[string]any) map[string]any {
	own := map[string]any{}

	all, _ := manifest.Nested(o, "metadata", "annotations").(map[string]any)

	for _, name := range ownedAnnotations {
		if v, ok := all[name]; ok {
			own[name] = v
		}
	}

	return own
}

// isApplied is true when an observed AnsibleRun is what is rendered now. Later
// steps of the pipeline may have added labels and annotations to it, but for
// those that are ours alone. A field that was added to the spec, however, might
// just as well be one that is not rendered any more.
func isApplied(observed map[string]any, owned *structpb.Struct, rendered map[string]any) bool {
	if owned == nil {
		return manifest.Within(rendered, observed)
	}

	for _, field := range []string{"labels", "annotations"} {
		was, is := manifest.Nested(observed, "metadata", field), manifest.Nested(rendered, "metadata", field)

		if !isAdded(was, below(below(owned, "metadata"), field), is) {
			return false
		}
	}

	return isSame(defaulted(observed["spec"]), below(owned, "spec"), defaulted(rendered["spec"]))
}

// isAdded is true when what is owned of observed labels or annotations is what is
// rendered, with nothing added to it that is ours alone.
func isAdded(observed any, owned *structpb.Struct, rendered any) bool {
	was, _ := observed.(map[string]any)
	is, _ := rendered.(map[string]any)

	for _, name := range ownedAnnotations {
		if _, ok := owned.GetFields()["f:"+name]; ok && was[name] != nil && is[name] == nil {
			return false
		}
	}

	for name, v := range is {
		if _, ok := owned.GetFields()["f:"+name]; !manifest.Equal(v, nil) && (!ok || !manifest.Equal(v, was[name])) {
			return false
		}
	}

	return true
}

// isSame is true when what is owned of an observed value, by a FieldsV1 set, is equal
// to what is rendered. All of forProvider is.
func isSame(observed any, owned *structpb.Struct, rendered any) bool {
	was, ok := observed.(map[string]any)
	if !ok {
		return manifest.Equal(observed, rendered)
	}

	is, ok := rendered.(map[string]any)
	if !ok && rendered != nil {
		return false
	}

	for name, v := range was {
		set, ok := owned.GetFields()["f:"+name]

		switch {
		case name == "forProvider":
			ok = manifest.Equal(v, is[name])
		case ok:
			ok = isSame(v, set.GetStructValue(), is[name])
		default:
			ok = manifest.Equal(is[name], nil)
		}

		if !ok {
			return false
		}
	}

	for name, v := range is {
		if _, ok := was[name]; !ok && !manifest.Equal(v, nil) {
			return false
		}
	}

	return true
}

// below returns the set of a field.
func below(set *structpb.Struct, name string) *structpb.Struct {
	return set.GetFields()["f:"+name].GetStructValue()
}

// defaulted returns a spec with the defaults that the API server gives to what is in
// spec.forProvider.
func defaulted(spec any) any {
	s, _ := spec.(map[string]any)
	if p, _ := s["forProvider"].(map[string]any); p["stateVariable"] == nil {
		return spec
	}

	return manifest.Overlay(map[string]any{"forProvider": map[string]any{
		"stateVariable": map[string]any{"present": string(common.StatePresent), "absent": string(common.StateAbsent)},
	}}, s)
}

// condition returns the status and the message of a condition of an AnsibleRun. The
// status is Unknown when the condition does not tell of the current generation.
func condition(o map[string]any, typ string) (status, message string) {
	c := manifest.Condition(o, typ)
	if c == nil || !manifest.IsCurrent(o, c) {
		return conditionUnknown, ""
	}

	return manifest.Text(c, "status"), manifest.Text(c, "message")
}

// isReady is true when an observed AnsibleRun is Ready and Synced in its current
// generation, and not being deleted.
func isReady(o map[string]any) bool {
	ready, _ := condition(o, conditionReady)
	synced, _ := condition(o, conditionSynced)

	return ready == conditionTrue && synced == conditionTrue && !manifest.IsDeleted(o)
}

// view returns what expressions see of an observed run. What it reports of itself
// is there by name: content that is given a run as a whole is not to run again
// because that one did.
func view(o map[string]any) value.Partial {
	v := map[string]any{"ready": isReady(o), "metadata": viewMetadata(o)}

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

	return partial(v, "metadata", "spec", "outputs")
}

// viewXR returns what expressions see of the XR. The XR as a whole is what its
// author has written: what Crossplane and this function report there, run by run,
// would change the inputs of the runs otherwise.
func viewXR(o map[string]any) value.Partial {
	v := map[string]any{"metadata": viewMetadata(o)}

	for _, f := range []string{"apiVersion", "kind"} {
		if x, ok := o[f]; ok {
			v[f] = x
		}
	}

	own := []string{"crossplane"}
	if isLegacy(o) {
		own = legacy[:]
	}

	for f, own := range map[string][]string{"spec": own, "status": reservedStatus[:]} {
		if x, ok := o[f].(map[string]any); ok {
			v[f] = without(x, own...)
		}
	}

	return partial(v, "apiVersion", "kind", "metadata", "spec")
}

// viewMetadata of an object. What the API server counts and notes there is not part
// of the whole.
func viewMetadata(o map[string]any) value.Partial {
	m, _ := o["metadata"].(map[string]any)
	m = maps.Clone(m)
	delete(m, FieldManaged)

	if a, ok := m["annotations"].(map[string]any); ok {
		m["annotations"] = without(a, corev1.LastAppliedConfigAnnotation)
	}

	return partial(m, "name", "namespace", "uid", "labels", "annotations")
}

// partial is an object as a whole with these fields.
func partial(fields map[string]any, names ...string) value.Partial {
	return value.Partial{Fields: fields, Whole: slices.DeleteFunc(manifest.SortedKeys(fields), func(name string) bool { return !slices.Contains(names, name) })}
}

// without is an object as a whole without these fields.
func without(fields map[string]any, names ...string) value.Partial {
	return value.Partial{Fields: fields, Whole: slices.DeleteFunc(manifest.SortedKeys(fields), func(name string) bool { return slices.Contains(names, name) })}
}
