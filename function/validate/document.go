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
	// Name of the file, for people.
	Name string
	// Content of the file.
	Content []byte
	// Mixed is true for a file of a directory, which may hold other things than
	// objects of Kubernetes.
	Mixed bool
}

// errNoObject is a document of YAML that is not an object of Kubernetes.
var errNoObject = errors.New("this is not a Kubernetes object")

// A document of a file.
type document struct {
	file   string
	object map[string]any
	// node is the root of the document, with lines of the file.
	node *yamlv3.Node
}

// is the document of a kind?
func (d document) is(group, kind string) bool {
	return strings.HasPrefix(manifest.Text(d.object, "apiVersion"), group+"/") && manifest.Text(d.object, "kind") == kind
}

// mistake at a path below another one, of which people know the last part.
func (d document) mistake(above, path, message string) Mistake {
	at := strings.TrimPrefix(above+"."+strings.TrimPrefix(path, "<nil>"), ".")

	return Mistake{File: d.file, Line: line(d.node, at), Path: path, Message: message}
}

// read the objects in the documents of a file. A document that is no object of
// Kubernetes is a mistake.
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

// items of a List, which is how kubectl prints several objects; of another object, this object.
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

// split a stream into documents. Each begins with as many empty lines as there
// are lines before it in the stream, so that parsers tell the lines of the
// file.
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

// parse a document as kubectl does, but for keys that are there twice. An empty
// one has no object.
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

// lineOf an error of a parser, or 0.
func lineOf(err error) int {
	m := regexp.MustCompile(`line (\d+)`).FindStringSubmatch(err.Error())
	if m == nil {
		return 0
	}

	line, _ := strconv.Atoi(m[1])

	return line
}

// firstLine of a text that is not empty.
func firstLine(text string) int {
	return 1 + strings.Count(text, "\n") - strings.Count(strings.TrimLeft(text, " \t\r\n"), "\n")
}

// line of what is at a path below a node, or of the last on the way there that
// exists. A path is as a field.Path prints it; the names in it may hold any
// character.
func line(n *yamlv3.Node, path string) int {
	_, at, _ := find(n, n.Line, path)
	return at
}

// find what is at a path below a node that begins at a line, or what was the last
// on the way there. The number is how much of the path was there.
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
