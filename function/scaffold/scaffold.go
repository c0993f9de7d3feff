package scaffold

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansible"
)

// version of the API that is written.
const version = "v1alpha1"

// FileXR is the file of the example, which the API server only knows when it knows the XRD.
const FileXR = "xr.yaml"

// A Config says what to write.
type Config struct {
	// Group of the API.
	Group string
	// Kind of the XR; empty for the name of the role.
	Kind string
	// Plural of the kind, in lower case; empty for the usual one.
	Plural string
	// Cluster-scoped XRs instead of namespaced ones.
	Cluster bool
	// Requirements that bring the role, as the text of a requirements.yml.
	Requirements string
}

// Write the documents for a role: the XRD, the Composition, the ProviderConfig
// where there are requirements, and an XR.
func Write(role Role, c Config) ([]Document, error) {
	s := &scaffold{role: role, Config: c}
	s.Kind = cmp.Or(c.Kind, pascalCase(s.base()))

	if s.Plural == "" {
		plural, _ := meta.UnsafeGuessKindToResource(s.kind())
		s.Plural = plural.Resource
	}

	for _, o := range role.Options {
		if o.Name == s.state() {
			continue
		}

		switch why := ansible.CheckVariable(o.Name); {
		case s.property(o.Name) == "crossplane":
			s.leave(o, "Crossplane has a field of that name")
		case why != nil:
			s.leave(o, why.Error())
		default:
			s.options = append(s.options, o)
		}
	}

	return documentsOf([]file{
		{"xrd.yaml", s.definition()},
		{"composition.yaml", s.composition()},
		{"providerconfig.yaml", s.providerConfig()},
		{FileXR, s.xr()},
	})
}

// A scaffold for a role.
type scaffold struct {
	Config

	role Role
	// options that an XR has: all but the state, and those that it cannot give the role.
	options []Option
	// left are the others, and why.
	left []string
}

// leave an option to the role.
func (s *scaffold) leave(o Option, why string) {
	s.left = append(s.left,
		o.Name+" is left out of the XR: "+why+". Where the role needs it, give it a literal value in vars.")
}

// property of the spec that an option becomes.
func (s *scaffold) property(option string) string { return propertyOf(option, s.role.Options) }

// name of the XRD, of the Composition and of the configuration.
func (s *scaffold) name() string { return s.Plural + "." + s.Group }

func (s *scaffold) kind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: s.Group, Version: version, Kind: s.Kind}
}

// base name of the role.
func (s *scaffold) base() string {
	return s.role.Name[strings.LastIndex(s.role.Name, ".")+1:]
}

// state is the name of the option that says whether what the role makes is to be
// there; empty when there is none.
func (s *scaffold) state() string {
	for _, o := range s.role.Options {
		if (o.Name == "state" || strings.HasSuffix(o.Name, "_state")) && slices.Contains(o.Choices, any("present")) &&
			slices.Contains(o.Choices, any("absent")) {
			return o.Name
		}
	}

	return ""
}

// definition of the XR.
func (s *scaffold) definition() *mapping {
	properties, required := propertiesOf(s.options, s.property)

	spec := newMapping()
	if s.role.Description != "" {
		spec.set("description", s.role.Description)
	}

	spec.set("type", "object").set("properties", properties)

	if len(required) > 0 {
		spec.set("required", required)
	}

	openAPI := newMapping().set("type", "object").set("required", []string{"spec"}).
		set("properties", newMapping().set("spec", spec))

	scope := "Namespaced"
	if s.Cluster {
		scope = "Cluster"
	}

	comment := "What people can ask for, by the argument specifications of the role " + s.role.Name + "."
	if !s.role.Documented {
		comment = "What people can ask for, by the defaults of the role " + s.role.Name + ", which has no argument " +
			"specifications: types are those of the defaults, and nothing is required. Look through it."
	}

	return definitionOf(s.name(), newMapping().
		set("scope", scope).
		set("group", s.Group).
		set("names", newMapping().set("kind", s.Kind).set("plural", s.Plural)).
		set("versions", []*mapping{newMapping().
			set("name", version).
			set("served", true).
			set("referenceable", true).
			set("additionalPrinterColumns", []*mapping{statusColumn()}, "What kubectl get shows beside whether it is ready.").
			set("schema", newMapping().set("openAPIV3Schema", openAPI))}), comment)
}

// composition of the XR.
func (s *scaffold) composition() *mapping {
	in := inputOf(s.run(),
		"What the role tells with ansible.builtin.set_stats can come back on the XR: declare status fields in the XRD, "+
			"and set them with",
		`status: {endpoint: "${runs.`+runName(s.base())+`.outputs.endpoint}"}`)

	return compositionOf(s.name(), s.kind(), in, "How the role "+s.role.Name+" makes what people ask for.")
}

// run of the role.
func (s *scaffold) run() *mapping {
	run := newMapping().set("name", runName(s.base()))

	if s.Requirements != "" {
		run.set("providerConfigRef", newMapping().set("kind", configKind(s.Cluster)).set("name", s.name()))
	}

	s.content(run)

	if state := s.state(); state != "" {
		run.set("stateVariable", newMapping().set("name", state).set("present", "present").set("absent", "absent"),
			"When the XR is deleted the role runs once more, and this variable tells it so.")
	} else if !s.role.Aware {
		s.onDelete(run)
	}

	s.secrets(run)

	vars := newMapping()

	for _, o := range s.options {
		if !o.Secret {
			vars.set(o.Name, expression("${xr.spec"+member(s.property(o.Name), o.Required)+"}"), notes(o)...)
		}
	}

	if len(vars.Content) > 0 {
		run.set("vars", vars, "Variables that the XR leaves out keep the defaults of the role.")
	}

	return run
}

// content that is run: a role, or one of its entry points.
func (s *scaffold) content(run *mapping) {
	comments := []string{
		"Without inventories the role runs on localhost, in the provider's pod.",
	}

	if s.state() == "" && s.role.Aware {
		comments = append(comments,
			"When the XR is deleted the role runs once more, with ansible_provider_meta.managed_resource.state absent.")
	}

	if !strings.Contains(s.role.Name, ".") && s.Requirements == "" {
		comments = append(comments,
			"The role "+s.role.Name+" is in no collection that is known: say with project which git repository has it below "+
				"roles, or have a requirement install it by this name.")
	}

	comments = append(comments, s.left...)

	if s.role.EntryPoint == EntryPointMain {
		run.set("role", s.role.Name, comments...)
		return
	}

	setPlaybook(run, s.play(s.role.EntryPoint), comments)
}

// play of an entry point of the role.
func (s *scaffold) play(entryPoint string) []*mapping {
	task := newMapping().set("name", "Run the role").
		set("ansible.builtin.include_role", newMapping().set("name", s.role.Name).set("tasks_from", entryPoint))

	return []*mapping{newMapping().set("name", s.Kind).set("hosts", "localhost").set("tasks", []*mapping{task})}
}

// onDelete says what deletion does with a role that does not look at the state.
func (s *scaffold) onDelete(run *mapping) {
	does := newMapping()

	if s.role.Removal != "" {
		setPlaybook(does, s.play(s.role.Removal), nil)
		run.set("onDelete", does, "When the XR is deleted this entry point of the role runs.")

		return
	}

	run.set("onDelete", does.set("policy", "Keep"),
		"When the XR is deleted nothing runs, since the role is not known to remove what it has made, which stays. "+
			"Say role, playbook or tags here for what does.")
}

// setPlaybook sets plays as the content of a run.
func setPlaybook(run *mapping, plays []*mapping, comments []string) {
	text, err := textOf(plays)
	if err != nil {
		text = err.Error() // No playbook is valid that is not YAML.
	}

	run.set("playbookInline", text, comments...)
}

// secrets come from a Secret, not from the XR.
func (s *scaffold) secrets(run *mapping) {
	var (
		names    []string
		required bool
	)

	for _, o := range s.options {
		if o.Secret {
			names = append(names, o.Name)
			required = required || o.Required
		}
	}

	if len(names) == 0 {
		return
	}

	ref := newMapping()
	if s.Cluster {
		ref.set("namespace", "crossplane-system")
	}

	file := newMapping().set("source", "SecretKey").
		set("secretKeyRef", ref.set("name", s.Plural).set("key", "vars.yaml"))
	if !required {
		file.set("optional", true)
	}

	run.set("varFiles", []*mapping{file},
		"The role must not show "+strings.Join(names, ", ")+": put it as YAML into this key of a Secret.")
}

// notes on an option and those below it, as comments.
func notes(o Option) []string {
	lines := slices.Clone(o.Notes)

	switch o.Type {
	case typeBytes, typeBits, typeJSON, typeJSONArg:
		lines = append(lines, "a value of type "+o.Type+", which only the role checks")
	}

	for i := range lines {
		lines[i] = o.Name + ": " + lines[i]
	}

	for _, below := range o.Options {
		if below.Secret {
			lines = append(lines, o.Name+"."+below.Name+": secret, so not in the XRD; give it in a variable of its own")
		}

		for _, l := range notes(below) {
			lines = append(lines, o.Name+"."+l)
		}
	}

	return lines
}

// providerConfig with the requirements; nil when there are none.
func (s *scaffold) providerConfig() *mapping {
	if s.Requirements == "" {
		return nil
	}

	return configOf(s.Cluster, s.name(), requiring(s.Requirements), "Where the role comes from.")
}

// xr that asks for as little as it can.
func (s *scaffold) xr() *mapping {
	metadata := newMapping()
	if !s.Cluster {
		metadata.set("namespace", "default")
	}

	return newMapping().
		set("apiVersion", s.Group+"/"+version, "An example: all that is required, with values to replace.").
		set("kind", s.Kind).
		set("metadata", metadata.set("name", "example")).
		set("spec", exampleOf(s.options, s.property))
}
