// Package plan is what an input says, compiled: all that does not depend on an XR. Package
// compile makes a Plan of an input, once; the packages that render read it for each XR.
//
// The parts of a Plan evaluate themselves for the data of an XR. They know nothing of
// what is observed.
package plan

import (
	"context"
	"slices"
	"strings"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/schema"
)

// A Plan is an input, compiled for XRs of one scope. It is safe for
// concurrent use.
type Plan struct {
	// Runs, each after those that it depends on.
	Runs []*Run
	// PreviousSets are the sets by the names of previous sets. They adopt the members of these.
	PreviousSets map[string]*Run
	// Locals that expressions see.
	Locals *expression.Locals
	// Status of the XR, if there is any.
	Status *expression.Template
	// Conditions of the XR.
	Conditions []Condition
	// OperatorConditions is true for an XR that also has the conditions of an operator.
	OperatorConditions bool
	// StatusSchema is the schema of the status. That of what is not known may be anything.
	StatusSchema *schema.Converter
	// Connection are the connection details of the XR.
	Connection Connection
	// Required resources, each after those that it refers to.
	Required []RequiredResource
	// ByResource are the runs by their resource names.
	ByResource map[string]*Run
	// ReadsResources is true when expressions refer to what other steps compose.
	ReadsResources bool
}

// A Condition of the XR, compiled.
type Condition struct {
	Type                    string
	Status, Reason, Message *expression.Template
}

// IsReservedCondition is true for the types of conditions that Crossplane or the function
// sets itself.
func IsReservedCondition(typ string) bool {
	switch typ {
	case ansiblerun.ConditionReady, ansiblerun.ConditionSynced, "Healthy", "UpToDate", "Responsive",
		ansiblerun.TypeAnsibleRunsReady:
		return true
	}

	return false
}

// OperatorConditions are the types of the conditions that Ansible operators set.
var OperatorConditions = [...]string{ConditionRunning, ConditionSuccessful, ConditionFailure} //nolint:gochecknoglobals // Go has no constant arrays.

// Types of the conditions that Ansible operators set. Source: ansible-operator-plugins,
// package status.
const (
	ConditionRunning    = "Running"
	ConditionSuccessful = "Successful"
	ConditionFailure    = "Failure"
)

// Connection are the connection details of the XR, compiled.
type Connection struct {
	Names     []string
	Values    []*expression.Template
	Namespace string
	// Name of the Secret; nil for the usual one.
	Name *expression.Template
}

// ResourceConnection is the composition resource name of the Secret that holds connection
// details of XRs that have none of their own.
const ResourceConnection = "connection-details"

// RunOf returns the run that a composed resource comes from, also by a previous name of a
// set; nil when there is none.
func (c *Plan) RunOf(resource string) *Run {
	set, _, ok := Member(resource)
	if !ok {
		set = resource
	}

	if run := c.ByResource[set]; run != nil && run.Owns(resource) {
		return run
	}

	if !ok {
		return nil
	}

	return c.PreviousSets[set]
}

// MayBeOf is true for a composed resource of a run, and for one of no run that a member of
// the set may have been: core goes on calling it by the name that it had first.
func (c *Plan) MayBeOf(run *Run, resource string) bool {
	by := c.RunOf(resource)
	return by == run || by == nil && run.mayHaveHad(resource)
}

// Templates returns all templates of the plan.
func (c *Plan) Templates() []*expression.Template {
	all := c.Reported()

	for _, run := range c.Runs {
		all = append(all, run.When)
		all = append(all, run.Uses...)

		if run.ReadyWhen != nil {
			all = append(all, run.ReadyWhen)
		}

		if run.PreviousNames != nil {
			all = append(all, run.PreviousNames)
		}
	}

	return all
}

// Reported returns the templates outside of runs.
func (c *Plan) Reported() []*expression.Template {
	all := slices.Clone(c.Connection.Values)

	for _, r := range c.Required {
		all = append(all, r.Selector)
	}

	if c.Status != nil {
		all = append(all, c.Status)
	}

	for _, condition := range c.Conditions {
		all = append(all, condition.Status, condition.Reason, condition.Message)
	}

	return all
}

// maxResourceName is the length of the longest name of a resource that expressions can refer
// to, in bytes. The message of each run that waits for the resource has the name.
const maxResourceName = 253

// Unreferable returns why expressions cannot refer to a composed resource of this name;
// nil when they can.
func (c *Plan) Unreferable(name string) error {
	switch on := c.RunOf(name); {
	case on != nil:
		return errors.Errorf("is a run of this input; write runs.%s", on.Name)
	case name == ResourceConnection && len(c.Connection.Names) > 0:
		return errors.New("is the Secret with the connectionDetails of this input")
	case name == "" || len(name) > maxResourceName || strings.ContainsAny(name, ", "):
		return errors.Errorf("cannot be referred to: the name must have 1 to %d bytes, and neither commas nor spaces",
			maxResourceName)
	}

	return nil
}

// ResourcesOf returns the resources of other steps that templates refer to, by
// composition resource name: true for those that they need.
func (c *Plan) ResourcesOf(ctx context.Context, data expression.Data,
	templates ...*expression.Template,
) (map[string]bool, []expression.Problem) {
	if !c.ReadsResources {
		return nil, nil
	}

	all := map[string]bool{}

	var problems []expression.Problem

	for _, t := range templates {
		names, ps := t.Resources(ctx, data)
		problems = append(problems, ps...)

		for _, name := range manifest.SortedKeys(names) {
			if err := c.Unreferable(name); err != nil {
				problems = append(problems, expression.InvalidAt(t.Path, errors.Wrapf(err, "resources[%.80q]", name)))
				continue
			}

			all[name] = all[name] || names[name]
		}
	}

	return all, problems
}
