// Package validate checks Compositions before they are applied: everything that can be
// known of their inputs without an XR, and what they would change for the runs of XRs.
package validate

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/compile"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// A Result is what was found.
type Result struct {
	// Mistakes, sorted by file and line.
	Mistakes []Mistake
	// Warnings are about inputs that are valid, and may not do what is meant.
	Warnings []Mistake
	// Notes say what was not checked, and why.
	Notes []string
	// Inputs is how many inputs were checked.
	Inputs int
}

// Files checks the function's inputs in the Compositions of files, with the
// XRDs of the same files, and in their Operations.
func Files(files ...File) Result {
	c := &checker{}

	var documents []document

	for _, f := range files {
		ds, mistakes := read(f)
		documents = append(documents, ds...)
		c.mistake(mistakes...)
	}

	for _, d := range documents {
		switch {
		case d.is(groupCrossplane, "CompositeResourceDefinition"):
			c.definitions = append(c.definitions, versionsOf(d)...)
		case d.is(groupKubernetes, "CustomResourceDefinition"):
			c.kinds = append(c.kinds, versionsOf(d)...)
		}
	}

	for _, d := range documents {
		switch {
		case d.is(groupCrossplane, "Composition"):
			c.composition(d)
		case d.is(groupOperations, "Operation"):
			c.pipeline(d, operations, "spec")
		case d.is(groupOperations, "CronOperation"), d.is(groupOperations, "WatchOperation"):
			c.pipeline(d, operations, "spec", "operationTemplate", "spec")
		case strings.HasPrefix(manifest.Text(d.object, "apiVersion"), v1alpha1.Group+"/"):
			c.input(d, "", d.object, anyXR(nil))
		}
	}

	c.result.Mistakes = sorted(c.result.Mistakes)
	c.result.Warnings = sorted(c.result.Warnings)

	return c.result
}

// A checker of documents.
type checker struct {
	definitions []version
	// kinds are those of CRDs.
	kinds  []version
	result Result
}

// A use of inputs, as package input reads them.
type use struct {
	compile func(in map[string]any) (*plan.Plan, field.ErrorList)
	// schema of the XR, if it is known.
	schema map[string]any
	// inPipeline is true when the other steps are known. What is earlier in the pipeline is text, and later are the
	// names of what later steps compose.
	inPipeline bool
	earlier    string
	later      []string
}

// forXR compiles inputs for the XRs of a version, beside what other steps compose.
func forXR(v version, resources map[string]map[string]any) use {
	return use{schema: v.openAPI, compile: func(in map[string]any) (*plan.Plan, field.ErrorList) {
		return compile.Composition(in, v.namespaced,
			expression.Declarations{Schema: v.openAPI, Resources: resources})
	}}
}

// anyXR compiles inputs for XRs of which nothing is known.
func anyXR(resources map[string]map[string]any) []use {
	return []use{forXR(version{namespaced: true}, resources), forXR(version{}, resources)}
}

// operations compiles inputs for Operations, which have no XR.
func operations(int) []use {
	return []use{{compile: compile.Operation}}
}

// composition checks the inputs of a Composition for the XRs that it is for.
func (c *checker) composition(d document) {
	var v *version

	if len(c.definitions) > 0 {
		of := func(name string) string { return manifest.NestedText(d.object, "spec", "compositeTypeRef", name) }
		found, err := lookup(c.definitions, of("apiVersion"), of("kind"))

		if v = found; err != nil {
			c.mistake(d.mistake("", "spec.compositeTypeRef", err.Error()))
		}
	}

	c.pipeline(d, func(step int) []use {
		resources := composed(d, slices.Concat(c.kinds, c.definitions), step)
		uses := anyXR(resources)

		if v != nil {
			uses = []use{forXR(*v, resources)}
		}

		c.order(d, step, uses)

		return uses
	}, "spec")

	if v != nil && !v.legacy {
		c.connectionDetails(d)
	}
}

// order adds to the uses of a step what the other steps of its pipeline are.
func (c *checker) order(d document, of int, uses []use) {
	steps, later := stepsOf(d.object, "spec"), map[string]map[string]any{}

	for _, s := range steps {
		switch {
		case s.index < of && s.is("function-auto-ready"):
			c.warn(
				d.mistake("", strings.TrimSuffix(s.path, ".input"), "warning: "+s.function+
					" comes before a step of function-ansible: it makes nothing ready that later steps compose; put it last"))
		case s.index > of && strings.HasPrefix(manifest.Text(s.input, "apiVersion"), groupPatch+"/"):
			patched(s.input, nil, later)
		}
	}

	for i := range uses {
		uses[i].inPipeline, uses[i].earlier, uses[i].later = true, textOf(steps[:of]), manifest.SortedKeys(later)
	}
}

// connectionDetails of two steps are refused for XRs that do not publish them themselves: one Secret
// has them.
func (c *checker) connectionDetails(d document) {
	inputs := slices.DeleteFunc(inputsOf(d.object, "spec"),
		func(s step) bool { return s.input["connectionDetails"] == nil })
	for _, in := range inputs[min(1, len(inputs)):] {
		c.mistake(d.mistake(in.path, "connectionDetails",
			"Forbidden: another step has connectionDetails, and only one step can have these"))
	}
}

// runNames of runs that two steps have: a later step would take the AnsibleRun of an earlier one
// for its own.
func (c *checker) runNames(d document, inputs []step) {
	steps := map[string]int{}

	for _, in := range inputs {
		runs, _ := input.Runs(in.input)
		for _, r := range runs {
			if at, ok := steps[r.Name]; ok && at != in.index && r.Name != "" {
				c.mistake(d.mistake(in.path, r.Path.Child("name").String(), fmt.Sprintf(
					"Invalid value: %q: an earlier step has a run of this name; give the run another name", r.Name)))
			}

			steps[r.Name] = in.index
		}
	}
}

func (c *checker) mistake(all ...Mistake) { c.result.Mistakes = append(c.result.Mistakes, all...) }

func (c *checker) warn(all ...Mistake) { c.result.Warnings = append(c.result.Warnings, all...) }

// pipeline checks the inputs in the pipeline that an object has in one of its
// fields, for what the object uses them for.
func (c *checker) pipeline(d document, uses func(step int) []use, fields ...string) {
	inputs := inputsOf(d.object, fields...)
	if len(inputs) == 0 {
		c.result.Notes = append(c.result.Notes,
			fmt.Sprintf("%s:%d: %s %s has no input of function-ansible", d.file, d.node.Line, manifest.Text(d.object, "kind"),
				manifest.Name(d.object)))
		return
	}

	for _, in := range inputs {
		c.input(d, in.path, in.input, uses(in.index))
	}

	c.runNames(d, inputs)
}

// input checks an input at a path of a document.
func (c *checker) input(d document, at string, in map[string]any, uses []use) {
	c.result.Inputs++

	errs, doubts := c.check(in, uses)
	for _, err := range errs {
		c.mistake(d.mistake(at, err.Field, err.ErrorBody()))
	}

	for _, err := range doubts {
		c.warn(d.mistake(at, err.Field, fmt.Sprintf("warning: %v %s", err.BadValue, err.Detail)))
	}

	flawed := playbooks(d, at, in)
	c.mistake(flawed...)

	// Nothing deletes what Operations have applied.
	if len(errs)+len(flawed) == 0 && !strings.HasPrefix(manifest.Text(d.object, "apiVersion"), groupOperations) {
		c.warn(ignorant(d, at, in)...)
	}
}

// check an input for the use that fits it best. What package input makes of it is
// compiled, so it is read once for each.
func (c *checker) check(in map[string]any, uses []use) (mistakes, warnings field.ErrorList) {
	for i, u := range uses {
		errs, doubts := c.compile(in, u)
		if i == 0 || len(errs) < len(mistakes) {
			mistakes, warnings = errs, doubts
		}
	}

	return mistakes, warnings
}

func (c *checker) compile(in map[string]any, u use) (mistakes, warnings field.ErrorList) {
	s, err := structpb.NewStruct(in)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, errors.Wrap(err, "cannot convert the input"))}, nil
	}

	object, errs := input.Read(s)
	if object == nil {
		return errs, nil
	}

	p, cerrs := u.compile(object)
	errs = input.Causes(object, append(errs, cerrs...))

	if p != nil {
		errs = append(errs, lint(p, u.schema)...)
	}

	if len(errs) > 0 {
		return errs, nil
	}

	return nil, append(warningsOf(p), u.doubts(p)...)
}
