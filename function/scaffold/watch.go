package scaffold

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/selection"
	syaml "sigs.k8s.io/yaml"

	"github.com/crossplane/function-sdk-go/errors"
)

// A watch is an entry of an operator's watches.yaml: a kind, and the content that runs for its objects.
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
	// Clusterwide is ignored: the provider watches dependents in any scope.
	Clusterwide any `json:"watchClusterScopedResources"`

	// at is the position for messages: the index, the file and the kind.
	at string
}

// A content is the content of a watch or of its finalizer: a role, a playbook, or neither.
type content struct {
	Role     string         `json:"role"`
	Playbook string         `json:"playbook"`
	Vars     map[string]any `json:"vars"`
}

// A finalizer has the content that runs when an object is deleted.
type finalizer struct {
	content `json:",inline"`

	Name string `json:"name"`
}

// loadWatches reads a watches.yaml. Like an operator, it expands environment variables in the file.
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

		return "${" + name + "}" // For example a $ in a regular expression.
	})

	if len(missing) > 0 {
		return nil, errors.Errorf("%s refers to the operator's environment: set %s for this command", name,
			strings.Join(missing, ", "))
	}

	// Like the operator, this ignores the case of names.
	var watches []watch
	if err := syaml.UnmarshalStrict([]byte(text), &watches); err != nil {
		return nil, errors.Wrapf(inYAML(err), "cannot read %s", name)
	}

	if len(watches) == 0 {
		return nil, errors.Errorf("%s has no entries", name)
	}

	for i := range watches {
		watches[i].at = fmt.Sprintf("entry %d of %s, %s", i+1, name, watches[i].Kind)
	}

	return watches, nil
}

// isKubernetes is true for a kind of Kubernetes itself.
func (w *watch) isKubernetes() bool {
	return !strings.Contains(w.Group, ".") || strings.HasSuffix(w.Group, ".k8s.io")
}

// is returns the value of an option with the default true.
func is(option *bool) bool { return option == nil || *option }

// variable returns the name of the variable in which an operator passes the whole object.
func (w *watch) variable() string {
	return strings.NewReplacer(".", "_", "-", "_").Replace("_" + w.Group + "_" + strings.ToLower(w.Kind))
}

// period returns the time between runs without changes. The default of operators is 10 hours.
func (w *watch) period() string {
	period := cmp.Or(w.ReconcilePeriod.Duration, 10*time.Hour).String()
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(period)
}

// condition returns an expression that is true for the objects that the watch selects; empty for all objects.
func (w *watch) condition(object string) (string, error) {
	selector, err := metav1.LabelSelectorAsSelector(w.Selector)
	if err != nil {
		return "", errors.Wrap(err, "cannot read the selector")
	}

	var all []string

	requirements, _ := selector.Requirements() // Without a selector, there are none.
	for _, r := range requirements {
		label := object + ".metadata.?labels[?'" + r.Key() + "']"

		is := label + ".optMap(v, v in ['" + strings.Join(r.Values().List(), "', '") + "']).orValue(false)"
		if r.Values().Len() == 0 {
			is = label + ".hasValue()"
		}

		if r.Operator() == selection.NotIn || r.Operator() == selection.DoesNotExist {
			is = "!" + is
		}

		all = append(all, is)
	}

	return strings.Join(all, " && "), nil
}
