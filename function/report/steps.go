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

// ContextSteps is the key of the pipeline's context under which steps tell later ones what became
// of their runs, as a text that is JSON: core shows the condition of the last step, which is that of all.
const ContextSteps = v1alpha1.Group + "/steps"

// A step of function-ansible in a pipeline.
type step struct {
	// ID is the same each time that core calls the step. It calls a step again with what that has
	// told itself, once it has fetched what the step requires.
	ID   string            `json:"id"`
	Runs []desired.Outcome `json:"runs,omitempty"`
	// Problems of the XR's status, conditions and connection details, a line each.
	Problems []string `json:"problems,omitempty"`
	// Operator is true when the XR is to have the conditions of an operator.
	Operator bool `json:"operator,omitempty"`
}

// stepOf a result, with as many messages as the condition shows: later steps, and core, receive them all.
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

// earlierSteps are those that have told something in the context of the pipeline, but for the one
// with an id.
func earlierSteps(context *structpb.Struct, id string) []step {
	var steps []step

	// Another step that writes this key tells nothing.
	if json.Unmarshal([]byte(context.GetFields()[ContextSteps].GetStringValue()), &steps) != nil {
		return nil
	}

	return slices.DeleteFunc(steps, func(s step) bool { return s.ID == id })
}

// tell later steps what became of the runs of all steps up to this one.
func tell(rsp *fnv1.RunFunctionResponse, all []step) error {
	text, err := json.Marshal(all)
	if err != nil {
		return errors.Wrap(err, "cannot tell later steps what became of the runs")
	}

	response.SetContextKey(rsp, ContextSteps, structpb.NewStringValue(string(text)))

	return nil
}

// latest is what the last of the steps that have an AnsibleRun says of it. Those before it may have kept
// it without wanting it: what it is for they did not know.
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

// merge steps to one. What a step keeps without wanting it is left to later ones that have it, too.
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
