// Package fields has the table of the fields of runs: where expressions may stand in them,
// what part of an AnsibleRun they become, and what another value means. All packages that
// treat fields by their names ask the table, so a new field is one row of it.
package fields

import (
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// A Kind says where in a field expressions may stand.
type Kind int

const (
	// Literal fields hold no expressions.
	Literal Kind = iota + 1
	// Referring fields hold expressions only in the names of other objects, in values of the environment, in the YAML of
	// inventories, and in what allowed has a key for.
	Referring
	// Computed fields hold expressions anywhere.
	Computed
	// Setting fields are literal, or computed as a whole.
	Setting
)

// A Part of an AnsibleRun.
type Part int

const (
	// Elsewhere are the fields that are no part of an AnsibleRun under their own names.
	Elsewhere Part = iota
	// Labels of an AnsibleRun.
	Labels
	// Annotations of an AnsibleRun.
	Annotations
	// Spec has fields as they are.
	Spec
	// ForProvider are the parameters in the spec.
	ForProvider
)

// An Action is what another value of a field means to a run that is there.
type Action string

// Actions, in lower case for messages.
const (
	// Nothing follows from what the run is called.
	Nothing Action = "nothing"
	// Update the AnsibleRun, without running it.
	Update Action = "update"
	// RunAgain a run with inputs that change, or may change.
	RunAgain Action = "run again"
	// Hold a run that is to be where no run can move to.
	Hold Action = "hold"
	// MayRemove a run, or some of a set, which depends on the XR.
	MayRemove Action = "may remove"
)

// A Field of a run, or of the defaults.
type Field struct {
	Kind   Kind
	Part   Part
	Action Action
	// Own is true for a field that defaults do not have.
	Own bool
	// OfSets is true for a field of the defaults that only runs with forEach take.
	OfSets bool
	// Annotation of the AnsibleRun that a setting becomes.
	Annotation string
	// Check says what a computed value must be. It is nil where the schema of the input says that, as of a literal one.
	Check func(v any) error
}

// table of the fields that v1alpha1.Run has, by their names.
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
	"varFiles":  {Kind: Referring, Part: ForProvider, Action: RunAgain},

	"env":         {Kind: Referring, Part: ForProvider, Action: RunAgain},
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

// Of returns the field of a name. The schema refuses a name that is not in the table; what it
// would be is literal.
func Of(name string) Field {
	if f, ok := table[name]; ok {
		return f
	}

	return Field{Kind: Literal, Action: RunAgain}
}

// Names of the fields for which something is true, sorted.
func Names(is func(Field) bool) []string {
	return slices.DeleteFunc(manifest.SortedKeys(table), func(name string) bool { return !is(table[name]) })
}

// Computes is true when the field with this value is compiled, and not literal.
func (f Field) Computes(v any) bool {
	return f.Kind == Computed || f.Kind == Setting && holdsExpression(v)
}

// holdsExpression is true for a text, or a list with a text, that may hold an expression.
func holdsExpression(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, "${")
	case []any:
		return slices.ContainsFunc(v, holdsExpression)
	}

	return false
}
