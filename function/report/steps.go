package report

import (
	"encoding/json"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane/function-sdk-go/errors"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/response"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/desired"
)

// ContextSteps is the key in the context for the steps so far, as a string with JSON. Each step reports the conditions
// of all steps so far, since core shows those of the last one.
const ContextSteps = v1alpha1.Group + "/steps"

// A step is a step with function-ansible in a pipeline, for the context.
type step struct {
	// ID identifies the step. When core has fetched required resources, it calls the step again with the context that
	// the step has written itself.
	ID   string            `json:"id"`
	Runs []desired.Outcome `json:"runs,omitempty"`
	// Problems are the problems in the status, conditions and connection details of the XR, a line each.
	Problems []string `json:"problems,omitempty"`
	// Operator is true when the XR also gets the conditions of an Ansible operator.
	Operator bool `json:"operator,omitempty"`
}

// stepOf returns the step of a result. It has no more messages than the condition shows, to keep the context small.
func stepOf(id string, result Result) step {
	s := step{ID: id, Runs: bySeverity(result.Outcomes), Operator: result.Operator}
	size := 0

	for i := range s.Runs {
		if size > maxMessage {
			s.Runs[i].Messages = nil
		}

		for _, m := range s.Runs[i].Messages {
			size += len(m)
		}
	}

	for _, p := range result.Problems {
		s.Problems = append(s.Problems, line(p.String()))
	}

	return s
}

// earlierSteps returns the steps in the context, without the one with an ID.
func earlierSteps(context *structpb.Struct, id string) []step {
	var steps []step

	// Another function may have written this key.
	if json.Unmarshal([]byte(context.GetFields()[ContextSteps].GetStringValue()), &steps) != nil {
		return nil
	}

	return slices.DeleteFunc(steps, func(s step) bool { return s.ID == id })
}

// setSteps writes all steps so far to the context.
func setSteps(rsp *fnv1.RunFunctionResponse, all []step) error {
	text, err := json.Marshal(all)
	if err != nil {
		return errors.Wrap(err, "cannot tell later steps what became of the runs")
	}

	response.SetContextKey(rsp, ContextSteps, structpb.NewStringValue(string(text)))

	return nil
}

// latest returns the outcome of an AnsibleRun in the last step that has one. Earlier steps may have kept the AnsibleRun
// without wanting it, since they did not know the runs of that step.
func latest(steps []step, resource string) (desired.Outcome, bool) {
	for _, s := range slices.Backward(steps) {
		for _, r := range s.Runs {
			if r.Resource == resource {
				return r, true
			}
		}
	}

	return desired.Outcome{}, false
}

// merge merges steps into one. The outcome of an AnsibleRun that a step keeps without wanting it is left out if a later
// step has one.
func merge(steps []step) step {
	var out step

	for i, s := range steps {
		for _, r := range s.Runs {
			if r.Unwanted() {
				if _, ok := latest(steps[i+1:], r.Resource); ok {
					continue
				}
			}

			out.Runs = append(out.Runs, r)
		}

		out.Problems = append(out.Problems, s.Problems...)
		out.Operator = out.Operator || s.Operator
	}

	return out
}
