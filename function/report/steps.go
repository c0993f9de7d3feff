package report

import (
	"encoding/json"
	"maps"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane/function-sdk-go/errors"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/desired"
	"github.com/crossplane-ansible/crossplane-ansible/function/render"
)

// ContextSteps is the key of the pipeline's context under which steps tell later ones what became
// of their runs: core shows the condition of the last step, which is that of all.
const ContextSteps = v1alpha1.Group + "/steps"

// A step of function-ansible in a pipeline.
type step struct {
	// id is the same each time that core calls the step. It calls a step again with what that has
	// told itself, once it has fetched what the step requires.
	id   string
	runs []desired.Outcome
	// problems of the XR's status, conditions and connection details, a line each.
	problems []string
}

// stepOf a result, with as many messages as the condition shows: later steps, and core, receive them all.
func stepOf(id string, result render.Result) step {
	s := step{id: id, runs: bySeverity(result.Runs)}
	size := 0

	for i := range s.runs {
		if size > maxMessage {
			s.runs[i].Messages = nil
		}

		for _, m := range s.runs[i].Messages {
			size += len(m)
		}
	}

	for _, p := range result.Problems {
		s.problems = append(s.problems, line(p.String()))
	}

	return s
}

// A told run is what later steps need to know of an outcome.
type told struct {
	Name     string         `json:"name"`
	Resource string         `json:"resource"`
	Reason   desired.Reason `json:"reason"`
	Claimed  bool           `json:"claimed,omitempty"`
	Messages []string       `json:"messages,omitempty"`
}

// A toldStep is what later steps need to know of a step.
type toldStep struct {
	ID       string   `json:"id"`
	Runs     []told   `json:"runs,omitempty"`
	Problems []string `json:"problems,omitempty"`
}

// earlierSteps are those that have told something in the context of the pipeline, but for the one
// with an id.
func earlierSteps(context *structpb.Struct, id string) []step {
	var (
		steps []toldStep
		all   []step
	)

	// Another step that writes this key tells nothing.
	if text, err := context.GetFields()[ContextSteps].MarshalJSON(); err != nil || json.Unmarshal(text, &steps) != nil {
		return nil
	}

	for _, t := range steps {
		s := step{id: t.ID, problems: t.Problems}
		for _, r := range t.Runs {
			s.runs = append(s.runs, desired.Outcome{
				Name: r.Name, Resource: r.Resource, Reason: r.Reason, Messages: r.Messages, Claimed: r.Claimed,
			})
		}

		if s.id != id {
			all = append(all, s)
		}
	}

	return all
}

// tell later steps what became of the runs of all steps up to this one.
func tell(rsp *fnv1.RunFunctionResponse, all []step) error {
	steps := make([]toldStep, len(all))

	for i, s := range all {
		steps[i] = toldStep{ID: s.id, Problems: s.problems}
		for _, r := range s.runs {
			steps[i].Runs = append(steps[i].Runs, told{r.Name, r.Resource, r.Reason, r.Claimed, r.Messages})
		}
	}

	text, err := json.Marshal(steps)
	v := &structpb.Value{}

	if err = errors.Join(err, v.UnmarshalJSON(text)); err != nil {
		return errors.Wrap(err, "cannot tell later steps what became of the runs")
	}

	fields := maps.Clone(rsp.GetContext().GetFields())
	if fields == nil {
		fields = map[string]*structpb.Value{}
	}

	fields[ContextSteps] = v
	rsp.Context = &structpb.Struct{Fields: fields}

	return nil
}

// latest is what the last of the steps that have an AnsibleRun says of it. Those before it may have kept
// it without wanting it: what it is for they did not know.
func latest(steps []step, resource string) (desired.Outcome, bool) {
	for _, s := range slices.Backward(steps) {
		for _, r := range s.runs {
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
		for _, r := range s.runs {
			if r.Unwanted() {
				if _, ok := latest(steps[i+1:], r.Resource); ok {
					continue
				}
			}

			out.runs = append(out.runs, r)
		}

		out.problems = append(out.problems, s.problems...)
	}

	return out
}
