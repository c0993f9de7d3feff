package scaffold

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	yaml "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/spelling"
)

// A watch is an entry of an operator's watches.yaml: a kind, and what runs for its
// objects.
//
// See https://sdk.operatorframework.io/docs/building-operators/ansible/reference/watches.
type watch struct {
	Group   string `yaml:"group"`
	Version string `yaml:"version"`
	Kind    string `yaml:"kind"`

	content   `yaml:",inline"`
	Finalizer *finalizer `yaml:"finalizer"`

	ReconcilePeriod             string       `yaml:"reconcilePeriod"`
	MaxRunnerArtifacts          *int         `yaml:"maxRunnerArtifacts"`
	ManageStatus                *bool        `yaml:"manageStatus"`
	WatchDependentResources     *bool        `yaml:"watchDependentResources"`
	WatchClusterScopedResources bool         `yaml:"watchClusterScopedResources"`
	WatchAnnotationsChanges     bool         `yaml:"watchAnnotationsChanges"`
	SnakeCaseParameters         *bool        `yaml:"snakeCaseParameters"`
	MarkUnsafe                  *bool        `yaml:"markUnsafe"`
	Blacklist                   []dependent  `yaml:"blacklist"`
	Selector                    *requirement `yaml:"selector"`

	// at is where it is written: a file, and an index in it.
	at string
}

// content of a watch or of its finalizer: one of a role and a playbook, or neither.
type content struct {
	Role     string    `yaml:"role"`
	Playbook string    `yaml:"playbook"`
	Vars     yaml.Node `yaml:"vars"`
}

// A finalizer says what runs when an object is deleted.
type finalizer struct {
	Name    string `yaml:"name"`
	content `yaml:",inline"`
}

// A dependent is a kind of objects that content makes.
type dependent struct {
	Group   string `yaml:"group"`
	Version string `yaml:"version"`
	Kind    string `yaml:"kind"`
}

// A requirement for labels.
type requirement struct {
	MatchLabels      map[string]string `yaml:"matchLabels"`
	MatchExpressions []struct {
		Key      string   `yaml:"key"`
		Operator string   `yaml:"operator"`
		Values   []string `yaml:"values"`
	} `yaml:"matchExpressions"`
}

// Names of what a watch can have. The operator reads them in any case.
var (
	watchKeys = []string{ //nolint:gochecknoglobals // Go has no constant slices.
		"group", "version", "kind", "role", "playbook", "vars", "finalizer", "reconcilePeriod", "maxRunnerArtifacts",
		"manageStatus",
		"watchDependentResources", "watchClusterScopedResources", "watchAnnotationsChanges", "snakeCaseParameters",
		"markUnsafe", "blacklist", "selector",
	}
	finalizerKeys = []string{"name", "role", "playbook", "vars"} //nolint:gochecknoglobals // Go has no constant slices.
	dependentKeys = []string{"group", "version", "kind"}         //nolint:gochecknoglobals // Go has no constant slices.
	selectorKeys  = []string{"matchLabels", "matchExpressions"}  //nolint:gochecknoglobals // Go has no constant slices.
)

// loadWatches of a file. An operator replaces references to its environment in the
// file, and so does this function.
func loadWatches(file string) ([]watch, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, errors.Wrap(err, "cannot read the watches of the operator")
	}

	name := filepath.Base(file)

	// What is no name of a variable stays, as in a regular expression.
	var missing []string

	text := os.Expand(string(b), func(name string) string {
		v, ok := os.LookupEnv(name)
		if !ok && identifier.MatchString(name) {
			missing = append(missing, name)
		}

		if !ok {
			v = "${" + name + "}"
		}

		return v
	})

	if len(missing) > 0 {
		return nil, errors.Errorf("%s refers to the operator's environment: set %s for this command", name,
			strings.Join(missing, ", "))
	}

	var entries []yaml.Node
	if err := yaml.Unmarshal([]byte(text), &entries); err != nil {
		return nil, errors.Wrapf(err, "cannot read %s, which must be a list", name)
	}

	var watches []watch

	for i := range entries {
		w := watch{at: fmt.Sprintf("entry %d of %s", i+1, name)}
		if err := w.read(&entries[i]); err != nil {
			return nil, errors.Wrap(err, w.at)
		}

		w.at += ", " + w.Kind
		if err := w.check(); err != nil {
			return nil, errors.Wrap(err, w.at)
		}

		watches = append(watches, w)
	}

	if len(watches) == 0 {
		return nil, errors.Errorf("%s has no entries", name)
	}

	return watches, nil
}

// read an entry.
func (w *watch) read(n *yaml.Node) error {
	if err := known(n, watchKeys); err != nil {
		return err
	}

	for key, keys := range map[string][]string{"finalizer": finalizerKeys, "selector": selectorKeys} {
		if err := known(child(n, key), keys); err != nil {
			return errors.Wrap(err, key)
		}
	}

	if list := child(n, "blacklist"); list != nil {
		for _, item := range list.Content {
			if err := known(item, dependentKeys); err != nil {
				return errors.Wrap(err, "blacklist")
			}
		}
	}

	return errors.Wrap(n.Decode(w), "cannot read it")
}

// known fails for a mapping with keys other than these, and writes those in other case
// as they are here.
func known(n *yaml.Node, keys []string) error {
	if n == nil || n.Tag == "!!null" {
		return nil
	}

	if n.Kind != yaml.MappingNode {
		return errors.Errorf("line %d: must be a mapping", n.Line)
	}

	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]

		at := slices.IndexFunc(keys, func(k string) bool { return strings.EqualFold(k, key.Value) })
		if at < 0 {
			return errors.Errorf("line %d: there is no option %q%s", key.Line, key.Value, spelling.Hint(key.Value, keys))
		}

		key.Value = keys[at]
	}

	return nil
}

// check what the operator checks, too.
func (w *watch) check() error {
	switch {
	case w.Kind == "" || w.Version == "":
		return errors.New("kind and version must be set")
	case w.Role == "" && w.Playbook == "":
		return errors.New("one of role and playbook must be set")
	case w.Role != "" && w.Playbook != "":
		return errors.New("only one of role and playbook can be set")
	}

	if _, err := w.period(); err != nil {
		return err
	}

	f := w.Finalizer
	if f == nil {
		return nil
	}

	switch {
	case f.Name == "":
		return errors.New("the finalizer must have a name")
	case f.Role != "" && f.Playbook != "":
		return errors.New("only one of role and playbook can be set for the finalizer")
	case f.Role == "" && f.Playbook == "" && len(f.Vars.Content) == 0:
		return errors.New("the finalizer must have a role, a playbook or vars")
	}

	return nil
}

// defaultPeriod is that of an operator for which nothing else is said.
const defaultPeriod = 10 * time.Hour

// period after which content runs although nothing has changed.
func (w *watch) period() (time.Duration, error) {
	if w.ReconcilePeriod == "" {
		return defaultPeriod, nil
	}

	d, err := time.ParseDuration(w.ReconcilePeriod)
	if err != nil || d < 0 {
		return 0, errors.Errorf("the reconcilePeriod %q is no duration such as 30m", w.ReconcilePeriod)
	}

	if d == 0 {
		return defaultPeriod, nil
	}

	return d, nil
}

// groupKind of the objects.
func (w *watch) groupKind() schema.GroupKind {
	return schema.GroupKind{Group: w.Group, Kind: w.Kind}
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

// condition is the expression that is true for an object that the requirement selects;
// empty for all objects.
func (r *requirement) condition(object string) (string, error) {
	if r == nil {
		return "", nil
	}

	quote := func(s string) string { return "'" + s + "'" }
	label := func(key string) string { return object + ".metadata.?labels[?" + quote(key) + "]" }

	var all []string

	for _, key := range slices.Sorted(maps.Keys(r.MatchLabels)) {
		all = append(all, label(key)+" == optional.of("+quote(r.MatchLabels[key])+")")
	}

	for _, e := range r.MatchExpressions {
		values := make([]string, len(e.Values))
		for i := range e.Values {
			values[i] = quote(e.Values[i])
		}

		in := label(e.Key) + ".hasValue() && " + label(e.Key) + ".value() in [" + strings.Join(values, ", ") + "]"

		switch e.Operator {
		case "In":
			all = append(all, in)
		case "NotIn":
			all = append(all, "!("+in+")")
		case "Exists":
			all = append(all, label(e.Key)+".hasValue()")
		case "DoesNotExist":
			all = append(all, "!"+label(e.Key)+".hasValue()")
		default:
			return "", errors.Errorf("the selector has no operator %q, only In, NotIn, Exists and DoesNotExist", e.Operator)
		}
	}

	return strings.Join(all, " && "), nil
}
