// Package report writes a Result to the response of the function: composed resources, the status and readiness of the
// XR, conditions and events. Report is for an XR, Operation for an Operation, Invalid for an input with mistakes.
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

// A Result is the desired state for an input: AnsibleRuns, and the state of the XR itself.
type Result struct {
	removal.Result
	composite.Desired
}

// Report adds a result to a response with the desired state of earlier steps. id identifies this step. xr is the
// observed XR, with the previous conditions.
func Report(rsp *fnv1.RunFunctionResponse, id string, xr map[string]any, result Result) error {
	initialize(rsp)

	steps := earlierSteps(rsp.GetContext(), id)

	// This step does not remove an AnsibleRun that an earlier step keeps as a possible run of its own, see
	// Outcome.Claimed.
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
	if err := setSteps(rsp, steps); err != nil {
		return err
	}

	all := merge(steps)
	setReady(rsp, xr, all)
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

// resources adds AnsibleRuns to the desired state. It replaces or removes those that an earlier step keeps without
// wanting them, since that step does not know the runs of this one.
func resources(state *fnv1.State, runs []desired.Outcome, earlier []step) error {
	for _, r := range runs {
		if was, _ := latest(earlier, r.Resource); was.Unwanted() {
			delete(state.GetResources(), r.Resource)
		}

		// An earlier step may compose an AnsibleRun that this step does not want any more.
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

// initialize makes the desired state not nil.
func initialize(rsp *fnv1.RunFunctionResponse) {
	if rsp.GetDesired() == nil {
		rsp.Desired = &fnv1.State{}
	}

	if rsp.GetDesired().Resources == nil {
		rsp.Desired.Resources = map[string]*fnv1.Resource{}
	}
}

// putRun adds an AnsibleRun to the desired state. It returns an error if an earlier step composes a resource with the
// same name, since core would compose only one of the two.
func putRun(state *fnv1.State, r desired.Outcome, object map[string]any, ready fnv1.Ready) error {
	if was, ok := state.GetResources()[r.Resource]; ok {
		return errors.Errorf(
			"give run %q another name: an earlier step of the pipeline composes %q, which is of kind %s", r.Name, r.Resource,
			was.GetResource().GetFields()["kind"].GetStringValue())
	}

	return put(state, r.Resource, object, ready)
}

// put adds a composed resource to the desired state.
func put(state *fnv1.State, name string, object map[string]any, ready fnv1.Ready) error {
	s, err := structpb.NewStruct(object)
	state.Resources[name] = &fnv1.Resource{Resource: s, Ready: ready}

	return errors.Wrapf(err, "cannot put %q into the response", name)
}

// usages adds Usages to the desired state, and removes those that are nil. They are ready, so that the XR does not wait
// for them.
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

// details adds connection details to the desired state.
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

// requirements adds requirements to those of earlier steps.
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

// xrResource adds the status and readiness of the XR to the desired state. By default, an XR is ready when all composed
// resources are. Held runs may have no composed resource, so the XR is not ready while there are any.
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
