package scaffold

import (
	"cmp"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansible"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/validate"
)

// WriteOperator returns the documents for a project of the Operator SDK in a directory. Each watch of its watches.yaml,
// or of other files, becomes an XRD, a Composition and a ProviderConfig. A watch of a kind of Kubernetes itself becomes
// a WatchOperation and a ProviderConfig. source is the git repository of the project as URL,VERSION; if it is empty,
// the project is on a Galaxy server.
func WriteOperator(dir string, watches []string, source string) ([]validate.File, error) {
	if len(watches) == 0 {
		watches = []string{filepath.Join(dir, "watches.yaml")}
	}

	var all []watch

	for _, f := range watches {
		w, err := loadWatches(f)
		if err != nil {
			return nil, err
		}

		all = append(all, w...)
	}

	p, err := loadProject(dir, source)
	if err != nil {
		return nil, err
	}

	kinds, err := p.crds()
	if err != nil {
		return nil, err
	}

	var files []file

	seen := map[schema.GroupKind]bool{}

	for _, w := range all {
		kind := schema.GroupKind{Group: w.Group, Kind: w.Kind}
		if seen[kind] {
			return nil, errors.Errorf("%s is the second one for its kind: the XRs of a kind have one Composition", w.at)
		}

		seen[kind] = true

		written, err := (&operatorRun{project: p, watch: w, crd: kinds[kind], object: "xr"}).files()
		if err != nil {
			return nil, errors.Wrap(err, w.at)
		}

		files = append(files, written...)
	}

	return documentsOf(files)
}

// files returns the documents for the watch.
func (r *operatorRun) files() ([]file, error) {
	r.name = r.crd.name()
	dir := r.crd.text("names", "plural")

	switch {
	case r.crd != nil:
	case r.isKubernetes():
		plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind(r.GroupVersionKind))
		dir = plural.Resource
		// The name has the project, since other projects may watch the same kind.
		r.name = r.slug() + "-" + strings.TrimSuffix(dir+"."+r.Group, ".")
		r.object = "required.watched"
	default:
		return nil, errors.New("no file in " + crdDirs + " defines the kind")
	}

	run, err := r.run()
	if err != nil {
		return nil, err
	}

	config := file{dir + "/providerconfig.yaml", r.config()}
	if r.crd == nil {
		return []file{{dir + "/watchoperation.yaml", r.watchOperation(run)}, config}, nil
	}

	xrd, err := r.crd.definition(r.reported(r.Kind))

	return []file{{dir + "/xrd.yaml", xrd}, {dir + "/composition.yaml", r.composition(run)}, config}, err
}

// An operatorRun is the run that a watch of an operator becomes.
type operatorRun struct {
	project
	watch

	// crd is nil for a kind of Kubernetes itself.
	crd crd
	// name is the name of the documents.
	name string
	// object is the expression for the watched object.
	object string
	// own is true when a role or playbook of the project itself is used.
	own bool
}

// run returns the run for the watch.
func (r *operatorRun) run() (*mapping, error) {
	run := newMapping().set("name", camelCase(r.Kind))

	if r.crd == nil {
		namespace, _ := r.serviceAccount()

		run.set("namespace", cmp.Or(namespace, "default"),
			"Each object has an AnsibleRun in this namespace. It stays when the object is deleted.").
			set("forEach", "${[(has(required.watched.metadata.namespace) ? "+
				"required.watched.metadata.namespace + '.' : '') + required.watched.metadata.name]}")
	}

	refer(run, r.crd.isCluster(), r.name)

	condition, err := r.condition(r.object)
	if err != nil {
		return nil, err
	}

	if condition != "" {
		run.set("when", "${"+condition+"}",
			"The selector of the operator. Of an object that it does not select any more, everything stays.")

		if r.crd != nil {
			run.set("prune", false)
		}
	}

	literal, err := r.content(run)
	if err != nil {
		return nil, err
	}

	period := r.period()
	if r.crd != nil {
		period = "${xr.metadata.?annotations[?'ansible.sdk.operatorframework.io/reconcile-period'].orValue('" + period + "')}"
	}

	run.set("pollInterval", period)

	if r.crd != nil {
		r.parameters(run)
	}

	vars := newMapping().add(object(escape(literal)))
	r.whole(vars)

	return run.some("vars", vars), nil
}

// isSecret is true for a watch of Secrets.
func (r *operatorRun) isSecret() bool { return r.Kind == "Secret" && r.Group == "" }

// whole adds the variables in which an operator passes the whole object, its spec and its name, if the content uses
// them.
func (r *operatorRun) whole(vars *mapping) {
	const names = "ansible_operator_meta"

	if file := r.code.mentions(r.variable()); file != "" && !r.isSecret() {
		vars.set(r.variable(), "${"+r.object+"}", "The object without its status, for "+file+".")
	}

	if file := r.code.mentions(r.variable() + "_spec"); file != "" && !r.isSecret() {
		vars.set(r.variable()+"_spec", "${"+r.object+".spec}", "For "+file+".")
	}

	if r.crd == nil || r.code.mentions(names) != "" {
		vars.set(names, newMapping().
			set("name", "${"+r.object+".metadata.name}").
			set("namespace", "${"+r.object+".metadata.?namespace}"))
	}
}

// parameters adds varsFrom for the fields of the spec.
func (r *operatorRun) parameters(run *mapping) {
	from := newMapping().set("value", "${xr.spec}")

	if is(r.SnakeCaseParameters) {
		from.set("keys", "SnakeCase")
	}

	var (
		exclude []string
		all     comments
	)

	fields := r.variables()

	for _, variable := range manifest.SortedKeys(fields) {
		if err := ansible.CheckVariable(variable); err != nil {
			exclude = append(exclude, fields[variable])
			all.say(true, "spec."+fields[variable]+" is left out: "+err.Error()+
				". Give it to the content as another variable, below vars.")
		}
	}

	all.say(!is(r.MarkUnsafe), "The operator had markUnsafe: false. Here Ansible never templates values of an object.")

	run.set("varsFrom", []*mapping{from.some("exclude", exclude)}, all...)
}

// variables returns the declared fields of the spec, by the variables that they become.
func (r *operatorRun) variables() map[string]string {
	all := map[string]string{}
	path := []string{"schema", "openAPIV3Schema", "properties", "spec", "properties"}

	for property := range object(manifest.Nested(r.crd.stored(), path...)) {
		if is(r.SnakeCaseParameters) {
			all[ansible.SnakeCase(property)] = property
		} else {
			all[property] = property
		}
	}

	return all
}

// part returns the role or playbook of a content.
func (r *operatorRun) part(c content) (p part, err error) {
	switch {
	case (c.Role == "") == (c.Playbook == ""):
		return p, errors.New("one of role and playbook must be set, and not both")
	case c.Role != "":
		p, err = r.role(c.Role)
	default:
		p, err = r.playbook(c.Playbook)
	}

	r.own = r.own || p.dir != ""

	return p, err
}

// content sets the content and onDelete of a run. It returns the other variables of the watch.
func (r *operatorRun) content(run *mapping) (map[string]any, error) {
	present, err := r.part(r.watch.content)
	if err != nil {
		return nil, err
	}

	comments, f := r.elsewhere(), r.Finalizer

	if f == nil || r.crd == nil {
		present.set(run, nil, comments...)

		if r.crd == nil {
			keep(run, "Nothing runs when the object is deleted: an Operation has no equivalent of a finalizer.")
		} else {
			keep(run, "The operator has no finalizer for the kind: when an object is deleted nothing runs, "+
				"and what it owns goes with it.")
		}

		return r.Vars, nil
	}

	absent := present
	if f.Role != "" || f.Playbook != "" {
		if absent, err = r.part(f.content); err != nil {
			return nil, err
		}
	}

	if name, value := r.state(present); absent == present && value != "" {
		present.set(run, nil, comments...)
		setState(run, name, escape(value), escape(f.Vars[name]),
			"When the object is deleted the content runs once more, with the variable of the operator's finalizer.")
	} else if err := r.both(run, present, absent, comments); err != nil {
		return nil, err
	}

	// Variables of the finalizer are not variables of the run.
	return without(r.Vars, manifest.SortedKeys(f.Vars)...), nil
}

// elsewhere returns comments about the surroundings of an operator that the project refers to, and that a run lacks.
func (r *operatorRun) elsewhere() comments {
	var all comments

	file := r.code.mentions(r.variable())
	all.say(file != "" && r.isSecret(), file+" uses the variable "+r.variable()+
		", which is left out: the AnsibleRun would show what is in the Secret. "+
		"Name the Secret in varFiles, or let the content read it.")

	file = r.code.mentions(home)
	all.say(file != "", file+" refers to "+home+", which is not there: call roles and files by their names.")

	file = r.code.mentions("/tmp")
	all.say(file != "", file+" refers to /tmp, which content cannot write: name the directory of the environment "+
		"variable TMPDIR instead, which each run has for itself. "+
		"Or grant it with confinement: {writePaths: [/tmp]} in the configuration, or to all content with the provider's "+
		"flag --write-path=/tmp: other content with this right finds the same files there.")

	return all
}

// state returns the variable that tells the content about the deletion, and its value while the object exists. The
// value is empty if there is no such variable.
func (r *operatorRun) state(present part) (name, value string) {
	names := manifest.SortedKeys(r.Finalizer.Vars)
	if len(names) != 1 {
		return "", ""
	}

	name = names[0]
	absent, _ := r.Finalizer.Vars[name].(string)
	_, field := r.variables()[name]

	// A field of the spec with the name of the variable would have no effect, unless it means the state, too.
	if absent == "" || field && absent != "absent" {
		return "", ""
	}

	value = manifest.Text(r.Vars, name)

	options, _ := defaultsIn(r.code, present.dir+"/")
	for _, o := range options {
		if d, ok := o.Default.(string); ok && o.Name == name {
			value = cmp.Or(value, d)
		}
	}

	if field {
		value = cmp.Or(value, "present")
	}

	return name, value
}

// both sets the content of a run, and other content or variables for onDelete.
func (r *operatorRun) both(run *mapping, present, absent part, comments []string) error {
	vars := r.Finalizer.Vars
	names := manifest.SortedKeys(vars)

	for _, name := range names {
		if property, ok := r.variables()[name]; ok {
			return errors.Errorf(
				"the variable %s of the finalizer is that of the field spec.%s, too, and the value of the field would win: "+
					"call that of the finalizer otherwise", name, property)
		}
	}

	onDelete := newMapping()

	// Variables of the run would win over those of a deletion.
	present.set(run, manifest.Pick(r.Vars, names...), comments...)
	absent.set(onDelete, vars)
	run.set("onDelete", onDelete, "When the object is deleted, what the operator's finalizer says runs.")

	return nil
}

// composition returns the Composition with the run.
func (r *operatorRun) composition(run *mapping) *mapping {
	all := comments{"What " + r.at + ", becomes."}
	stored := manifest.Text(r.crd.stored(), "name")
	all.say(r.Version != stored,
		"The operator watched version "+r.Version+". A Composition gets objects in the version that is stored.")

	if f := r.Finalizer; f != nil {
		all.say(true, "Objects that were there before have the operator's finalizer "+f.Name+", and nothing removes it once "+
			"the operator is gone: remove it from them.")
	}

	all.say(r.WatchAnnotationsChanges, "watchAnnotationsChanges: content runs when its variables change. "+
		"For an annotation, add a variable with the value of that annotation.")
	all.say(r.MaxRunnerArtifacts != nil, "maxRunnerArtifacts has no equivalent: nothing is kept on disk. "+
		"keepOutput of a run keeps the output of its last run.")

	in := inputOf(run).set("status", "${runs."+camelCase(r.Kind)+".reported}",
		"All that the content reports, its conditions included.")

	if is(r.ManageStatus) {
		in.set("operatorConditions", true, "The conditions Running, Successful and Failure.")
	}

	return compositionOf(r.name, schema.GroupVersionKind{Group: r.Group, Version: stored, Kind: r.Kind}, in, all...)
}

// watchOperation returns the WatchOperation for a kind of Kubernetes itself, which no XRD can define.
func (r *operatorRun) watchOperation(run *mapping) *mapping {
	watched := newMapping().
		set("apiVersion", schema.GroupVersion{Group: r.Group, Version: r.Version}.String()).
		set("kind", r.Kind)

	if s := r.Selector; s != nil && len(s.MatchLabels) > 0 {
		watched.set("matchLabels", manifest.Strings(s.MatchLabels))
	} else {
		watched.set("matchLabels", newMapping().set(v1alpha1.Group+"/watched-by", r.slug()),
			"The operator watched all objects of the kind, those of others among them. Here nothing is watched that does not "+
				"have this label: give it to the objects that are meant.")
	}

	spec := newMapping().
		set("watch", watched).
		set("operationTemplate", newMapping().set("spec", pipelineOf(newMapping(), inputOf(run))))

	return objectOf("ops.crossplane.io/v1alpha1", "WatchOperation", r.name, spec,
		"What "+r.at+", becomes. Kubernetes itself defines the kind, so that its objects cannot become XRs. "+
			"Operations are an alpha feature of Crossplane, and Crossplane needs the right to read these objects.")
}

// config returns the configuration of the run: the source of its content, and the service account of the operator.
func (r *operatorRun) config() *mapping {
	namespace, name := r.serviceAccount()
	comment := "The operator's own. "

	if name == "" {
		namespace, name, comment = "operator-system", "controller-manager", "Name that of the operator. "
	}

	comment += "Any AnsibleRun that may refer to this may run any playbook with its rights: " +
		"let only Crossplane create them."
	if !r.crd.isCluster() {
		comment += " This holds for all namespaces. Or leave out the namespace, and give an account of this name to each " +
			"namespace with objects: then the content has the rights of that."
	}

	kubernetes := newMapping().
		set("serviceAccountRef", newMapping().set("name", name).some("namespace", namespace), comment).
		set("ownerReferences", true)

	if is(r.WatchDependentResources) {
		kubernetes.set("watchDependents", true)

		var ignored []*mapping
		for _, d := range r.Blacklist {
			ignored = append(ignored, newMapping().set("group", d.Group).set("kind", d.Kind))
		}

		kubernetes.some("ignoreDependents", ignored)
	}

	spec := newMapping().some("requirements", r.allRequirements(r.own)).set("kubernetes", kubernetes)

	return configOf(r.crd.isCluster(), r.name, spec, "Where the content comes from, and what it may do in the cluster.")
}

// escape returns a copy of a literal value in which ${ does not begin an expression.
func escape(v any) any {
	return manifest.WithLeaves(v, func(leaf any) any {
		if s, ok := leaf.(string); ok {
			return strings.ReplaceAll(s, "${", "$${")
		}

		return leaf
	})
}
