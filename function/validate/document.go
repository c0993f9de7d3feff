package validate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// A File is a stream of YAML documents.
type File struct {
	// Name is the name of the file for messages.
	Name    string
	Content []byte
	// Mixed is true for a file in a directory argument, which may have documents that are not Kubernetes objects.
	Mixed bool
}

// errNoObject is the error for a YAML document that is not a Kubernetes object.
var errNoObject = errors.New("this is not a Kubernetes object")

// A document is a Kubernetes object in a file.
type document struct {
	file   string
	object map[string]any
	// node is the root of the document, with line numbers of the file.
	node *yamlv3.Node
}

// is reports whether the object is of a group and kind.
func (d document) is(group, kind string) bool {
	return strings.HasPrefix(manifest.Text(d.object, "apiVersion"), group+"/") && manifest.Text(d.object, "kind") == kind
}

// mistake returns a mistake at a path below another one. The Mistake has only the second part of the path.
func (d document) mistake(above, path, message string) Mistake {
	at := strings.TrimPrefix(above+"."+strings.TrimPrefix(path, "<nil>"), ".")

	return Mistake{File: d.file, Line: line(d.node, at), Path: path, Message: message}
}

// read returns the objects in a file. A document that is not a Kubernetes object is a mistake, unless the file is
// Mixed.
func read(f File) ([]document, []Mistake) {
	var (
		documents []document
		mistakes  []Mistake
	)

	for _, text := range split(string(f.Content)) {
		d, err := parse(f.Name, text)

		switch {
		case errors.Is(err, errNoObject) && f.Mixed:
		case err != nil:
			mistakes = append(mistakes, Mistake{File: f.Name, Line: cmp.Or(lineOf(err), firstLine(text)), Message: err.Error()})
		case d.object != nil:
			documents = append(documents, d.items()...)
		}
	}

	return documents, mistakes
}

// items returns the items of a List, in which kubectl prints several objects, and otherwise the object itself.
func (d document) items() []document {
	list, ok := d.object["items"].([]any)
	if !ok {
		return []document{d}
	}

	items := make([]document, len(list))
	for i := range list {
		items[i].file = d.file
		items[i].object, _ = list[i].(map[string]any)
		items[i].node, _, _ = find(d.node, 0, fmt.Sprintf("items[%d]", i))
	}

	return items
}

// split splits a stream into documents. Each begins with as many empty lines as there are lines before it in the
// stream, so that parsers return line numbers of the file.
func split(stream string) []string {
	var (
		documents []string
		current   []string
	)

	lines := strings.Split(stream, "\n")
	for i, l := range lines {
		if rest, ok := strings.CutPrefix(strings.TrimSuffix(l, "\r"), "---"); ok &&
			(rest == "" || rest[0] == ' ' || rest[0] == '\t') {
			documents = append(documents, strings.Join(current, "\n"))
			current = make([]string, i, len(lines))
			l = strings.TrimLeft(rest, " \t")
		}

		current = append(current, l)
	}

	return append(documents, strings.Join(current, "\n"))
}

// parse parses a document as kubectl does, but refuses duplicate keys. An empty document has no object.
func parse(file, text string) (document, error) {
	d := document{file: file}

	j, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return d, errors.Errorf("this is not YAML: %s",
			strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " "))
	}

	var v any
	if err := json.Unmarshal(j, &v); err != nil || v == nil {
		return d, errors.Wrap(err, "this is not JSON")
	}

	object, ok := v.(map[string]any)
	if !ok {
		return d, errNoObject
	}

	root := &yamlv3.Node{}
	if err := yamlv3.Unmarshal([]byte(text), root); err != nil {
		return d, errors.Wrap(err, "this is not YAML")
	}

	d.object, d.node = object, root.Content[0]

	return d, nil
}

// lineOf returns the line number in an error of a parser; 0 for none.
func lineOf(err error) int {
	m := regexp.MustCompile(`line (\d+)`).FindStringSubmatch(err.Error())
	if m == nil {
		return 0
	}

	line, _ := strconv.Atoi(m[1])

	return line
}

// firstLine returns the number of the first line of a text that is not empty.
func firstLine(text string) int {
	return 1 + strings.Count(text, "\n") - strings.Count(strings.TrimLeft(text, " \t\r\n"), "\n")
}

// line returns the line of the node at a path below a node, or of the last node on the path that exists. The path has
// the form of a field.Path; the names in it may have any characters.
func line(n *yamlv3.Node, path string) int {
	_, at, _ := find(n, n.Line, path)
	return at
}

// find returns the node at a path below a node that begins at the line at, or the last node on the path that exists,
// with its line. found is how many bytes of the path exist.
func find(n *yamlv3.Node, at int, path string) (node *yamlv3.Node, line, found int) {
	if n.Kind == yamlv3.AliasNode {
		n = n.Alias
	}

	node, line = n, at

	try := func(below *yamlv3.Node, at int, rest string) {
		m, l, f := find(below, at, rest)
		if f += len(path) - len(rest); f > found {
			node, line, found = m, l, f
		}
	}

	switch n.Kind {
	case yamlv3.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]

			for _, prefix := range []string{"." + key.Value, key.Value, "[" + key.Value + "]"} {
				rest, ok := strings.CutPrefix(path, prefix)
				if ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
					try(value, key.Line, rest)
				}
			}
		}
	case yamlv3.SequenceNode:
		for i, item := range n.Content {
			if rest, ok := strings.CutPrefix(path, "["+strconv.Itoa(i)+"]"); ok {
				try(item, item.Line, rest)
			}
		}
	}

	return node, line, found
}
