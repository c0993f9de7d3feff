package render

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
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
	group, _, _ := strings.Cut(text(o, fieldAPIVersion), "/")
	return text(o, fieldKind) == common.KindAnsibleRun && (group == common.GroupCluster || group == common.GroupNamespaced)
}

// Owned returns the FieldsV1 set of what core's own apply owns of an observed object;
// nil where managed fields do not say.
func Owned(o *structpb.Struct) *structpb.Struct {
	var owned *structpb.Struct

	fields := o.GetFields()[fieldMetadata].GetStructValue().GetFields()[FieldManaged]
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
		owned = map[string]any{fieldSpec: o[fieldSpec], fieldMetadata: map[string]any{fieldAnnotations: ownAnnotations(o)}}
	}

	if p, _, _ := unstructured.NestedFieldNoCopy(o, fieldSpec, fieldForProvider); p != nil && set != nil {
		spec, _ := owned[fieldSpec].(map[string]any)
		if spec == nil {
			spec = map[string]any{}
		}

		owned[fieldSpec], spec[fieldForProvider] = spec, p
	}

	metadata := map[string]any{}

	for _, name := range []string{fieldLabels, fieldAnnotations} {
		if m, _, _ := unstructured.NestedFieldNoCopy(owned, fieldMetadata, name); m != nil {
			metadata[name] = m
		}
	}

	out := map[string]any{fieldAPIVersion: o[fieldAPIVersion], fieldKind: o[fieldKind], fieldMetadata: metadata}
	if spec, ok := owned[fieldSpec]; ok {
		out[fieldSpec] = spec
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

	annotations, _, _ := unstructured.NestedFieldNoCopy(o, fieldMetadata, fieldAnnotations)
	all, _ := annotations.(map[string]any)

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
		return within(rendered, observed)
	}

	for _, field := range []string{fieldLabels, fieldAnnotations} {
		was, _, _ := unstructured.NestedFieldNoCopy(observed, fieldMetadata, field)
		is, _, _ := unstructured.NestedFieldNoCopy(rendered, fieldMetadata, field)

		if !isAdded(was, below(below(owned, fieldMetadata), field), is) {
			return false
		}
	}

	return isSame(defaulted(observed[fieldSpec]), below(owned, fieldSpec), defaulted(rendered[fieldSpec]))
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
		if _, ok := owned.GetFields()["f:"+name]; !equal(v, nil) && (!ok || !equal(v, was[name])) {
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
		return equal(observed, rendered)
	}

	is, ok := rendered.(map[string]any)
	if !ok && rendered != nil {
		return false
	}

	for name, v := range was {
		set, ok := owned.GetFields()["f:"+name]

		switch {
		case name == fieldForProvider:
			ok = equal(v, is[name])
		case ok:
			ok = isSame(v, set.GetStructValue(), is[name])
		default:
			ok = equal(is[name], nil)
		}

		if !ok {
			return false
		}
	}

	for name, v := range is {
		if _, ok := was[name]; !ok && !equal(v, nil) {
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
	if p, _ := s[fieldForProvider].(map[string]any); p["stateVariable"] == nil {
		return spec
	}

	return Overlay(map[string]any{fieldForProvider: map[string]any{
		"stateVariable": map[string]any{"present": string(common.StatePresent), "absent": string(common.StateAbsent)},
	}}, s)
}

// canonical returns a value such that equal ones compare equal: all numbers are
// float64, and neither null nor an empty object is different from nothing.
func canonical(v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case []any:
		l := make([]any, len(v))
		for i := range v {
			l[i] = canonical(v[i])
		}

		return l
	case map[string]any:
		var m map[string]any

		for k := range v {
			if c := canonical(v[k]); c != nil {
				if m == nil {
					m = map[string]any{}
				}

				m[k] = c
			}
		}

		if m != nil {
			return m
		}

		return nil
	}

	return v
}

// equal is true for values that are the same once they are canonical.
func equal(a, b any) bool {
	switch x := a.(type) {
	case nil:
		_, ok := b.(map[string]any)
		return b == nil || ok && equal(b, nil)
	case map[string]any:
		y, ok := b.(map[string]any)

		for k := range x {
			if !equal(x[k], y[k]) {
				return false
			}
		}

		for k := range y {
			if _, ok := x[k]; !ok && !equal(y[k], nil) {
				return false
			}
		}

		return ok || b == nil
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, equal)
	}

	return reflect.DeepEqual(canonical(a), canonical(b))
}

// within is true when all of a value is in another one, once both are canonical.
func within(a, b any) bool {
	part, ok := a.(map[string]any)
	if !ok {
		return a == nil || equal(a, b)
	}

	whole, _ := b.(map[string]any)

	for k := range part {
		if !within(part[k], whole[k]) {
			return false
		}
	}

	return true
}

// condition returns the status and the message of a condition of an AnsibleRun. The
// status is Unknown when the condition does not tell of the current generation.
func condition(o map[string]any, typ string) (status, message string) {
	c := conditionOf(o, typ)
	if c == nil || !isCurrent(o, c) {
		return conditionUnknown, ""
	}

	return text(c, fieldStatus), text(c, "message")
}

// conditionOf any object; nil when it has none of that type.
func conditionOf(o map[string]any, typ string) map[string]any {
	conditions, _, _ := unstructured.NestedFieldNoCopy(o, fieldStatus, "conditions")
	list, _ := conditions.([]any)

	for i := range list {
		if c, _ := list[i].(map[string]any); c["type"] == typ {
			return c
		}
	}

	return nil
}

// isCurrent is true for a condition that tells of the current generation.
func isCurrent(o, condition map[string]any) bool {
	generation, _, _ := unstructured.NestedFieldNoCopy(o, fieldMetadata, "generation")
	return canonical(condition["observedGeneration"]) == canonical(generation)
}

// isReady is true when an observed AnsibleRun is Ready and Synced in its current
// generation, and not being deleted.
func isReady(o map[string]any) bool {
	ready, _ := condition(o, conditionReady)
	synced, _ := condition(o, conditionSynced)

	return ready == conditionTrue && synced == conditionTrue && !isDeleted(o)
}

func isDeleted(o map[string]any) bool {
	_, deleted, _ := unstructured.NestedString(o, fieldMetadata, "deletionTimestamp")
	return deleted
}

// view returns what expressions see of an observed run. What it reports of itself
// is there by name: content that is given a run as a whole is not to run again
// because that one did.
func view(o map[string]any) expression.Partial {
	v := map[string]any{"ready": isReady(o), fieldMetadata: viewMetadata(o)}

	for _, f := range []string{fieldSpec, fieldStatus} {
		if x, ok := o[f]; ok {
			v[f] = x
		}
	}

	provider, _, _ := unstructured.NestedFieldNoCopy(o, fieldStatus, fieldAtProvider)
	at, _ := provider.(map[string]any)

	for _, f := range []string{"outputs", "lastRun", "lastApply", "drift", "content"} {
		if x, ok := at[f]; ok {
			v[f] = x
		}
	}

	return partial(v, fieldMetadata, fieldSpec, "outputs")
}

// viewXR returns what expressions see of the XR. The XR as a whole is what its
// author has written: what Crossplane and this function report there, run by run,
// would change the inputs of the runs otherwise.
func viewXR(o map[string]any) expression.Partial {
	v := map[string]any{fieldMetadata: viewMetadata(o)}

	for _, f := range []string{fieldAPIVersion, fieldKind} {
		if x, ok := o[f]; ok {
			v[f] = x
		}
	}

	own := []string{"crossplane"}
	if isLegacy(o) {
		own = legacy[:]
	}

	for f, own := range map[string][]string{fieldSpec: own, fieldStatus: reservedStatus[:]} {
		if x, ok := o[f].(map[string]any); ok {
			v[f] = without(x, own...)
		}
	}

	return partial(v, fieldAPIVersion, fieldKind, fieldMetadata, fieldSpec)
}

// viewMetadata of an object. What the API server counts and notes there is not part
// of the whole.
func viewMetadata(o map[string]any) expression.Partial {
	m, _ := o[fieldMetadata].(map[string]any)
	m = maps.Clone(m)
	delete(m, FieldManaged)

	if a, ok := m[fieldAnnotations].(map[string]any); ok {
		m[fieldAnnotations] = without(a, corev1.LastAppliedConfigAnnotation)
	}

	return partial(m, fieldName, fieldNamespace, "uid", fieldLabels, fieldAnnotations)
}

// partial is an object as a whole with these fields.
func partial(fields map[string]any, names ...string) expression.Partial {
	return expression.Partial{Fields: fields, Whole: slices.DeleteFunc(sortedKeys(fields), func(name string) bool { return !slices.Contains(names, name) })}
}

// without is an object as a whole without these fields.
func without(fields map[string]any, names ...string) expression.Partial {
	return expression.Partial{Fields: fields, Whole: slices.DeleteFunc(sortedKeys(fields), func(name string) bool { return slices.Contains(names, name) })}
}
