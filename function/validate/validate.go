// Package validate checks Compositions and Operations before they are applied. It finds the mistakes in their inputs
// that can be found without an XR, and what a changed Composition does to the runs of XRs.
package validate

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/compile"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// A Result has the mistakes in a set of files.
type Result struct {
	// Mistakes are sorted by file and line.
	Mistakes []Mistake
	// Warnings are about valid fields that may not do what the author means, and about objects without an input.
	Warnings []Mistake
	// Inputs is the number of checked inputs.
	Inputs int
}

// Files checks the inputs of the function in the Compositions and Operations of files, with the XRDs in the same files.
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
			c.pipeline(d, stepsOf(d.object, "spec"), operation)
		case d.is(groupOperations, "CronOperation"), d.is(groupOperations, "WatchOperation"):
			c.pipeline(d, stepsOf(d.object, "spec", "operationTemplate", "spec"), operation)
		case strings.HasPrefix(manifest.Text(d.object, "apiVersion"), v1alpha1.Group+"/"):
			c.input(d, step{input: d.object}, nil, anyXR...)
		}
	}

	c.result.Mistakes = sorted(c.result.Mistakes)
	c.result.Warnings = sorted(c.result.Warnings)

	return c.result
}

// A checker checks the documents of files.
type checker struct {
	// definitions are the versions of XRDs, and kinds those of CRDs.
	definitions []version
	kinds       []version
	result      Result
}

// anyXR has versions for XRs of unknown kind: a namespaced and a cluster-scoped one.
var anyXR = []version{{namespaced: true}, {}} //nolint:gochecknoglobals // Go has no constant lists.

// A use is the surroundings of an input that is checked.
type use struct {
	version

	// steps are the steps of the pipeline, and at the index of the one with the input. There are none for an input
	// outside of a pipeline.
	steps []step
	at    int
	// resources are the resources of other steps, see composed.
	resources map[string]map[string]any
}

// composition checks the inputs of a Composition for the XRs of its compositeTypeRef.
func (c *checker) composition(d document) {
	versions, steps := anyXR, stepsOf(d.object, "spec")

	if len(c.definitions) > 0 {
		of := func(name string) string { return manifest.NestedText(d.object, "spec", "compositeTypeRef", name) }

		v, err := lookup(c.definitions, of("apiVersion"), of("kind"))
		if err != nil {
			c.mistake(d.mistake("", "spec.compositeTypeRef", err.Error()))
		} else {
			versions = []version{*v}
			c.connectionDetails(d, *v, steps)
		}
	}

	for i, s := range steps {
		if s.is("function-auto-ready") && slices.ContainsFunc(steps[i:], step.isOurs) {
			c.warn(d.mistake("", strings.TrimSuffix(s.path, ".input"), "warning: "+s.function+
				" comes before a step of function-ansible: it makes nothing ready that later steps compose; put it last"))
		}
	}

	c.pipeline(d, steps, versions...)
}

// connectionDetails reports connectionDetails in more than one step, unless the XRs are legacy ones: the Secret has the
// details of one step only.
func (c *checker) connectionDetails(d document, of version, steps []step) {
	inputs := slices.DeleteFunc(ours(steps), func(s step) bool { return of.legacy || s.input["connectionDetails"] == nil })
	for _, in := range inputs[min(1, len(inputs)):] {
		c.mistake(d.mistake(in.path, "connectionDetails",
			"Forbidden: another step has connectionDetails, and only one step can have these"))
	}
}

// runNames reports names of runs that several steps have. A later step would treat the AnsibleRun of an earlier one as
// its own.
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

// pipeline checks the inputs in the steps of a document, for XRs of these versions.
func (c *checker) pipeline(d document, steps []step, versions ...version) {
	inputs := ours(steps)
	if len(inputs) == 0 {
		c.warn(d.mistake("", "", fmt.Sprintf("%s %s has no input of function-ansible", manifest.Text(d.object, "kind"),
			manifest.Name(d.object))))
	}

	for _, in := range inputs {
		c.input(d, in, steps, versions...)
	}

	c.runNames(d, inputs)
}

// input checks an input for each of the versions, and reports the mistakes of the one with the fewest.
func (c *checker) input(d document, in step, steps []step, versions ...version) {
	c.result.Inputs++

	var errs, doubts field.ErrorList

	for i, v := range versions {
		u := use{v, steps, in.index, composed(steps, in.index, slices.Concat(c.kinds, c.definitions))}
		if mistakes, warnings := u.check(in.input); i == 0 || len(mistakes) < len(errs) {
			errs, doubts = mistakes, warnings
		}
	}

	for _, err := range errs {
		c.mistake(d.mistake(in.path, err.Field, err.ErrorBody()))
	}

	for _, err := range doubts {
		c.warn(d.mistake(in.path, err.Field, fmt.Sprintf("warning: %v %s", err.BadValue, err.Detail)))
	}

	flawed := playbooks(d, in)
	c.mistake(flawed...)

	// Crossplane does not delete the AnsibleRuns of Operations.
	if len(errs)+len(flawed) == 0 && !versions[0].operation {
		c.warn(ignoringState(d, in)...)
	}
}

func (u use) check(in map[string]any) (mistakes, warnings field.ErrorList) {
	p, errs := compile.Input(in, u.namespaced,
		expression.Declarations{Operation: u.operation, Schema: u.openAPI, Resources: u.resources})
	if p != nil {
		errs = append(errs, u.lint(p)...)
	}

	if len(errs) > 0 {
		return errs, nil
	}

	return nil, append(warningsOf(p), u.doubts(p)...)
}
