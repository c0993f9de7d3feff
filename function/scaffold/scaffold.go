// Package scaffold writes XRDs, Compositions and configurations for existing Ansible content. Load reads a role, which
// Install fetches with ansible-galaxy, and Write returns its documents. WriteOperator returns the documents for the
// kinds of an Ansible operator.
//
// The command function-ansible scaffold calls it. The same program is the function, so that the documents fit its
// version. Package validate checks them before they are written.
package scaffold

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansible"
	"github.com/crossplane-ansible/crossplane-ansible/function/validate"
)

// version is the version of the XRs.
const version = "v1alpha1"

// FileXR is the file with an example of an XR. It can be applied only after the XRD.
const FileXR = "xr.yaml"

// A Config has the flags for a role.
type Config struct {
	Group  string `default:"platform.example.org"                             help:"Group of the API."`
	Kind   string `help:"Kind of the XR; that of the role's name by default."`
	Plural string `help:"Plural of the kind."`
	Scope  string `default:"Namespaced"                                       enum:"Namespaced,Cluster"        help:"Scope of the XR: ${enum}."`

	// Requirements is the text of a requirements.yml with the role.
	Requirements string `kong:"-"`
}

// Write returns the documents for a role: the XRD, the Composition, a configuration if there are requirements, and an
// example of an XR.
func Write(role Role, c Config) ([]validate.File, error) {
	base := role.Name[strings.LastIndex(role.Name, ".")+1:]

	s := &scaffold{Config: c, role: role, run: newMapping().set("name", camelCase(base))}
	s.Kind = cmp.Or(c.Kind, pascalCase(base))
	s.kind = schema.GroupVersionKind{Group: c.Group, Version: version, Kind: s.Kind}

	if s.Plural == "" {
		plural, _ := meta.UnsafeGuessKindToResource(s.kind)
		s.Plural = plural.Resource
	}

	s.name = s.Plural + "." + s.Group

	for _, o := range role.Options {
		o.Property = propertyOf(o.Name, role.Options)

		why := ansible.CheckVariable(o.Name)
		if o.Property == "crossplane" {
			why = errors.New("Crossplane has a field of that name")
		}

		switch {
		case s.state == "" && o.isState():
			s.state = o.Name
		case why != nil:
			s.left = append(s.left, o.Name+" is left out of the XR: "+why.Error()+
				". Where the role needs it, give it a literal value in vars.")
		default:
			s.options = append(s.options, o)
		}
	}

	in := inputOf(s.run,
		"What the role tells with ansible.builtin.set_stats can come back on the XR: declare status fields in the XRD, "+
			"and set them with",
		`status: {endpoint: "${runs.`+camelCase(base)+`.outputs.endpoint}"}`)

	written := []file{
		{"xrd.yaml", s.definition()},
		{
			"composition.yaml",
			compositionOf(s.name, s.kind, in, "The Composition of the role "+role.Name+"."),
		},
	}

	if s.Requirements != "" {
		refer(s.run, s.isCluster(), s.name)

		written = append(written, file{
			"providerconfig.yaml",
			configOf(s.isCluster(), s.name, newMapping().set("requirements", s.Requirements), "Where the role comes from."),
		})
	}

	s.content()
	s.secrets()
	s.vars()

	return documentsOf(append(written, file{FileXR, s.xr()}))
}

// A scaffold has the documents for a role in progress.
type scaffold struct {
	Config

	role Role
	kind schema.GroupVersionKind
	// name is the name of the XRD, of the Composition and of the configuration.
	name string
	// run is the run of the role.
	run *mapping
	// state is the name of the option with the values present and absent; empty for none.
	state string
	// options are the options that fields of the XR set.
	options []Option
	// left has comments about options that are left out.
	left []string
}

func (c Config) isCluster() bool { return c.Scope == "Cluster" }

// isState is true for an option such as state, with the choices present and absent.
func (o *Option) isState() bool {
	return (o.Name == "state" || strings.HasSuffix(o.Name, "_state")) && slices.Contains(o.Choices, any("present")) &&
		slices.Contains(o.Choices, any("absent"))
}

// definition returns the XRD.
func (s *scaffold) definition() *mapping {
	spec := newMapping().some("description", s.role.Description).set("type", "object").setProperties(s.options)

	openAPI := newMapping().set("type", "object").set("required", []string{"spec"}).
		set("properties", newMapping().set("spec", spec))

	comment := "What people can ask for, by the argument specifications of the role " + s.role.Name + "."
	if !s.role.Documented {
		comment = "What people can ask for, by the defaults of the role " + s.role.Name + ", which has no argument " +
			"specifications: types are those of the defaults, and nothing is required. Look through it."
	}

	return definitionOf(s.name, newMapping().
		set("scope", s.Scope).
		set("group", s.Group).
		set("names", newMapping().set("kind", s.Kind).set("plural", s.Plural)).
		set("versions", []*mapping{newMapping().
			set("name", version).
			set("served", true).
			set("referenceable", true).
			set("additionalPrinterColumns", []*mapping{statusColumn()}, "What kubectl get shows beside whether it is ready.").
			set("schema", newMapping().set("openAPIV3Schema", openAPI))}), comment)
}

// content sets the content of the run: the role, or one of its entry points.
func (s *scaffold) content() {
	all := comments{"Without inventories the role runs on localhost, in the provider's pod."}
	all.say(s.state == "" && s.role.Aware,
		"When the XR is deleted the role runs once more, with ansible_provider_meta.managed_resource.state absent.")
	all.say(!strings.Contains(s.role.Name, ".") && s.Requirements == "",
		"The role "+s.role.Name+" is in no collection that is known: say with project which git repository has it below "+
			"roles, or have a requirement install it by this name.")

	content := part{field: fieldRole, name: s.role.Name}
	if s.role.EntryPoint != entryPointMain {
		content.tasks = s.role.EntryPoint
	}

	content.set(s.run, nil, append(all, s.left...)...)

	switch {
	case s.state != "":
		setState(s.run, s.state, "present", "absent",
			"When the XR is deleted the role runs once more, and this variable tells it so.")
	case !s.role.Aware:
		keep(s.run, "When the XR is deleted nothing runs, since the role is not known to remove what it has made, which "+
			"stays. Say role, playbook or tags here for what does.")
	}
}

// secrets adds a file of variables from a Secret for the secret options.
func (s *scaffold) secrets() {
	var names []string

	optional := true

	for _, o := range s.options {
		if o.Secret {
			names = append(names, o.Name)
			optional = optional && !o.Required
		}
	}

	if len(names) == 0 {
		return
	}

	ref := newMapping()
	if s.isCluster() {
		ref.set("namespace", "crossplane-system")
	}

	file := newMapping().set("source", "SecretKey").
		set("secretKeyRef", ref.set("name", s.Plural).set("key", "vars.yaml"))
	if optional {
		file.set("optional", true)
	}

	s.run.set("varFiles", []*mapping{file},
		"The role must not show "+strings.Join(names, ", ")+": put it as YAML into this key of a Secret.")
}

// vars adds variables for the options that fields of the XR set.
func (s *scaffold) vars() {
	vars := newMapping()

	for _, o := range s.options {
		member := ".?"
		if o.Required {
			member = "."
		}

		if !o.Secret {
			vars.set(o.Name, "${xr.spec"+member+o.Property+"}", notes(o)...)
		}
	}

	s.run.some("vars", vars, "Variables that the XR leaves out keep the defaults of the role.")
}

// notes returns comments about an option and the options in it.
func notes(o Option) []string {
	lines := slices.Clone(o.Notes)

	switch o.Type {
	case "bytes", "bits", "json", "jsonarg":
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

// xr returns an example of an XR with only the required fields.
func (s *scaffold) xr() *mapping {
	metadata := newMapping()
	if !s.isCluster() {
		metadata.set("namespace", "default")
	}

	return newMapping().
		set("apiVersion", s.Group+"/"+version, "An example: all that is required, with values to replace.").
		set("kind", s.Kind).
		set("metadata", metadata.set("name", "example")).
		set("spec", exampleOf(s.options))
}
