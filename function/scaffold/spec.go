package scaffold

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/crossplane/function-sdk-go/errors"
)

// A spec is the argument specification of an entry point.
//
// See "Role argument validation" in Ansible's documentation of roles.
type spec struct {
	ShortDescription lines     `yaml:"short_description"`
	Description      lines     `yaml:"description"`
	Options          yaml.Node `yaml:"options"`
}

// An optionSpec is the specification of an option.
type optionSpec struct {
	Type        string      `yaml:"type"`
	Elements    string      `yaml:"elements"`
	Required    bool        `yaml:"required"`
	NoLog       bool        `yaml:"no_log"`
	Choices     []yaml.Node `yaml:"choices"`
	Default     yaml.Node   `yaml:"default"`
	Description lines       `yaml:"description"`
	Options     yaml.Node   `yaml:"options"`

	Aliases          []string `yaml:"aliases"`
	RemovedInVersion string   `yaml:"removed_in_version"`
	RemovedAtDate    string   `yaml:"removed_at_date"`

	MutuallyExclusive any `yaml:"mutually_exclusive"`
	RequiredTogether  any `yaml:"required_together"`
	RequiredOneOf     any `yaml:"required_one_of"`
	RequiredIf        any `yaml:"required_if"`
	RequiredBy        any `yaml:"required_by"`
}

// lines of text: a string, or a list of strings.
type lines string

// UnmarshalYAML reads both forms, and removes Ansible's markup.
func (l *lines) UnmarshalYAML(n *yaml.Node) error {
	var all []string

	if n.Kind == yaml.ScalarNode {
		all = []string{n.Value}
	} else if err := n.Decode(&all); err != nil {
		return errors.Wrap(err, "a description must be a string or a list of strings")
	}

	for i := range all {
		all[i] = strings.Join(strings.Fields(markup.ReplaceAllString(all[i], "$1")), " ")
	}

	*l = lines(strings.Join(all, "\n"))

	return nil
}

// markup of Ansible's documentation: C(code), O(option=value), and the like.
var markup = regexp.MustCompile(`\b(?:[BCEIMOPV]|RV)\(([^()]*)\)`)

// specsIn a role by entry point; empty when it has none.
func specsIn(dir string) (map[string]spec, error) {
	for _, name := range []string{"argument_specs.yml", "argument_specs.yaml", "main.yml", "main.yaml"} {
		meta := struct {
			Specs map[string]spec `yaml:"argument_specs"`
		}{}

		err := decode(filepath.Join(dir, "meta", name), &meta)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}

		if len(meta.Specs) > 0 {
			return meta.Specs, nil
		}
	}

	return nil, nil
}

// optionsOf a mapping of specifications, in its order.
func optionsOf(n yaml.Node) ([]Option, error) {
	var options []Option

	for i := 0; i+1 < len(n.Content); i += 2 {
		s := optionSpec{}
		if err := n.Content[i+1].Decode(&s); err != nil {
			return nil, errors.Wrapf(err, "cannot read the specification of %s", n.Content[i].Value)
		}

		o, err := s.option(n.Content[i].Value)
		if err != nil {
			return nil, err
		}

		options = append(options, o)
	}

	return options, nil
}

// option of this specification.
func (s optionSpec) option(name string) (Option, error) {
	below, err := optionsOf(s.Options)
	if err != nil {
		return Option{}, err
	}

	o := Option{
		Name:        name,
		Type:        cmp.Or(s.Type, typeStr),
		Elements:    s.Elements,
		Required:    s.Required,
		Secret:      s.NoLog,
		Description: string(s.Description),
		Options:     below,
		Notes:       s.notes(),
	}

	o = o.nested()

	if o.Choices, err = s.choices(o.element()); err != nil {
		o.Notes = append(o.Notes, "its choices are left out: "+err.Error())
	}

	var v any
	if err := s.Default.Decode(&v); err != nil {
		return o, errors.Wrapf(err, "cannot read the default of %s", name)
	}

	if v != nil && !o.Secret && !o.Required {
		if d, ok := o.coerce(v); ok {
			o.Default = d
		} else {
			o.Notes = append(o.Notes, "the role sets its default: "+oneLine(v))
		}
	}

	return o, nil
}

// nested makes a dict of what has options, or a list of these, where the type is missing or str. Ansible ignores the
// options of other types: they are left out.
func (o Option) nested() Option {
	kind := &o.Type
	if o.Type == typeList {
		kind = &o.Elements
	}

	switch {
	case len(o.Options) == 0 || *kind == typeDict:
	case *kind == "" || *kind == typeStr:
		*kind = typeDict
	default:
		o.Notes = append(o.Notes, "its options are left out, since its type is "+*kind)
		o.Options = nil
	}

	return o
}

// choices of a type. Those of strings are what is written, be it a number.
func (s optionSpec) choices(kind string) ([]any, error) {
	var out []any

	for _, n := range s.Choices {
		var v any
		if err := n.Decode(&v); err != nil {
			return nil, errors.Wrap(err, "cannot read them")
		}

		if n.Kind == yaml.ScalarNode && kind == typeStr {
			v = n.Value
		}

		c, ok := coerceTo(kind, v)
		if !ok || isTemplate(v) {
			return nil, errors.Errorf("%s is not of type %s", oneLine(v), kind)
		}

		out = append(out, c)
	}

	return out, nil
}

// notes on what an XRD cannot say.
func (s optionSpec) notes() []string {
	var notes []string

	if len(s.Aliases) > 0 {
		notes = append(notes, "the role also calls it "+strings.Join(s.Aliases, ", "))
	}

	switch {
	case s.RemovedInVersion != "":
		notes = append(notes, "deprecated, to be removed in version "+s.RemovedInVersion)
	case s.RemovedAtDate != "":
		notes = append(notes, "deprecated, to be removed at "+s.RemovedAtDate)
	}

	rules := map[string]any{
		"mutually_exclusive": s.MutuallyExclusive,
		"required_by":        s.RequiredBy,
		"required_if":        s.RequiredIf,
		"required_one_of":    s.RequiredOneOf,
		"required_together":  s.RequiredTogether,
	}
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		if rules[name] != nil {
			notes = append(notes, fmt.Sprintf("only the role checks %s: %s", name, oneLine(rules[name])))
		}
	}

	return notes
}

// oneLine of a value, for a comment.
func oneLine(v any) string {
	n := &yaml.Node{}
	if err := n.Encode(v); err != nil {
		return fmt.Sprint(v)
	}

	n.Style = yaml.FlowStyle

	b, err := yaml.Marshal(n)
	if err != nil {
		return fmt.Sprint(v)
	}

	return strings.Join(strings.Fields(string(b)), " ")
}
