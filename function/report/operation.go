package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane/function-sdk-go/errors"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/response"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// annotationRequest is the annotation that requests a run of an AnsibleRun, even without a change of its inputs.
const annotationRequest = "crossplane.io/reconcile-requested-at"

// outputNotRun is the field in the output of an Operation with the reasons, by run, why runs were left out.
const outputNotRun = "notRun"

// Operation adds a result to the response for an Operation. An Operation has no XR, and core applies its response once:
//   - The names of AnsibleRuns follow from the names of runs, and an annotation requests a run of each.
//   - The function waits only for required resources. A run that cannot be rendered is left out, with a warning and an
//     output.
//   - If all runs are left out, Operation returns an error, since core applies nothing of a failed Operation.
func Operation(rsp *fnv1.RunFunctionResponse, result Result, fetched map[string]*fnv1.Resources,
	now time.Time,
) error {
	requirements(rsp, result.Requirements)

	for name := range result.Requirements {
		if _, ok := fetched[name]; !ok {
			return nil
		}
	}

	initialize(rsp)

	leftOut := map[string]any{}
	byID := map[string]string{}

	for _, r := range result.Outcomes {
		if r.Held() {
			leftOut[r.Name] = strings.Join(slices.Compact(slices.Clone(r.Messages)), "; ")
		}

		if r.Desired == nil {
			continue
		}

		name := plan.ObjectName(r.Resource)
		if len(validation.IsDNS1123Subdomain(name)) > 0 {
			leftOut[r.Name] = "an AnsibleRun cannot be called " + name + "; change its key"
			continue
		}

		id := objectID(r.Desired, name)
		if other, ok := byID[id]; ok {
			leftOut[r.Name] = "the AnsibleRun of " + other + " is called " + name + ", too; give the run another name"
			continue
		}

		byID[id] = r.Name

		if err := putRun(rsp.GetDesired(), r, withRequest(r.Desired, name, now), fnv1.Ready_READY_UNSPECIFIED); err != nil {
			return err
		}
	}

	return notRun(rsp, leftOut, len(byID))
}

// notRun reports the runs that were left out, with the reasons by run. If there are no others, it returns an error.
func notRun(rsp *fnv1.RunFunctionResponse, leftOut map[string]any, others int) error {
	if len(leftOut) == 0 {
		return nil
	}

	lines := make([]string, 0, len(leftOut))
	for _, name := range slices.Sorted(maps.Keys(leftOut)) {
		lines = append(lines, line(fmt.Sprintf("%s: %s", name, leftOut[name])))
	}

	if others == 0 {
		return errors.Errorf("there is no XR in an Operation, and nothing to wait for:\n%s", strings.Join(lines, "\n"))
	}

	message := fmt.Sprintf("%d of %d runs left out, which this Operation does not try again:\n%s", len(leftOut),
		len(leftOut)+others, strings.Join(lines, "\n"))
	response.Warning(rsp, errors.New(clip.Text(message, maxEvent)))

	return errors.Wrap(response.SetOutput(rsp, map[string]any{outputNotRun: leftOut}), "cannot report what is not run")
}

// objectID returns a key that is unique among AnsibleRuns: API version, namespace and name.
func objectID(run map[string]any, name string) string {
	return fmt.Sprintf("%s/%s/%s", run["apiVersion"], manifest.Namespace(run), name)
}

// withRequest returns an AnsibleRun with a name and annotationRequest.
func withRequest(run map[string]any, name string, now time.Time) map[string]any {
	return manifest.Overlay(run, map[string]any{"metadata": map[string]any{
		"name":        name,
		"annotations": map[string]any{annotationRequest: common.OperationRequest + now.UTC().Format(time.RFC3339Nano)},
	}})
}
