// Package fields has a table of the fields of runs: where they may hold expressions, which part of an AnsibleRun they
// become, and what a change of their value does. All packages that treat fields by name use this table, so that a new
// field needs only a row.
package fields

import (
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// A Kind says where a field may hold expressions.
type Kind int

const (
	// Literal fields hold no expressions.
	Literal Kind = iota + 1
	// Referring fields hold expressions only in names of other objects, in values of environment variables, in the YAML
	// of inventories, and in content that allowed has a key for.
	Referring
	// Computed fields hold expressions anywhere.
	Computed
	// Setting fields are either literal or one expression.
	Setting
)

// A Part is the part of an AnsibleRun that a field becomes.
type Part int

const (
	// Elsewhere fields are not copied to an AnsibleRun under their own name.
	Elsewhere Part = iota
	// Labels fields become metadata.labels.
	Labels
	// Annotations fields become metadata.annotations.
	Annotations
	// Spec fields become fields of the spec with the same name.
	Spec
	// ForProvider fields become fields of spec.forProvider with the same name.
	ForProvider
)

// An Action is what happens to an existing AnsibleRun when a field of its run changes.
type Action string

// Actions, in lower case for messages.
const (
	// Nothing happens.
	Nothing Action = "nothing"
	// Update changes the AnsibleRun without running its content.
	Update Action = "update"
	// RunAgain runs the content, since its inputs change or may change.
	RunAgain Action = "run again"
	// Hold keeps the AnsibleRun as it is, since it cannot move to another namespace.
	Hold Action = "hold"
	// MayRemove deletes the AnsibleRun, or some members of a set, depending on the XR.
	MayRemove Action = "may remove"
)

// A Field is a field of a run. Most are also fields of the defaults.
type Field struct {
	Kind   Kind
	Part   Part
	Action Action
	// Own is true for a field that the defaults do not have.
	Own bool
	// OfSets is true for a field of the defaults that applies only to runs with forEach.
	OfSets bool
	// OptionalEntries is true for a list that leaves out an entry with an expression without a value.
	OptionalEntries bool
	// Annotation is the annotation of the AnsibleRun that a setting becomes.
	Annotation string
	// Check validates a computed value. If it is nil, the schema of the input validates computed values, too.
	Check func(v any) error
}

// table has the fields of v1alpha1.Run by name.
var table = map[string]Field{ //nolint:gochecknoglobals // Go has no constant maps.
	"name":          {Kind: Literal, Action: Nothing, Own: true},
	"previousNames": {Kind: Computed, Action: Nothing, Own: true},

	"namespace":   {Kind: Literal, Action: Hold},
	"labels":      {Kind: Computed, Part: Labels, Action: Update, Check: isLabel},
	"annotations": {Kind: Computed, Part: Annotations, Action: Update, Check: isText},

	"when":       {Kind: Computed, Action: MayRemove},
	"readyWhen":  {Kind: Computed, Action: Update, Own: true},
	"forEach":    {Kind: Computed, Action: MayRemove, Own: true},
	"forEachKey": {Kind: Computed, Action: MayRemove, Own: true},
	"removal":    {Kind: Literal, Action: Nothing, OfSets: true},
	"atATime":    {Kind: Literal, Action: Nothing, OfSets: true},
	"prune":      {Kind: Literal, Action: Update},
	"dependsOn":  {Kind: Literal, Action: Update, Own: true},
	"usages":     {Kind: Literal, Action: Update},

	"runPolicy":          {Kind: Setting, Part: Annotations, Action: Update, Annotation: common.AnnotationRunPolicy},
	"pollInterval":       {Kind: Setting, Part: Annotations, Action: Update, Annotation: meta.AnnotationKeyPollInterval},
	"keepOutput":         {Kind: Setting, Part: Annotations, Action: Update, Annotation: common.AnnotationKeepOutput},
	"providerConfigRef":  {Kind: Referring, Part: Spec, Action: RunAgain},
	"managementPolicies": {Kind: Setting, Part: Spec, Action: Update, Check: arePolicies},

	"allowed":        {Kind: Literal, Action: Nothing},
	"project":        {Kind: Referring, Part: ForProvider, Action: RunAgain},
	"role":           {Kind: Literal, Part: ForProvider, Action: RunAgain},
	"roles":          {Kind: Referring, Part: ForProvider, Action: RunAgain},
	"playbook":       {Kind: Referring, Part: ForProvider, Action: RunAgain},
	"playbooks":      {Kind: Referring, Part: ForProvider, Action: RunAgain},
	"playbookInline": {Kind: Literal, Part: ForProvider, Action: RunAgain},
	"hosts":          {Kind: Literal, Part: ForProvider, Action: RunAgain},

	"vars":      {Kind: Computed, Action: RunAgain},
	"varsFrom":  {Kind: Computed, Action: RunAgain},
	"templated": {Kind: Literal, Action: RunAgain},
	"varFiles":  {Kind: Referring, Part: ForProvider, Action: RunAgain, OptionalEntries: true},

	"env":         {Kind: Referring, Part: ForProvider, Action: RunAgain, OptionalEntries: true},
	"inventories": {Kind: Referring, Part: ForProvider, Action: RunAgain},

	"limit":              {Kind: Setting, Part: ForProvider, Action: RunAgain, Check: isLimit},
	"tags":               {Kind: Setting, Part: ForProvider, Action: RunAgain, Check: listOf(isTag)},
	"skipTags":           {Kind: Setting, Part: ForProvider, Action: RunAgain, Check: listOf(isTag)},
	"forks":              {Kind: Literal, Part: ForProvider, Action: Update},
	"verbosity":          {Kind: Setting, Part: ForProvider, Action: Update},
	"timeout":            {Kind: Setting, Part: ForProvider, Action: RunAgain},
	"retryLimit":         {Kind: Setting, Part: ForProvider, Action: Update},
	"approval":           {Kind: Setting, Part: ForProvider, Action: Update},
	"factCachingTimeout": {Kind: Literal, Part: ForProvider, Action: Update},
	"historyLimit":       {Kind: Literal, Part: ForProvider, Action: Update},
	"schedule":           {Kind: Literal, Part: ForProvider, Action: Update},
	"window":             {Kind: Literal, Part: ForProvider, Action: Update},
	"stateVariable":      {Kind: Literal, Part: ForProvider, Action: RunAgain},
	"onDelete":           {Kind: Literal, Part: ForProvider, Action: Update},
}

// Of returns the field of a name. A name that is not in the table is a literal field, which the schema refuses.
func Of(name string) Field {
	if f, ok := table[name]; ok {
		return f
	}

	return Field{Kind: Literal, Action: RunAgain}
}

// Names returns the names of the fields for which a function is true, sorted.
func Names(is func(Field) bool) []string {
	return slices.DeleteFunc(manifest.SortedKeys(table), func(name string) bool { return !is(table[name]) })
}

// Computes is true when a value of the field is compiled as an expression, and not taken literally.
func (f Field) Computes(v any) bool {
	return f.Kind == Computed || f.Kind == Setting && holdsExpression(v)
}

// holdsExpression is true for a string with ${, or a list with one.
func holdsExpression(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, "${")
	case []any:
		return slices.ContainsFunc(v, holdsExpression)
	}

	return false
}
