// Package plan has the compiled form of an input, which does not depend on an XR. Package compile compiles an input to
// a Plan once, and each request for an XR uses it.
//
// The parts of a Plan have methods that evaluate them for the data of an XR. They do not use the observed state.
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

// A Plan is an input compiled for XRs of one scope. It is safe for concurrent use.
type Plan struct {
	// Runs has each run after its dependencies.
	Runs []*Run
	// PreviousSets has, by the names of previous sets, the sets that adopt their members.
	PreviousSets map[string]*Run
	// Locals are the locals of the input.
	Locals *expression.Locals
	// Status is the status of the XR; nil when the input has none.
	Status *expression.Template
	// Conditions are the custom conditions of the XR.
	Conditions []Condition
	// OperatorConditions is true when the XR also gets the conditions of an Ansible operator.
	OperatorConditions bool
	// StatusSchema is the schema of the status of the XR. A field without a known schema may have any value.
	StatusSchema *schema.Converter
	// Connection has the connection details of the XR.
	Connection Connection
	// Required has each required resource after those that it refers to.
	Required []RequiredResource
	// ByResource has the runs by composition resource name.
	ByResource map[string]*Run
	// ReadsResources is true when expressions refer to resources of other steps.
	ReadsResources bool
}

// A Condition is a custom condition of the XR, compiled.
type Condition struct {
	Type                    string
	Status, Reason, Message *expression.Template
}

// IsReservedCondition is true for the types of conditions that Crossplane or the function sets itself.
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

// Types of the conditions that Ansible operators set. Source: ansible-operator-plugins, package status.
const (
	ConditionRunning    = "Running"
	ConditionSuccessful = "Successful"
	ConditionFailure    = "Failure"
)

// A Connection has the connection details of the XR, compiled: names and, at the same indexes, values.
type Connection struct {
	Names  []string
	Values []*expression.Template
	// Namespace is the namespace of the Secrets of cluster-scoped AnsibleRuns.
	Namespace string
	// Name is the name of the Secret; nil for the default one.
	Name *expression.Template
}

// ResourceConnection is the composition resource name of the Secret with the connection details, for XRs without
// spec.writeConnectionSecretToRef.
const ResourceConnection = "connection-details"

// RunOf returns the run that renders a composed resource, or the set that adopts it by a previous name of the set; nil
// when there is none.
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

// MayBelong is true for a composed resource of a run. It is also true for a resource of no run with a name that may be
// a previous name of a member of the set: core keeps the first name of an adopted AnsibleRun.
func (c *Plan) MayBelong(run *Run, resource string) bool {
	by := c.RunOf(resource)
	return by == run || by == nil && run.mayBePreviousName(resource)
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

// maxResourceName is the longest composition resource name that expressions can refer to, in bytes. The messages of
// runs that wait for the resource have the name.
const maxResourceName = 253

// Unreferable returns why expressions cannot refer to a composed resource as resources[name]; nil when they can.
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

// ResourcesOf returns the resources of other steps that templates refer to, by composition resource name. A resource is
// true when a template needs it.
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
