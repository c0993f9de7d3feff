package scaffold

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansible"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// An Operator is a project of the Operator SDK with Ansible content.
type Operator struct {
	project

	watches []watch
	crds    []crd
	source  string
}

// LoadOperator reads the project in a directory: its watches, or those of other files, its
// CustomResourceDefinitions, and its content. Source is where git has the project, as
// ansible-galaxy has it: URL,VERSION. Without one the project is on a Galaxy server.
func LoadOperator(dir string, watches []string, source string) (Operator, error) {
	o := Operator{source: source}

	if len(watches) == 0 {
		watches = []string{filepath.Join(dir, "watches.yaml")}
	}

	seen := map[metav1.GroupKind]string{}

	for _, f := range watches {
		all, err := loadWatches(f)
		if err != nil {
			return o, err
		}

		for _, w := range all {
			if at, ok := seen[w.groupKind()]; ok {
				return o, errors.Errorf("%s is the second one for its kind, after %s: the XRs of a kind have one Composition", w.at,
					at)
			}

			seen[w.groupKind()] = w.at
			o.watches = append(o.watches, w)
		}
	}

	var err error
	if o.project, err = loadProject(dir); err != nil {
		return o, err
	}

	o.crds, err = loadCRDs(dir)

	return o, err
}

// Write the documents for an operator: for each watch an XRD, a Composition and a
// ProviderConfig; for a kind of Kubernetes itself a WatchOperation in place of the first two.
func (o Operator) Write() ([]Document, error) {
	var files []file

	for i := range o.watches {
		w := &o.watches[i]

		all, err := o.filesOf(w)
		if err != nil {
			return nil, errors.Wrap(err, w.at)
		}

		files = append(files, all...)
	}

	documents, mistakes, err := documentsOf(files)
	if err != nil {
		return nil, err
	}

	return documents, invalid(mistakes)
}

// filesOf a watch.
func (o Operator) filesOf(w *watch) ([]file, error) {
	r := &operatorRun{Operator: o, watch: w}

	plural := strings.TrimSuffix(strings.ToLower(w.Kind)+"s."+w.Group, ".")
	at := slices.IndexFunc(o.crds, func(c crd) bool { return c.groupKind() == w.groupKind() })

	switch {
	case at >= 0:
		r.crd = o.crds[at]
		plural = r.crd.name()
		r.name = plural
	case w.isKubernetes():
		// Other projects may watch the kind, too.
		r.name = o.slug() + "-" + plural
	default:
		return nil, errors.Errorf("no file in %s defines the kind", strings.Join(crdDirs[:], " or "))
	}

	run, err := r.run()
	if err != nil {
		return nil, err
	}

	config, err := r.config()
	if err != nil {
		return nil, err
	}

	dir, _, _ := strings.Cut(plural, ".")

	if at < 0 {
		return []file{{dir + "/watchoperation.yaml", r.watchOperation(run)}, {dir + "/providerconfig.yaml", config}}, nil
	}

	xrd, err := r.crd.definition(o.reported(w.Kind))

	return []file{
		{dir + "/xrd.yaml", xrd},
		{dir + "/composition.yaml", r.composition(run)},
		{dir + "/providerconfig.yaml", config},
	}, err
}

// An operatorRun is the run that a watch of an operator becomes.
type operatorRun struct {
	Operator
	*watch

	// crd is empty for a kind of Kubernetes itself.
	crd crd
	// name of the documents.
	name string
	// own is true once some content is the project's own.
	own bool
}

// operatorMeta is the variable that tells content which object it is for.
const operatorMeta = "ansible_operator_meta"

// object is the expression for what is watched.
func (r *operatorRun) object() string {
	if r.crd.spec == nil {
		return "required.watched"
	}

	return "xr"
}

// run of the content.
func (r *operatorRun) run() (*mapping, error) {
	run := newMapping().set("name", runName(r.Kind))
	if r.crd.spec == nil {
		r.each(run)
	}

	run.set("providerConfigRef", newMapping().set("kind", configKind(r.crd.isCluster())).set("name", r.name))

	if err := r.selected(run); err != nil {
		return nil, err
	}

	vars, err := r.content(run)
	if err != nil {
		return nil, err
	}

	r.poll(run)
	r.parameters(run)
	r.whole(run, vars)

	if r.crd.spec == nil || r.mentions(operatorMeta) != "" {
		vars.set(operatorMeta, newMapping().
			set("name", expression("${"+r.object()+".metadata.name}")).
			set("namespace", expression("${"+r.object()+".metadata.?namespace}")))
	}

	if len(vars.Content) > 0 {
		run.set("vars", vars)
	}

	return run, nil
}

// whole object and spec, as variables of the names that operators give them, if content
// has these.
func (r *operatorRun) whole(run, vars *mapping) {
	spec := r.variable() + "_spec"

	if file := r.mentions(regexp.QuoteMeta(r.variable())); file != "" {
		if r.Kind == "Secret" && r.Group == "" {
			run.Content[0].HeadComment = commentOf([]string{
				file + " uses the variable " + r.variable() +
					", which is left out: the AnsibleRun would show what is in the Secret. " +
					"Name the Secret in varFiles, or let the content read it.",
			})

			return
		}

		vars.set(r.variable(), expression("${"+r.object()+"}"), "The object without its status, for "+file+".")
	}

	if file := r.mentions(regexp.QuoteMeta(spec)); file != "" {
		vars.set(spec, expression("${"+r.object()+".spec}"), "For "+file+".")
	}
}

// selected says for which objects there is a run.
func (r *operatorRun) selected(run *mapping) error {
	condition, err := r.condition(r.object())
	if err != nil || condition == "" {
		return err
	}

	run.set("when", expression("${"+condition+"}"),
		"The selector of the operator. Of an object that it does not select any more, everything stays.")

	if r.crd.spec != nil {
		run.set("prune", false)
	}

	return nil
}

// poll is how often content runs although nothing has changed.
func (r *operatorRun) poll(run *mapping) {
	const annotation = "ansible.sdk.operatorframework.io/reconcile-period"

	period := cmp.Or(r.ReconcilePeriod.Duration, defaultPeriod)

	value := period.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(value, zero) {
			value = value[:len(value)-len("0s")]
		}
	}

	var comments []string
	if period < 5*time.Second {
		comments = append(comments, "The provider polls every 5 seconds at most.")
	}

	if r.crd.spec != nil {
		value = "${xr.metadata.?annotations[?'" + annotation + "'].orValue('" + value + "')}"
	}

	run.set("annotations", newMapping().set("crossplane.io/poll-interval", expression(value), comments...))
}

// parameters are the fields of the spec as variables.
func (r *operatorRun) parameters(run *mapping) {
	if r.crd.spec == nil {
		return
	}

	from := newMapping().set("value", expression("${xr.spec}"))

	var exclude, comments []string

	if is(r.SnakeCaseParameters) {
		from.set("keys", "SnakeCase")
	}

	for variable, property := range r.variables() {
		if err := ansible.CheckVariable(variable); err != nil {
			exclude = append(exclude, property)
			comments = append(comments,
				"spec."+property+" is left out: "+err.Error()+". Give it to the content as another variable, below vars.")
		}
	}

	if len(exclude) > 0 {
		slices.Sort(exclude)
		slices.Sort(comments)
		from.set("exclude", exclude)
	}

	if !is(r.MarkUnsafe) {
		comments = append(comments, "The operator had markUnsafe: false. Here Ansible never templates values of an object.")
	}

	run.set("varsFrom", []*mapping{from}, comments...)
}

// variables that the known fields of the spec become, with the fields.
func (r *operatorRun) variables() map[string]string {
	all := map[string]string{}

	for property := range r.crd.properties() {
		variable := property
		if is(r.SnakeCaseParameters) {
			variable = ansible.SnakeCase(property)
		}

		all[variable] = property
	}

	return all
}

// A part is content that runs, by its full name.
type part struct {
	role, playbook string
	// dir of the role in the project; empty for one that requirements bring.
	dir string
}

// part of a content.
func (r *operatorRun) part(c content) (p part, err error) {
	switch {
	case c.Role != "" && c.Playbook != "":
		return p, errors.New("only one of role and playbook can be set")
	case c.Role != "":
		p.role, p.dir, err = r.role(c.Role)
		r.own = r.own || p.dir != ""
	case c.Playbook != "":
		p.playbook, err = r.playbook(c.Playbook)
		r.own = true
	default:
		return p, errors.New("one of role and playbook must be set")
	}

	return p, err
}

// set the part as the whole content of a run.
func (p part) set(run *mapping, comments ...string) {
	if p.role != "" {
		run.set("role", p.role, comments...)
		return
	}

	run.set("playbook", p.playbook, comments...)
}

// content of a run. It returns the variables that are left for the run.
func (r *operatorRun) content(run *mapping) (*mapping, error) {
	present, err := r.part(r.watch.content)
	if err != nil {
		return nil, err
	}

	f, absent, vars := r.Finalizer, present, r.Vars
	if f != nil && r.crd.spec != nil && (f.Role != "" || f.Playbook != "") {
		if absent, err = r.part(f.content); err != nil {
			return nil, err
		}
	}

	comments := r.elsewhere()
	nothing := ""

	switch {
	case r.crd.spec == nil && f != nil:
		nothing = "The finalizer of the operator has no equivalent: an Operation does not run when the object is deleted."
	case f == nil && r.crd.spec != nil:
		nothing = "The operator has no finalizer for the kind: when an object is deleted nothing runs, " +
			"and what it owns goes with it."
	}

	if f == nil || r.crd.spec == nil {
		present.set(run, comments...)
		run.set("managementPolicies", []string{"Observe", "Create", "Update"}, slices.DeleteFunc([]string{nothing},
			func(s string) bool { return s == "" })...)

		return newMapping().add(object(escape(vars))), nil
	}

	if absent != present || !r.state(run, present, comments) {
		err = r.both(run, present, absent, comments)
	}

	// What the finalizer says takes variables away from the run.
	return newMapping().add(object(escape(without(vars, manifest.SortedKeys(f.Vars)...)))), err
}

// elsewhere says what the project refers to that only the operator's container has.
func (r *operatorRun) elsewhere() []string {
	var comments []string

	if file := r.mentions(regexp.QuoteMeta(home)); file != "" {
		comments = append(comments, file+" refers to "+home+", which is not there: call roles and files by their names.")
	}

	if file := r.mentions("/tmp"); file != "" {
		comments = append(comments,
			file+" refers to /tmp, which content cannot write: name the directory of the environment variable TMPDIR instead, "+
				"which each run has for itself. "+
				"Or grant it with confinement: {writePaths: [/tmp]} in the configuration, or to all content with the provider's "+
				"flag --write-path=/tmp: other content with this right finds the same files there.")
	}

	return comments
}

// state tells content of the deletion with a variable; false if one that is always there
// cannot.
func (r *operatorRun) state(run *mapping, present part, comments []string) bool {
	names := manifest.SortedKeys(r.Finalizer.Vars)
	if len(names) != 1 {
		return false
	}

	name := names[0]
	value := manifest.Text(r.Vars, name)
	absent, _ := r.Finalizer.Vars[name].(string)
	said := "When the object is deleted the content runs once more, with the variable of the operator's finalizer."

	if value == "" && present.dir != "" {
		options, _ := defaultsIn(filepath.Join(r.dir, filepath.FromSlash(present.dir)))
		for _, o := range options {
			if o.Name == name && o.Type == typeStr {
				value, _ = o.Default.(string)
			}
		}
	}

	if property, ok := r.variables()[name]; ok {
		// Any other field would be of no effect.
		if absent != "absent" {
			return false
		}

		value = cmp.Or(value, "present")
		said += " It wins over the field spec." + property + "."
	}

	if value == "" || absent == "" {
		return false
	}

	present.set(run, comments...)
	run.set("stateVariable", newMapping().set("name", name).set("present", escape(value)).set("absent", absent), said)

	return true
}

// both contents in one playbook: what runs while an object is there, and what runs when it
// is deleted.
func (r *operatorRun) both(run *mapping, present, absent part, comments []string) error {
	vars := r.Finalizer.Vars

	for _, name := range manifest.SortedKeys(vars) {
		if property, ok := r.variables()[name]; ok {
			return errors.Errorf(
				"the variable %s of the finalizer is that of the field spec.%s, too, and the value of the field would win: "+
					"call that of the finalizer otherwise", name, property)
		}
	}

	var plays, tasks []*mapping

	for _, p := range []struct {
		part

		name, state string
		vars        map[string]any
	}{
		{present, "Run the role", "present", manifest.Pick(r.Vars, manifest.SortedKeys(vars)...)},
		{absent, "Run the role of the finalizer", "absent", vars},
	} {
		m := newMapping()

		if p.role != "" {
			m.set("name", p.name).set("ansible.builtin.include_role", newMapping().set("name", p.role))
		} else {
			m.set("ansible.builtin.import_playbook", p.playbook)
		}

		if len(p.vars) > 0 {
			m.set("vars", p.vars)
		}

		m.set("when", "ansible_provider_meta.managed_resource.state == '"+p.state+"'")

		if p.role != "" {
			tasks = append(tasks, m)
		} else {
			plays = append(plays, m)
		}
	}

	if len(tasks) > 0 {
		plays = append(plays, newMapping().set("hosts", "localhost").set("tasks", tasks))
	}

	setPlaybook(run, plays, append(comments, "When the object is deleted, what the operator's finalizer says runs."))

	return nil
}

// composition of the XRs, with the run.
func (r *operatorRun) composition(run *mapping) *mapping {
	comments := []string{"What " + r.at + ", becomes."}

	if r.Version != r.crd.stored {
		comments = append(comments,
			"The operator watched version "+r.Version+". A Composition gets objects in the version that is stored.")
	}

	if f := r.Finalizer; f != nil {
		comments = append(comments,
			"Objects that were there before have the operator's finalizer "+f.Name+", and nothing removes it once the operator "+
				"is gone: remove it from them.")
	}

	if r.WatchAnnotationsChanges {
		comments = append(comments,
			"watchAnnotationsChanges: content runs when its variables change. For an annotation, add a variable with the "+
				"value of that annotation.")
	}

	if r.MaxRunnerArtifacts != nil {
		comments = append(comments, "maxRunnerArtifacts has no equivalent: nothing is kept on disk. "+
			"The annotation ansible.crossplane.io/keepOutput of an AnsibleRun keeps the output of its last run.")
	}

	in := inputOf(run).set("status", expression("${runs."+runName(r.Kind)+".reported}"),
		"All that the content reports, its conditions included.")

	if is(r.ManageStatus) {
		in.set("operatorConditions", true, "The conditions Running, Successful and Failure.")
	}

	of := schema.GroupVersionKind{Group: r.Group, Version: r.crd.stored, Kind: r.Kind}

	return compositionOf(r.name, of, in, comments...)
}

// each object of one of Kubernetes' own kinds has a run.
func (r *operatorRun) each(run *mapping) {
	const key = "${[(has(required.watched.metadata.namespace) ? required.watched.metadata.namespace + '.' : '') + " +
		"required.watched.metadata.name]}"

	namespace, _ := r.serviceAccount()

	run.set("scope", "Namespaced").
		set("namespace", cmp.Or(namespace, "default"),
			"Each object has an AnsibleRun in this namespace. It stays when the object is deleted.").
		set("forEach", expression(key))
}

// labelWatchedBy of an object names the project that runs for it.
const labelWatchedBy = v1alpha1.Group + "/watched-by"

// watchOperation for objects of Kubernetes' own kinds, which no XRD can define.
func (r *operatorRun) watchOperation(run *mapping) *mapping {
	watched := newMapping().
		set("apiVersion", schema.GroupVersion{Group: r.Group, Version: r.Version}.String()).
		set("kind", r.Kind)

	if s := r.Selector; s != nil && len(s.MatchLabels) > 0 {
		watched.set("matchLabels", manifest.Strings(s.MatchLabels))
	} else {
		watched.set("matchLabels", newMapping().set(labelWatchedBy, r.slug()),
			"The operator watched all objects of the kind, those of others among them. Here nothing is watched that does not "+
				"have this label: give it to the objects that are meant.")
	}

	return newMapping().
		set("apiVersion", "ops.crossplane.io/v1alpha1",
			"What "+r.at+", becomes. Kubernetes itself defines the kind, so that its objects cannot become XRs. "+
				"Operations are an alpha feature of Crossplane, and Crossplane needs the right to read these objects.").
		set("kind", "WatchOperation").
		set("metadata", newMapping().set("name", r.name)).
		set("spec", newMapping().
			set("watch", watched).
			set("operationTemplate", newMapping().set("spec", pipelineOf(newMapping(), inputOf(run)))))
}

// config of the run: where its content comes from, and its environment.
func (r *operatorRun) config() (*mapping, error) {
	requirements, err := r.allRequirements(r.own, r.source)
	if err != nil {
		return nil, err
	}

	spec := newMapping()
	if requirements != "" {
		spec = requiring(requirements)
	}

	env, err := r.environment()
	if err != nil {
		return nil, err
	}

	if len(env.Content) > 0 {
		spec.set("vars", env, "What the operator's Deployment has, too.")
	}

	r.cluster(spec)

	return configOf(r.crd.isCluster(), r.name, spec,
		"Where the content comes from, and what it may do in the cluster."), nil
}

// cluster is what the content may do in it: what the operator might.
func (r *operatorRun) cluster(spec *mapping) {
	namespace, name := r.serviceAccount()
	comments := []string{"The operator's own."}

	if name == "" {
		namespace, name = "operator-system", "controller-manager"
		comments = []string{"Name that of the operator."}
	}

	ref := newMapping().set("name", name)
	if namespace != "" {
		ref.set("namespace", namespace)
	}

	kubernetes := newMapping().set("serviceAccountRef", ref, append(comments, r.given())...).set("ownerReferences", true)

	if is(r.WatchDependentResources) {
		kubernetes.set("watchDependents", true)

		var ignored []*mapping
		for _, d := range r.Blacklist {
			ignored = append(ignored, newMapping().set("group", d.Group).set("kind", d.Kind))
		}

		if len(ignored) > 0 {
			kubernetes.set("ignoreDependents", ignored)
		}
	}

	spec.set("kubernetes", kubernetes)
}

// given says which content gets the rights of the account by the configuration, and how to limit that.
func (r *operatorRun) given() string {
	if r.crd.isCluster() {
		return "Any AnsibleRun of the group " + common.GroupCluster +
			" may run any playbook with its rights: let only Crossplane create them."
	}

	return "Any AnsibleRun, in any namespace, may run any playbook with its rights: let only Crossplane create them. " +
		"Or leave out the namespace, and give an account of this name to each namespace with objects: then the content has " +
		"the rights of that."
}

// escape is a copy of a literal value, in which nothing is an expression.
func escape(v any) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "${", "$${")
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = escape(v[i])
		}

		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name := range v {
			out[name] = escape(v[name])
		}

		return out
	}

	return v
}
