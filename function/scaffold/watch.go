package scaffold

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	syaml "sigs.k8s.io/yaml"

	"github.com/crossplane/function-sdk-go/errors"
)

// A watch is an entry of an operator's watches.yaml: a kind, and what runs for its
// objects.
//
// See https://sdk.operatorframework.io/docs/building-operators/ansible/reference/watches.
type watch struct {
	metav1.GroupVersionKind `json:",inline"`
	content                 `json:",inline"`

	Finalizer *finalizer `json:"finalizer"`

	ReconcilePeriod         metav1.Duration           `json:"reconcilePeriod"`
	MaxRunnerArtifacts      *int                      `json:"maxRunnerArtifacts"`
	ManageStatus            *bool                     `json:"manageStatus"`
	WatchDependentResources *bool                     `json:"watchDependentResources"`
	WatchAnnotationsChanges bool                      `json:"watchAnnotationsChanges"`
	SnakeCaseParameters     *bool                     `json:"snakeCaseParameters"`
	MarkUnsafe              *bool                     `json:"markUnsafe"`
	Blacklist               []metav1.GroupVersionKind `json:"blacklist"`
	Selector                *metav1.LabelSelector     `json:"selector"`
	// Dependents are watched in any scope.
	Clusterwide any `json:"watchClusterScopedResources"`

	// at is where it is written: a file, and an index in it.
	at string
}

// content of a watch or of its finalizer: one of a role and a playbook, or neither.
type content struct {
	Role     string         `json:"role"`
	Playbook string         `json:"playbook"`
	Vars     map[string]any `json:"vars"`
}

// A finalizer says what runs when an object is deleted.
type finalizer struct {
	content `json:",inline"`

	Name string `json:"name"`
}

// loadWatches of a file. An operator replaces references to its environment in the
// file, and so does this function.
func loadWatches(file string) ([]watch, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, errors.Wrap(err, "cannot read the watches of the operator")
	}

	name := filepath.Base(file)

	var missing []string

	text := os.Expand(string(b), func(name string) string {
		v, ok := os.LookupEnv(name)

		switch {
		case ok:
			return v
		case identifier.MatchString(name):
			missing = append(missing, name)
		}

		return "${" + name + "}" // As in a regular expression.
	})

	if len(missing) > 0 {
		return nil, errors.Errorf("%s refers to the operator's environment: set %s for this command", name,
			strings.Join(missing, ", "))
	}

	var entries []json.RawMessage
	if err := syaml.Unmarshal([]byte(text), &entries); err != nil {
		return nil, errors.Wrapf(err, "cannot read %s, which must be a list", name)
	}

	if len(entries) == 0 {
		return nil, errors.Errorf("%s has no entries", name)
	}

	watches := make([]watch, len(entries))

	for i := range watches {
		w := &watches[i]
		w.at = fmt.Sprintf("entry %d of %s", i+1, name)

		// As the operator does, this reads names in any case.
		d := json.NewDecoder(bytes.NewReader(entries[i]))
		d.DisallowUnknownFields()

		if err := d.Decode(w); err != nil {
			return nil, errors.Wrap(err, w.at)
		}

		w.at += ", " + w.Kind
	}

	return watches, nil
}

// groupKind of the objects.
func (w *watch) groupKind() metav1.GroupKind {
	return metav1.GroupKind{Group: w.Group, Kind: w.Kind}
}

// isKubernetes is true for a kind that Kubernetes itself has.
func (w *watch) isKubernetes() bool {
	return !strings.Contains(w.Group, ".") || strings.HasSuffix(w.Group, ".k8s.io")
}

// is an option, true unless it is set to false.
func is(option *bool) bool { return option == nil || *option }

// variable is the name of the variable with the object as it is.
func (w *watch) variable() string {
	return strings.NewReplacer(".", "_", "-", "_").Replace("_" + w.Group + "_" + strings.ToLower(w.Kind))
}

// period between runs while nothing changes. That of an operator is 10 hours if nothing else is said.
func (w *watch) period() string {
	if w.ReconcilePeriod.Duration == 0 {
		return "10h"
	}

	period := w.ReconcilePeriod.Duration.String()
	if short, ok := strings.CutSuffix(period, "m0s"); ok {
		return strings.Replace(short+"m", "h0m", "h", 1)
	}

	return period
}

// condition is the expression that is true for an object that the watch selects;
// empty for all objects.
func (w *watch) condition(object string) (string, error) {
	if w.Selector == nil {
		return "", nil
	}

	var all []string

	label := func(key string) string { return object + ".metadata.?labels[?'" + key + "']" }

	for _, key := range slices.Sorted(maps.Keys(w.Selector.MatchLabels)) {
		all = append(all, label(key)+" == optional.of('"+w.Selector.MatchLabels[key]+"')")
	}

	for _, e := range w.Selector.MatchExpressions {
		in := label(e.Key) + ".optMap(v, v in ['" + strings.Join(e.Values, "', '") + "']).orValue(false)"

		switch e.Operator {
		case metav1.LabelSelectorOpIn:
			all = append(all, in)
		case metav1.LabelSelectorOpNotIn:
			all = append(all, "!"+in)
		case metav1.LabelSelectorOpExists:
			all = append(all, label(e.Key)+".hasValue()")
		case metav1.LabelSelectorOpDoesNotExist:
			all = append(all, "!"+label(e.Key)+".hasValue()")
		default:
			return "", errors.Errorf("the selector has no operator %q, only In, NotIn, Exists and DoesNotExist", e.Operator)
		}
	}

	return strings.Join(all, " && "), nil
}
