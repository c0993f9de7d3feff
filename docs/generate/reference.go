package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// A schema of an object as one group has it.
type schema struct {
	group string
	props apiextensionsv1.JSONSchemaProps
}

// reference returns a page for each kind of the API: of the local definitions, and of those at root that are not local.
// Kinds that both groups have share a page.
func reference(root string, local map[string]string) (map[string]string, error) {
	kinds, err := definitions(root, local)
	if err != nil {
		return nil, err
	}

	pages := map[string]string{}

	for kind, crds := range kinds {
		p := &page{sections: map[string]string{}}
		p.head(kind, crds)
		p.columns(crds[0].Spec.Versions[0].AdditionalPrinterColumns)

		schemas := make([]schema, len(crds))
		for i, crd := range crds {
			schemas[i] = schema{group: crd.Spec.Group, props: *crd.Spec.Versions[0].Schema.OpenAPIV3Schema}
		}

		p.object("The object", "", schemas)
		pages["docs/api/"+strings.ToLower(kind)+".md"] = p.String()
	}

	return pages, nil
}

// definitions of the API by kind, the namespaced group first.
func definitions(root string, local map[string]string) (map[string][]*apiextensionsv1.CustomResourceDefinition, error) {
	kinds := map[string][]*apiextensionsv1.CustomResourceDefinition{}

	for _, pattern := range []string{
		"package-provider/crds/ansible.m.*.yaml",
		"package-provider/crds/ansible.crossplane.io_*.yaml", "package-function/input/*.yaml",
	} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			return nil, errors.Errorf("there are no definitions at %s: %v", pattern, err)
		}

		for _, file := range files {
			text, err := os.ReadFile(filepath.Clean(file))
			if err != nil {
				return nil, errors.Wrap(err, "cannot read a definition")
			}

			if name, err := filepath.Rel(root, file); err == nil && local[name] != "" {
				text = []byte(local[name])
			}

			crd := &apiextensionsv1.CustomResourceDefinition{}
			if err := yaml.Unmarshal(text, crd); err != nil {
				return nil, errors.Wrapf(err, "cannot parse %s", file)
			}

			kinds[crd.Spec.Names.Kind] = append(kinds[crd.Spec.Names.Kind], crd)
		}
	}

	return kinds, nil
}

// A page of the reference, as it is written.
type page struct {
	strings.Builder

	sections map[string]string // The headings of the objects that are written, by their schemas.
}

func (p *page) printf(format string, args ...any) {
	fmt.Fprintf(&p.Builder, format, args...)
}

func (p *page) head(kind string, crds []*apiextensionsv1.CustomResourceDefinition) {
	p.printf("<!-- make generate writes this page from the docstrings in apis. -->\n# %s\n\n%s\n\n", kind,
		block(crds[0].Spec.Versions[0].Schema.OpenAPIV3Schema.Description))
	p.printf("| apiVersion | scope |\n|---|---|\n")

	for _, crd := range crds {
		scope := "cluster scoped"

		switch {
		case crd.Spec.Group == "ansible.fn.crossplane.io":
			scope = "none: the input of a step of a pipeline"
		case crd.Spec.Scope == apiextensionsv1.NamespaceScoped:
			scope = "namespaced"
		}

		p.printf("| `%s/%s` | %s |\n", crd.Spec.Group, crd.Spec.Versions[0].Name, scope)
	}

	p.printf("\n")
}

func (p *page) columns(columns []apiextensionsv1.CustomResourceColumnDefinition) {
	if len(columns) == 0 {
		return
	}

	p.printf("| column of `kubectl get` | value |\n|---|---|\n")

	for _, c := range columns {
		wide := ""
		if c.Priority > 0 {
			wide = ", with `-o wide`"
		}

		p.printf("| %s%s | `%s` |\n", c.Name, wide, c.JSONPath)
	}

	p.printf("\n")
}

// object writes the section of the object at path, and then those of the objects in
// it. An object like one before has no section of its own.
func (p *page) object(heading, path string, schemas []schema) {
	p.printf("## %s\n\n", heading)

	fields := map[string][]schema{}

	for _, s := range schemas {
		for name, props := range s.props.Properties {
			fields[name] = append(fields[name], schema{group: s.group, props: props})
		}
	}

	if path == "" {
		for _, name := range []string{"apiVersion", "kind", "metadata"} {
			delete(fields, name) // As in any object.
		}
	}

	p.printf("| field | type | values | meaning |\n|---|---|---|---|\n")

	names := slices.Sorted(maps.Keys(fields))
	for _, name := range names {
		p.field(path, name, schemas, fields[name])
	}

	p.printf("\n")
	p.rules(schemas)

	for _, name := range names {
		child, inner := below(path, name, fields[name])
		if len(inner[0].props.Properties) > 0 && p.section(child, inner) == child {
			p.object(child, child, inner)
		}
	}
}

// section returns the heading of the section of the objects with these schemas: path
// for the first of them.
func (p *page) section(path string, schemas []schema) string {
	var key strings.Builder

	for _, s := range schemas {
		s.props.Description, s.props.Default = "", nil

		b, err := json.Marshal(s.props)
		if err != nil {
			return path // Values that were read as YAML can be written as JSON.
		}

		key.WriteString(s.group)
		key.Write(b)
	}

	if _, ok := p.sections[key.String()]; !ok {
		p.sections[key.String()] = path
	}

	return p.sections[key.String()]
}

// field writes the row of a field; its parents are those of all groups.
func (p *page) field(path, name string, parents, field []schema) {
	code := "`" + name + "`"
	if child, inner := below(path, name, field); len(inner[0].props.Properties) > 0 {
		code = fmt.Sprintf("[%s](#%s)", code,
			regexp.MustCompile(`[^a-z]`).ReplaceAllString(strings.ToLower(p.section(child, inner)), ""))
	}

	required := func(s schema) string {
		i := slices.IndexFunc(parents, func(parent schema) bool { return parent.group == s.group })
		if slices.Contains(parents[i].props.Required, name) {
			return kind(s.props) + ", required"
		}

		return kind(s.props)
	}

	meaning := cell(field[0].props.Description)
	if len(field) < len(parents) {
		meaning = fmt.Sprintf("Only in the group `%s`. %s", field[0].group, meaning)
	}

	p.printf("| %s | %s | %s | %s |\n", code, each(field, required),
		each(field, func(s schema) string { return values(s.props) }), meaning)
}

// rules writes what the API server demands beyond types and values.
func (p *page) rules(schemas []schema) {
	groups := map[string][]string{}

	for _, s := range schemas {
		for _, r := range s.props.XValidations {
			groups[r.Message] = append(groups[r.Message], s.group)
		}
	}

	for _, message := range slices.Sorted(maps.Keys(groups)) {
		where := ""
		if len(groups[message]) < len(schemas) {
			where = fmt.Sprintf(" (in the group `%s`)", groups[message][0])
		}

		p.printf("- Rule%s: %s.\n", where, cell(message))
	}

	if len(groups) > 0 {
		p.printf("\n")
	}
}

// below returns the path and the schemas of what a field holds: of the items of a
// list, of the values of a map, or of the field itself.
func below(path, name string, field []schema) (string, []schema) {
	child := strings.TrimPrefix(path+"."+name, ".")

	inner := make([]schema, len(field))
	for i, s := range field {
		inner[i] = s

		switch {
		case s.props.Items != nil && s.props.Items.Schema != nil:
			inner[i].props = *s.props.Items.Schema
		case s.props.AdditionalProperties != nil && s.props.AdditionalProperties.Schema != nil:
			inner[i].props = *s.props.AdditionalProperties.Schema
		}
	}

	switch {
	case field[0].props.Items != nil:
		child += "[]"
	case field[0].props.AdditionalProperties != nil:
		child += ".*"
	}

	return child, inner
}

// each is what a function says of a field: once if it is the same in all groups.
func each(field []schema, say func(schema) string) string {
	first := say(field[0])
	if !slices.ContainsFunc(field, func(s schema) bool { return say(s) != first }) {
		return first
	}

	var out []string

	for _, s := range field {
		text := say(s)
		if text == "" {
			text = "any"
		}

		out = append(out, fmt.Sprintf("`%s`: %s", s.group, text))
	}

	return strings.Join(out, "; ")
}

// kind of the values of a field, in words.
func kind(s apiextensionsv1.JSONSchemaProps) string {
	switch {
	case s.XIntOrString:
		return "integer or string"
	case s.Type == "":
		return "any"
	case s.Format == "date-time":
		return "time"
	case s.Items != nil && s.Items.Schema != nil:
		return "list of " + plural(kind(*s.Items.Schema))
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return "map of " + plural(kind(*s.AdditionalProperties.Schema))
	default:
		return s.Type
	}
}

func plural(kind string) string {
	if kind == "any" || strings.Contains(kind, " of ") {
		return kind
	}

	return kind + "s"
}

// values that a field may have.
func values(s apiextensionsv1.JSONSchemaProps) string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }

	for _, v := range s.Enum {
		add("`%s`", strings.Trim(string(v.Raw), `"`))
	}

	if len(out) > 0 {
		out = []string{strings.Join(out, ", ")}
	}

	limit(add, "at least %.0f", "at most %.0f", "%.0f to %.0f", s.Minimum, s.Maximum)
	limit(add, "at least %d characters", "at most %d characters", "%d to %d characters", s.MinLength, s.MaxLength)
	limit(add, "at least %d items", "at most %d items", "%d to %d items", s.MinItems, s.MaxItems)

	if s.Pattern != "" {
		add("`%s`", strings.ReplaceAll(s.Pattern, "|", `\|`))
	}

	if len(s.Properties) == 0 {
		for _, r := range s.XValidations {
			add("%s", cell(r.Message))
		}
	}

	if s.Items != nil && s.Items.Schema != nil && s.Items.Schema.Type == "string" {
		if text := values(*s.Items.Schema); text != "" {
			add("each %s", text)
		}
	}

	if s.Default != nil {
		add("default `%s`", strings.Trim(string(s.Default.Raw), `"`))
	}

	return strings.ReplaceAll(strings.Join(out, "; "), "at least 1 characters", "not empty")
}

// limit adds the lower and the upper limit of a value.
func limit[T int64 | float64](add func(string, ...any), least, most, both string, lower, upper *T) {
	switch {
	case lower != nil && upper != nil:
		add(both, *lower, *upper)
	case lower != nil:
		add(least, *lower)
	case upper != nil:
		add(most, *upper)
	}
}

// An expression is text that Markdown could take for mathematics.
var expression = regexp.MustCompile(`\$\$?\{(?:[^{}]*\})?`)

// block is a docstring as a block of Markdown.
func block(text string) string {
	var out strings.Builder

	at := 0
	escape := strings.NewReplacer("_", `\_`, "*", `\*`, "<", `\<`)

	for _, m := range expression.FindAllStringIndex(text, -1) {
		out.WriteString(escape.Replace(text[at:m[0]]) + "`" + text[m[0]:m[1]] + "`")
		at = m[1]
	}

	return out.String() + escape.Replace(text[at:])
}

// cell is a docstring as a cell of a table.
func cell(text string) string {
	paragraphs := strings.Split(block(text), "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = strings.Join(strings.Fields(p), " ")
	}

	return strings.ReplaceAll(strings.Join(paragraphs, "<br>"), "|", `\|`)
}
