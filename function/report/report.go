// Package report puts a Result into the response of the function: composed
// resources, the XR's status and readiness, and the condition and events that say what is
// missing and why. The function calls Report for an XR, Operation for an Operation, and
// Invalid for an input with mistakes.
package report

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane/function-sdk-go/errors"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/response"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/function/composite"
	"github.com/crossplane-ansible/crossplane-ansible/function/desired"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
	"github.com/crossplane-ansible/crossplane-ansible/function/removal"
)

// A Result is what an input becomes for an XR: its AnsibleRuns, and what it has itself.
type Result struct {
	removal.Result
	composite.Desired
}

// Report adds a result to a response that has the desired state of earlier steps. The
// condition of the observed XR says what was reported before. The id is that of this step.
func Report(rsp *fnv1.RunFunctionResponse, id string, xr map[string]any, result Result) error {
	initialize(rsp)

	steps := earlierSteps(rsp.GetContext(), id)

	// What may be a run of an earlier step this step does not let go.
	result.Outcomes = slices.DeleteFunc(result.Outcomes, func(r desired.Outcome) bool {
		was, _ := latest(steps, r.Resource)
		return was.Claimed && r.Reason == desired.Skipped
	})

	if err := resources(rsp.GetDesired(), result.Outcomes, steps); err != nil {
		return err
	}

	if err := xrResource(rsp.GetDesired(), result); err != nil {
		return err
	}

	if err := usages(rsp.GetDesired(), result.Usages); err != nil {
		return err
	}

	if err := details(rsp.GetDesired(), result); err != nil {
		return err
	}

	requirements(rsp, result.Requirements)

	steps = append(steps, stepOf(id, result))
	if err := tell(rsp, steps); err != nil {
		return err
	}

	all := merge(steps)
	tellXR(rsp, xr, all)
	conditions(rsp, append(result.Conditions, operatorConditions(all)...))

	removed := slices.DeleteFunc(result.Removed, func(resource string) bool {
		return rsp.GetDesired().GetResources()[resource] != nil
	})
	if len(removed) > 0 {
		message := "removing AnsibleRuns that are not wanted any more: " + strings.Join(removed, ", ")
		response.Normal(rsp, clip.Text(message, maxEvent)).TargetCompositeAndClaim().WithReason(ReasonRemoved)
	}

	return nil
}

// resources puts the AnsibleRuns into the desired state, in place of what an earlier step has kept
// without wanting it. That goes, too, when this step lets it go.
func resources(state *fnv1.State, runs []desired.Outcome, earlier []step) error {
	for _, r := range runs {
		if was, _ := latest(earlier, r.Resource); was.Unwanted() {
			delete(state.GetResources(), r.Resource)
		}

		// Another step may compose by now what this step does not want any more.
		if _, ok := state.GetResources()[r.Resource]; r.Desired == nil || ok && r.Unwanted() {
			continue
		}

		ready := fnv1.Ready_READY_FALSE
		if r.Done() {
			ready = fnv1.Ready_READY_TRUE
		}

		if err := putRun(state, r, r.Desired, ready); err != nil {
			return err
		}
	}

	return nil
}

// initialize the desired state.
func initialize(rsp *fnv1.RunFunctionResponse) {
	if rsp.GetDesired() == nil {
		rsp.Desired = &fnv1.State{}
	}

	if rsp.GetDesired().Resources == nil {
		rsp.Desired.Resources = map[string]*fnv1.Resource{}
	}
}

// putRun puts an AnsibleRun into the desired state. It is an error if an earlier step composes a
// resource under the name: core would only ever compose one of the two.
func putRun(state *fnv1.State, r desired.Outcome, object map[string]any, ready fnv1.Ready) error {
	if was, ok := state.GetResources()[r.Resource]; ok {
		return errors.Errorf(
			"give run %q another name: an earlier step of the pipeline composes %q, which is of kind %s", r.Name, r.Resource,
			was.GetResource().GetFields()["kind"].GetStringValue())
	}

	return put(state, r.Resource, object, ready)
}

// put a composed resource into the desired state.
func put(state *fnv1.State, name string, object map[string]any, ready fnv1.Ready) error {
	s, err := structpb.NewStruct(object)
	state.Resources[name] = &fnv1.Resource{Resource: s, Ready: ready}

	return errors.Wrapf(err, "cannot put %q into the response", name)
}

// usages puts Usages into the desired state, and removes those that are nil. They count as
// ready, so that the XR does not wait for them.
func usages(state *fnv1.State, usages map[string]map[string]any) error {
	for name, u := range usages {
		if u == nil {
			delete(state.GetResources(), name)
			continue
		}

		if err := put(state, name, u, fnv1.Ready_READY_TRUE); err != nil {
			return err
		}
	}

	return nil
}

// details puts connection details into the desired state.
func details(state *fnv1.State, result Result) error {
	if result.Secret != nil {
		// The Secret has the connection details of one step only.
		if _, ok := state.GetResources()[plan.ResourceConnection]; ok {
			return errors.Errorf(
				"an earlier step of the pipeline composes %q, which is to be the Secret with connectionDetails: only one step "+
					"can have these", plan.ResourceConnection)
		}

		if err := put(state, plan.ResourceConnection, result.Secret, fnv1.Ready_READY_TRUE); err != nil {
			return err
		}
	}

	if len(result.Details) == 0 {
		return nil
	}

	if state.GetComposite() == nil {
		state.Composite = &fnv1.Resource{}
	}

	if state.GetComposite().ConnectionDetails == nil {
		state.Composite.ConnectionDetails = map[string][]byte{}
	}

	maps.Copy(state.GetComposite().GetConnectionDetails(), result.Details)

	return nil
}

// requirements asks core for resources, beside those that earlier steps ask for.
func requirements(rsp *fnv1.RunFunctionResponse, all map[string]*fnv1.ResourceSelector) {
	if len(all) == 0 {
		return
	}

	if rsp.GetRequirements() == nil {
		rsp.Requirements = &fnv1.Requirements{}
	}

	if rsp.GetRequirements().Resources == nil {
		rsp.Requirements.Resources = map[string]*fnv1.ResourceSelector{}
	}

	maps.Copy(rsp.GetRequirements().GetResources(), all)
}

// xrResource puts status and readiness of the XR into the desired state. Core takes an XR
// for ready when all composed resources are. While runs are held, and so not composed yet,
// the XR has to be reported as not ready.
func xrResource(state *fnv1.State, result Result) error {
	held := false
	for _, r := range result.Outcomes {
		held = held || r.Held()
	}

	if !held && len(result.Status) == 0 {
		return nil
	}

	if state.GetComposite() == nil {
		state.Composite = &fnv1.Resource{}
	}

	if held {
		state.Composite.Ready = fnv1.Ready_READY_FALSE
	}

	if len(result.Status) == 0 {
		return nil
	}

	xr := state.GetComposite().GetResource().AsMap()
	xr["status"] = result.Status

	s, err := structpb.NewStruct(xr)
	state.Composite.Resource = s

	return errors.Wrap(err, "cannot put the status of the XR into the response")
}
