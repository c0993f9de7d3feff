package scaffold

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// A spec is the argument specification of an entry point.
//
// See "Role argument validation" in Ansible's documentation of roles.
type spec struct {
	ShortDescription yaml.Node   `yaml:"short_description"`
	Description      yaml.Node   `yaml:"description"`
	Options          optionSpecs `yaml:"options"`
}

// markup of Ansible's documentation: C(code), O(option=value), and the like.
var markup = regexp.MustCompile(`\b(?:[BCEIMOPV]|RV)\(([^()]*)\)`)

// described returns the text of a node, a string or a list of strings, without Ansible's markup.
func described(n yaml.Node) string {
	var all []string

	for _, line := range append([]*yaml.Node{&n}, n.Content...) {
		if line.Kind == yaml.ScalarNode {
			all = append(all, strings.Join(strings.Fields(markup.ReplaceAllString(line.Value, "$1")), " "))
		}
	}

	return strings.Join(all, "\n")
}

// specsIn returns the argument specifications of a role by entry point; empty when it has none.
func specsIn(f files) (map[string]spec, error) {
	for _, name := range []string{"argument_specs.yml", "argument_specs.yaml", "main.yml", "main.yaml"} {
		meta := struct {
			Specs map[string]spec `yaml:"argument_specs"`
		}{}

		if err := f.decode("meta/"+name, &meta); err != nil || len(meta.Specs) > 0 {
			return meta.Specs, err
		}
	}

	return nil, nil
}

// optionSpecs are options in the order of the file.
type optionSpecs []Option

// UnmarshalYAML reads a mapping of specifications.
func (all *optionSpecs) UnmarshalYAML(n *yaml.Node) error {
	for i := 0; i+1 < len(n.Content); i += 2 {
		o := Option{Name: n.Content[i].Value, Property: n.Content[i].Value}
		if err := o.read(n.Content[i+1]); err != nil {
			return errors.Wrapf(inYAML(err), "cannot read the specification of %s", o.Name)
		}

		*all = append(*all, o)
	}

	return nil
}

// read reads the specification of an option.
func (o *Option) read(n *yaml.Node) error {
	type optionSpec struct {
		*Option `yaml:",inline"`

		Choices     []yaml.Node `yaml:"choices"`
		Default     yaml.Node   `yaml:"default"`
		Description yaml.Node   `yaml:"description"`

		// Others has the other fields of the specification, some of which an XRD cannot express.
		Others map[string]any `yaml:",inline"`
	}

	s := optionSpec{Option: o}
	if err := n.Decode(&s); err != nil {
		return err
	}

	o.Type, o.Description = cmp.Or(o.Type, typeStr), described(s.Description)

	for _, rule := range []string{
		"aliases", "removed_in_version", "removed_at_date",
		"mutually_exclusive", "required_by", "required_if", "required_one_of", "required_together",
	} {
		if s.Others[rule] != nil {
			o.Notes = append(o.Notes, fmt.Sprintf("only the role knows %s: %s", rule, oneLine(s.Others[rule])))
		}
	}

	o.nest()

	var err error
	if o.Choices, err = choicesOf(s.Choices, *o.element()); err != nil {
		o.Notes = append(o.Notes, "its choices are left out: "+err.Error())
	}

	v, err := valueOf(&s.Default)
	if !o.Required {
		o.setDefault(v)
	}

	return err
}

// nest sets the type of an option with options, or of its elements, to dict if it is missing or str. Ansible ignores
// the options of other types, which are left out.
func (o *Option) nest() {
	switch kind := o.element(); {
	case len(o.Options) == 0 || *kind == typeDict:
	case *kind == "" || *kind == typeStr:
		*kind = typeDict
	default:
		o.Notes = append(o.Notes, "its options are left out, since its type is "+*kind)
		o.Options = nil
	}
}

// choicesOf returns choices of a type. Choices of strings may be written without quotes, as numbers for example.
func choicesOf(nodes []yaml.Node, kind string) ([]any, error) {
	var out []any

	for _, n := range nodes {
		v, err := valueOf(&n)
		if n.Kind == yaml.ScalarNode && kind == typeStr {
			v = n.Value
		}

		c, fits := (&Option{Type: kind}).fit(v)
		if !fits || err != nil {
			return nil, errors.Errorf("%s is not of type %s", oneLine(v), kind)
		}

		out = append(out, c)
	}

	return out, nil
}

// mainDefaults matches the files with the defaults of a role: defaults/main.yml, or files in defaults/main.
var mainDefaults = regexp.MustCompile(`^defaults/main(/[^/]+)?\.ya?ml$`)

// defaultsIn returns the defaults of the role at a prefix of paths as options. Their types are those of the values.
func defaultsIn(f files, role string) ([]Option, error) {
	var options []Option

	for _, name := range manifest.SortedKeys(f) {
		below, ok := strings.CutPrefix(name, role)
		if !ok || !mainDefaults.MatchString(below) {
			continue
		}

		n := yaml.Node{}
		if err := f.decode(name, &n); err != nil {
			return nil, err
		}

		if len(n.Content) > 0 {
			options = append(options, guess(n.Content[0])...)
		}
	}

	return options, nil
}

// guess returns options for a mapping of defaults. Variables that begin with _ are internal to the role.
func guess(n *yaml.Node) []Option {
	var options []Option

	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if strings.HasPrefix(key.Value, "_") {
			continue
		}

		v, _ := valueOf(value) // An unreadable value gets no default in the XRD.
		o := Option{Name: key.Value, Property: key.Value, Description: comment(key.HeadComment)}
		o.Type, o.Elements = typeOf(withBooleans(value))
		o.Secret = value.Tag == "!vault" || (o.Type == typeStr || o.Type == typeRaw) && isSecret(o.Name)
		o.setDefault(v)

		options = append(options, o)
	}

	return options
}

// isSecret is true for the name of an option that is probably secret.
func isSecret(name string) bool {
	return slices.ContainsFunc([]string{"password", "passphrase", "secret", "token", "private_key", "api_key"},
		func(word string) bool { return strings.HasSuffix(name, word) })
}

// types has types of options by the tags of their defaults. A default with another tag, such as null, has no type.
var types = map[string]string{ //nolint:gochecknoglobals // Go has no constant maps.
	"!!bool": typeBool, "!!str": typeStr, "!unsafe": typeStr, "!!int": typeInt, "!!float": typeFloat,
	"!!map": typeDict, "!!seq": typeList,
}

// typeOf returns the types of a value and of its elements: raw, any type, for a template.
func typeOf(n *yaml.Node) (kind, elements string) {
	kind = types[n.ShortTag()]
	if kind == "" || kind == typeStr && isTemplate(n.Value) {
		return typeRaw, ""
	}

	for i := 0; kind == typeList && i < len(n.Content); i++ {
		of, _ := typeOf(n.Content[i])
		if i > 0 && of != elements {
			return kind, ""
		}

		elements = of
	}

	return kind, elements
}

// comment returns the last paragraph of a comment without its marks. Paragraphs above it are usually not about the
// variable.
func comment(s string) string {
	paragraphs := strings.Split(s, "\n\n")
	text := regexp.MustCompile(`(?m)^[# ]+`).ReplaceAllString(paragraphs[len(paragraphs)-1], "")

	return strings.Join(strings.Fields(text), " ")
}

// valueOf returns the value of a node. Words such as yes and off without quotes are booleans, as they are for Ansible.
func valueOf(n *yaml.Node) (any, error) {
	var v any
	if err := withBooleans(n).Decode(&v); err != nil {
		return nil, errors.Wrap(err, "cannot read YAML")
	}

	return v, nil
}

// withBooleans returns a copy of a node with the booleans of YAML 1.1.
func withBooleans(n *yaml.Node) *yaml.Node {
	words := map[string]string{"yes": "true", "on": "true", "no": "false", "off": "false"}
	out := *n
	out.Content = nil

	if is, ok := words[strings.ToLower(n.Value)]; ok && n.Kind == yaml.ScalarNode && n.Style == 0 {
		out.Value, out.Tag = is, "!!bool"
	}

	for _, below := range n.Content {
		out.Content = append(out.Content, withBooleans(below))
	}

	return &out
}

// isTemplate is true for a value that contains Jinja2.
func isTemplate(v any) bool {
	text := oneLine(v)
	return strings.Contains(text, "{{") || strings.Contains(text, "{%")
}
