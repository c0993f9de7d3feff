package scaffold

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/validate"
)

// version of the API that is written.
const version = "v1alpha1"

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
	// Names of properties.
	Names Names
	// Requirements that bring the role, as the text of a requirements.yml.
	Requirements string
}

// A Document is a YAML document.
type Document struct {
	// File name that suits it.
	File string
	// Content in YAML.
	Content []byte
}

// Write the documents for a role: the XRD, the Composition, the ProviderConfig
// where there are requirements, and an XR.
func Write(role Role, c Config) ([]Document, error) {
	s := &scaffold{role: role, Config: c}
	s.Kind = cmp.Or(c.Kind, pascalCase(s.base()))

	if s.Plural == "" {
		plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: c.Group, Version: version, Kind: s.Kind})
		s.Plural = plural.Resource
	}

	s.leaveOut(func(o Option) string {
		if o.Name == "crossplane" || s.Names.property(o.Name, role.Options) == "crossplane" {
			return "Crossplane has a field of that name"
		}

		return ""
	})

	for {
		documents, err := documentsOf([]file{
			{"xrd.yaml", s.definition()},
			{"composition.yaml", s.composition()},
			{"providerconfig.yaml", s.providerConfig()},
			{FileXR, s.xr()},
		})
		if err != nil {
			return nil, err
		}

		mistakes, err := mistakesIn(documents)
		if err != nil {
			return nil, err
		}

		refused := map[string]string{}
		for _, m := range mistakes {
			refused[m.Path] = m.Message
		}

		// What the XR cannot give the role can be left to the role.
		if len(mistakes) == 0 || !s.leaveOut(func(o Option) string { return refused["runs[0].vars."+o.Name] }) {
			return documents, invalid(mistakes)
		}
	}
}

// mistakesIn documents, as function-ansible validate finds them.
func mistakesIn(documents []Document) ([]validate.Mistake, error) {
	files := make([]validate.File, len(documents))
	for i, d := range documents {
		files[i] = validate.File{Name: d.File, Content: d.Content}
	}

	result, err := validate.Files(files...)

	return result.Mistakes, err
}

// invalid is the error for mistakes; nil without any.
func invalid(mistakes []validate.Mistake) error {
	lines := make([]string, len(mistakes))
	for i, m := range mistakes {
		lines[i] = m.String()
	}

	if len(lines) == 0 {
		return nil
	}

	return errors.Errorf("what would be written has mistakes:\n%s", strings.Join(lines, "\n"))
}

// FileXR is the file of the example, which the API server only knows when it knows the XRD.
const FileXR = "xr.yaml"

// A file to write; none without content.
type file struct {
	name    string
	content *mapping
}

// documentsOf files.
func documentsOf(files []file) ([]Document, error) {
	var out []Document

	for _, f := range files {
		if f.content == nil {
			continue
		}

		b, err := f.content.document()
		if err != nil {
			return nil, err
		}

		out = append(out, Document{File: f.name, Content: b})
	}

	return out, nil
}

// A scaffold for a role.
type scaffold struct {
	Config

	role Role
	// left are the options that XRs do not have, and why.
	left []string
}

// leaveOut the options for which there is a reason; false for none.
func (s *scaffold) leaveOut(reason func(Option) string) bool {
	all := len(s.role.Options)
	s.role.Options = slices.DeleteFunc(slices.Clone(s.role.Options), func(o Option) bool {
		why := reason(o)
		if why != "" {
			s.left = append(s.left, o.Name+" is left out of the XR: "+why+". Where the role needs it, give it a literal value "+
				"in vars.")
		}

		return why != ""
	})

	return len(s.role.Options) < all
}

// name of the XRD, of the Composition and of the configuration.
func (s *scaffold) name() string { return s.Plural + "." + s.Group }

// base name of the role.
func (s *scaffold) base() string {
	return s.role.Name[strings.LastIndex(s.role.Name, ".")+1:]
}

// options that an XR has: all but the state.
func (s *scaffold) options() []Option {
	return slices.DeleteFunc(slices.Clone(s.role.Options), func(o Option) bool { return o.Name == s.state() })
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
	properties, required := s.Names.properties(s.options())

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

	comments := []string{"What people can ask for, by the argument specifications of the role " + s.role.Name + "."}
	if !s.role.Documented {
		comments = []string{
			"What people can ask for, by the defaults of the role " + s.role.Name + ", which has no argument",
			"specifications: types are those of the defaults, and nothing is required. Look through it.",
		}
	}

	return newMapping().
		set("apiVersion", "apiextensions.crossplane.io/v2", comments...).
		set("kind", "CompositeResourceDefinition").
		set("metadata", newMapping().set("name", s.name())).
		set("spec", newMapping().
			set("scope", scope).
			set("group", s.Group).
			set("names", newMapping().set("kind", s.Kind).set("plural", s.Plural)).
			set("versions", []*mapping{newMapping().
				set("name", version).
				set("served", true).
				set("referenceable", true).
				set("additionalPrinterColumns", []*mapping{statusColumn()}, "What kubectl get shows beside whether it is ready.").
				set("schema", newMapping().set("openAPIV3Schema", openAPI))}))
}

// composition of the XR.
func (s *scaffold) composition() *mapping {
	in := newMapping().
		set("apiVersion", v1alpha1.APIVersion).
		set("kind", v1alpha1.KindAnsibleRuns).
		set("runs", []*mapping{s.run()},
			"What the role tells with ansible.builtin.set_stats can come back on the XR: declare status fields in the XRD, "+
				"and set them with",
			`status: {endpoint: "${runs.`+s.runName()+`.outputs.endpoint}"}`)

	return compositionOf(s.name(), schema.GroupVersionKind{Group: s.Group, Version: version, Kind: s.Kind}, in,
		"How the role "+s.role.Name+" makes what people ask for.")
}

// compositionOf a kind, with the input of its step.
func compositionOf(name string, of schema.GroupVersionKind, in *mapping, comments ...string) *mapping {
	return newMapping().
		set("apiVersion", "apiextensions.crossplane.io/v1", comments...).
		set("kind", "Composition").
		set("metadata", newMapping().set("name", name)).
		set("spec", pipelineOf(newMapping().
			set("compositeTypeRef", newMapping().set("apiVersion", of.GroupVersion().String()).set("kind", of.Kind)), in))
}

// pipelineOf one step with an input, in the spec of a Composition or an Operation.
func pipelineOf(spec, in *mapping) *mapping {
	return spec.
		set("mode", "Pipeline").
		set("pipeline", []*mapping{newMapping().
			set("step", "ansible").
			set("functionRef", newMapping().set("name", "function-ansible")).
			set("input", in)})
}

// statusColumn is that of kubectl get which says how the runs are doing.
func statusColumn() *mapping {
	return newMapping().
		set("name", "Status").
		set("type", "string").
		set("jsonPath", `.status.conditions[?(@.type=="AnsibleRunsReady")].reason`)
}

// runName is the role's name as that of a run.
func (s *scaffold) runName() string { return runName(s.base()) }

// runName of a role or a kind.
func runName(name string) string {
	switch n := camelCase(name); n {
	case "in", "true", "false", "null":
		return n + "Role"
	default:
		return n
	}
}

// run of the role.
func (s *scaffold) run() *mapping {
	run := newMapping().set("name", s.runName())

	if s.Requirements != "" {
		run.set("providerConfigRef", newMapping().set("kind", configKind(s.Cluster)).set("name", s.name()))
	}

	s.content(run)

	if state := s.state(); state != "" {
		run.set("stateVariable", newMapping().set("name", state).set("present", "present").set("absent", "absent"),
			"When the XR is deleted the role runs once more, and this variable tells it so.")
	}

	s.secrets(run)

	vars := newMapping()

	for _, o := range s.options() {
		if o.Secret {
			continue
		}

		comments := notes(o)
		vars.set(o.Name, s.Names.variable(o, s.options()), comments...)
	}

	if len(vars.Content) > 0 {
		run.set("vars", vars, "Variables that the XR leaves out keep the defaults of the role.")
	}

	return run
}

// content that is run: a role, or one of its entry points.
func (s *scaffold) content(run *mapping) {
	comments := []string{
		"Without an inventory the role runs on localhost, in the provider's pod. Say inventoryInline or inventories for " +
			"others.",
	}

	if s.state() == "" {
		comments = append(comments,
			"When the XR is deleted the role runs once more, with ansible_provider_meta.managed_resource.state absent. "+
				"For a role that does not know that, delete nothing: managementPolicies: [Observe, Create, Update].")
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

	task := newMapping().set("name", "Run the role").
		set("ansible.builtin.include_role", newMapping().set("name", s.role.Name).set("tasks_from", s.role.EntryPoint))
	play := newMapping().set("name", s.Kind).set("hosts", "localhost").set("tasks", []*mapping{task})

	b, err := yaml.Marshal(nodeOf([]*mapping{play}))
	if err != nil {
		b = []byte(err.Error())
	}

	run.set("playbookInline", string(b), comments...)
}

// secrets come from a Secret, not from the XR.
func (s *scaffold) secrets(run *mapping) {
	var (
		names    []string
		required bool
	)

	for _, o := range s.options() {
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

	ref.set("name", s.Plural).set("key", "vars.yaml")

	file := newMapping().set("source", "SecretKey").set("secretKeyRef", ref)
	if !required {
		file.set("optional", true)
	}

	run.set("varFiles", []*mapping{file},
		"The role must not show "+strings.Join(names, ", ")+": put it as YAML into this key of a Secret.")
}

// notes on an option and those below it, as comments.
func notes(o Option) []string {
	var lines []string

	for _, n := range o.Notes {
		lines = append(lines, o.Name+": "+n)
	}

	switch o.Type {
	case typeBytes, typeBits, typeJSON, typeJSONArg:
		lines = append(lines, o.Name+": a value of type "+o.Type+", which only the role checks")
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

// requiring is the spec of a configuration with requirements, which may read those on the provider's own disk.
func requiring(requirements string) *mapping {
	spec := newMapping().set("requirements", requirements)

	if paths := readPaths(requirements); len(paths) > 0 {
		spec.set("confinement", newMapping().set("readPaths", paths),
			"Content reads no paths of the provider's container but those named here.")
	}

	return spec
}

// readPaths of requirements: repositories and directories on the disk.
func readPaths(requirements string) []string {
	var paths []string

	for _, m := range onDisk.FindAllStringSubmatch(requirements, -1) {
		paths = append(paths, m[1])
	}

	slices.Sort(paths)

	return slices.Compact(paths)
}

// onDisk is where an item of requirements is on the disk: an absolute path, or the URL of one.
var onDisk = regexp.MustCompile(`(?m)(?:^|[\s\["',{])(?:(?:git\+)?file://)?(/[^\s"'#,\]}]+)`)

// configOf runs: one for all namespaces if they are namespaced.
func configOf(cluster bool, name string, spec *mapping, comments ...string) *mapping {
	group := common.GroupNamespaced
	if cluster {
		group = common.GroupCluster
	}

	return newMapping().
		set("apiVersion", group+"/"+common.Version, comments...).
		set("kind", configKind(cluster)).
		set("metadata", newMapping().set("name", name)).
		set("spec", spec)
}

func configKind(cluster bool) string {
	if cluster {
		return "ProviderConfig"
	}

	return "ClusterProviderConfig"
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
		set("spec", s.Names.example(s.options()))
}

// example of values for options.
func (n Names) example(options []Option) *mapping {
	m := newMapping()

	for _, o := range options {
		if o.Required && !o.Secret {
			m.set(n.property(o.Name, options), n.exampleValue(o))
		}
	}

	return m
}

func (n Names) exampleValue(o Option) any {
	if len(o.Choices) > 0 && o.Type != typeList {
		return o.Choices[0]
	}

	switch o.Type {
	case typeInt, typeFloat:
		return 1
	case typeBool:
		return true
	case typeList:
		return []any{}
	case typeDict:
		return n.example(o.Options)
	}

	return "example"
}
