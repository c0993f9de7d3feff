// Package composite evaluates the status, the conditions and the connection details of an XR, after its runs are
// rendered.
package composite

import (
	"context"
	"slices"

	"github.com/crossplane-ansible/crossplane-ansible/function/desired"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// A Desired is the desired state of an XR itself.
type Desired struct {
	// Status is the status of the XR, with the fields of earlier steps; nil if the input has no status.
	Status map[string]any
	// Conditions are the conditions of the input, and those that content has reported.
	Conditions []Condition
	// Operator is true when the XR also gets the conditions of an Ansible operator.
	Operator bool
	// Details are the connection details of a legacy XR.
	Details map[string][]byte
	// Secret is the Secret with the connection details of another XR; nil for none.
	Secret map[string]any
	// Problems are the problems in the status, conditions and connection details. Values that are pending while runs or
	// resources are not ready are left out.
	Problems []expression.Problem
}

// An evaluator evaluates a Desired.
type evaluator struct {
	plan *plan.Plan
	runs desired.Runs
	// problems so far, see Desired.Problems.
	problems []expression.Problem
}

// invalid adds a problem about the value at a path.
func (e *evaluator) invalid(path string, err error) {
	e.problems = append(e.problems, expression.InvalidAt(path, err))
}

// Evaluate returns the desired state of an XR itself, for its rendered runs.
func Evaluate(ctx context.Context, p *plan.Plan, runs desired.Runs) Desired {
	e := &evaluator{plan: p, runs: runs}
	status, reported := e.status(ctx)

	// With operatorConditions, content must not set these conditions, even while the function does not set all of them.
	if p.OperatorConditions {
		reported = slices.DeleteFunc(reported,
			func(c Condition) bool { return slices.Contains(plan.OperatorConditions[:], c.Type) })
	}

	conditions := merge(e.conditions(ctx), reported)
	details, secret := e.details(ctx)

	return Desired{
		Status: status, Conditions: conditions, Operator: p.OperatorConditions, Details: details, Secret: secret,
		Problems: e.problems,
	}
}
