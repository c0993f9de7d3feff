// Package composite evaluates what an XR itself is to have, once its runs are rendered:
// status fields, conditions and connection details. The function calls Evaluate with the
// Runs of package desired.
package composite

import (
	"context"
	"slices"

	"github.com/crossplane-ansible/crossplane-ansible/function/desired"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// A Desired is what an XR itself is to have.
type Desired struct {
	// Status of the XR, with the fields of earlier steps of the pipeline; nil if it is what these say.
	Status map[string]any
	// Conditions for the XR.
	Conditions []Condition
	// Operator is true for an XR that also has the conditions of an operator.
	Operator bool
	// Details are the connection details of a legacy XR.
	Details map[string][]byte
	// Secret with the connection details of any other XR; nil for none.
	Secret map[string]any
	// Problems of status fields, conditions and connection details, without values that
	// runs or resources in progress are still to bring.
	Problems []expression.Problem
}

// An evaluator evaluates what the XR itself is to have.
type evaluator struct {
	plan *plan.Plan
	runs desired.Runs
	// problems of what was evaluated so far, without values that runs or resources in progress are still to bring.
	problems []expression.Problem
}

// invalid says that what is at a path cannot be used.
func (e *evaluator) invalid(path string, err error) {
	e.problems = append(e.problems, expression.InvalidAt(path, err))
}

// Evaluate returns what an XR itself is to have, once its runs are known.
func Evaluate(ctx context.Context, p *plan.Plan, runs desired.Runs) Desired {
	e := &evaluator{plan: p, runs: runs}
	status, reported := e.status(ctx)

	// Also while nothing is said of one of them, its content does not say it.
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
