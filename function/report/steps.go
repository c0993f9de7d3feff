package report

import (
	"cmp"
	"maps"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane/function-sdk-go/errors"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/desired"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
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

// earlierSteps are those that have told something in the context of the pipeline, but for the one
// with an id.
func earlierSteps(context *structpb.Struct, id string) []step {
	var all []step

	told, _ := context.GetFields()[ContextSteps].AsInterface().([]any)
	for i := range told {
		v, _ := told[i].(map[string]any)
		s := step{id: manifest.Text(v, "id"), problems: fromJSON(v["problems"])}
		runs, _ := v["runs"].([]any)

		for i := range runs {
			run, _ := runs[i].(map[string]any)
			name := manifest.Text(run, "name")
			s.runs = append(s.runs, desired.Outcome{
				Name: name, Resource: cmp.Or(manifest.Text(run, "resource"), name),
				Reason: desired.Reason(manifest.Text(run, "reason")), Messages: fromJSON(run["messages"]),
				Claimed: run["claimed"] == true,
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
	told := make([]any, len(all))

	for i, s := range all {
		runs := make([]any, len(s.runs))
		for i, r := range s.runs {
			run := map[string]any{"name": r.Name, "reason": string(r.Reason)}
			if r.Resource != r.Name {
				run["resource"] = r.Resource
			}

			if r.Claimed {
				run["claimed"] = true
			}

			if len(r.Messages) > 0 {
				run["messages"] = toJSON(r.Messages)
			}

			runs[i] = run
		}

		told[i] = map[string]any{"id": s.id, "runs": runs, "problems": toJSON(s.problems)}
	}

	v, err := value(told)
	if err != nil {
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

func toJSON(texts []string) []any {
	list := make([]any, len(texts))
	for i := range texts {
		list[i] = texts[i]
	}

	return list
}

func fromJSON(list any) []string {
	var texts []string

	all, _ := list.([]any)
	for i := range all {
		s, _ := all[i].(string)
		texts = append(texts, s)
	}

	return texts
}
