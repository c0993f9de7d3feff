package validate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/function/render"
)

// A Mistake in a file.
type Mistake struct {
	// File that the mistake is in.
	File string
	// Line of the file, from 1; 0 when it is not known.
	Line int
	// Path of the field within the function's input, or within the object where
	// the mistake is not in an input. It is empty where the object as a whole is
	// meant.
	Path string
	// Message says what is wrong.
	Message string
}

// String returns the mistake in one line, as compilers do: file:line: path:
// message.
func (m Mistake) String() string {
	s := m.File
	if m.Line > 0 {
		s += ":" + strconv.Itoa(m.Line)
	}

	if m.Path != "" {
		s += ": " + m.Path
	}

	return s + ": " + strings.Join(strings.Fields(m.Message), " ")
}

// A Result is what was found.
type Result struct {
	// Mistakes, sorted by file and line.
	Mistakes []Mistake
	// Notes say what was not checked, and why.
	Notes []string
	// Inputs is how many inputs were checked.
	Inputs int
}

// Files checks the function's inputs in the Compositions of files, with the
// XRDs of the same files. The error is a defect.
func Files(files ...File) (Result, error) {
	reader, err := input.NewReader()
	if err != nil {
		return Result{}, err
	}

	c := &checker{reader: reader}

	var documents []document

	for _, f := range files {
		ds, mistakes := read(f)
		documents = append(documents, ds...)
		c.result.Mistakes = append(c.result.Mistakes, mistakes...)
	}

	for _, d := range documents {
		if d.is(groupCrossplane, "CompositeResourceDefinition") {
			c.definitions = append(c.definitions, define(d))
		}
	}

	for _, d := range documents {
		switch {
		case d.is(groupCrossplane, "Composition"):
			c.composition(d)
		case strings.HasPrefix(text(d.object, "apiVersion"), v1alpha1.Group+"/"):
			c.input(d, "", d.object, nil)
		}
	}

	c.result.Mistakes = sorted(c.result.Mistakes)

	return c.result, nil
}

// A checker of documents.
type checker struct {
	reader      *input.Reader
	definitions []definition
	result      Result
}

// composition checks the inputs of a Composition.
func (c *checker) composition(d document) {
	inputs := inputsOf(d.object)
	if len(inputs) == 0 {
		c.result.Notes = append(c.result.Notes, fmt.Sprintf("%s:%d: Composition %s has no input of function-ansible", d.file, d.node.Line, d.name()))
		return
	}

	v := c.version(d)
	for _, path := range slices.Sorted(maps.Keys(inputs)) {
		c.input(d, path, inputs[path], v)
	}
}

// inputsOf a Composition that are the function's, by their paths.
func inputsOf(composition map[string]any) map[string]map[string]any {
	inputs := map[string]map[string]any{}

	spec, _ := composition["spec"].(map[string]any)
	pipeline, _ := spec["pipeline"].([]any)

	for i := range pipeline {
		step, _ := pipeline[i].(map[string]any)
		in, _ := step["input"].(map[string]any)

		if strings.HasPrefix(text(in, "apiVersion"), v1alpha1.Group+"/") {
			inputs["spec.pipeline["+strconv.Itoa(i)+"].input"] = in
		}
	}

	return inputs
}

// version of the XRD that a Composition is for; nil when it is not known.
func (c *checker) version(d document) *version {
	if len(c.definitions) == 0 {
		return nil
	}

	v, err := lookup(c.definitions, reference(d.object))
	if err != nil {
		const path = "spec.compositeTypeRef"
		c.result.Mistakes = append(c.result.Mistakes, Mistake{File: d.file, Line: line(d.node, path), Path: path, Message: err.Error()})
	}

	return v
}

// input checks an input at a path of a document, for XRs of a version.
func (c *checker) input(d document, at string, in map[string]any, v *version) {
	c.result.Inputs++

	for _, err := range c.check(in, v) {
		path := err.Field
		if at != "" {
			path = at + "." + strings.TrimPrefix(path, "<nil>")
		}

		c.result.Mistakes = append(c.result.Mistakes, Mistake{File: d.file, Line: line(d.node, path), Path: err.Field, Message: err.ErrorBody()})
	}
}

// check an input. What a reader makes of it is compiled, so it is read once for
// each scope that the XR may have.
func (c *checker) check(in map[string]any, v *version) field.ErrorList {
	if v != nil {
		return c.compile(in, v.namespaced, v)
	}

	// Without an XRD the scope is the one that fits better.
	namespaced, cluster := c.compile(in, true, nil), c.compile(in, false, nil)
	if len(cluster) < len(namespaced) {
		return cluster
	}

	return namespaced
}

func (c *checker) compile(in map[string]any, namespaced bool, v *version) field.ErrorList {
	s, err := structpb.NewStruct(in)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, errors.Wrap(err, "cannot convert the input"))}
	}

	object, errs := c.reader.Read(s)
	if object == nil {
		return errs
	}

	var schema *expression.Schema
	if v != nil {
		schema = expression.NewSchema(v.schema)
	}

	composition, cerrs := render.Compile(object, namespaced, schema)
	errs = append(errs, cerrs...)

	if composition != nil {
		errs = append(errs, composition.Lint()...)
	}

	return errs
}

// sorted mistakes, by file and line, without those that are said twice.
func sorted(mistakes []Mistake) []Mistake {
	slices.SortFunc(mistakes, func(a, b Mistake) int {
		return cmp.Or(
			strings.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			strings.Compare(a.Path, b.Path),
			strings.Compare(a.Message, b.Message),
		)
	})

	return slices.Compact(mistakes)
}
