package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane/function-sdk-go/errors"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/response"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/function/compile"
	"github.com/crossplane-ansible/crossplane-ansible/function/render"
)

// annotationRequest asks for a run, whether anything has changed or not.
const annotationRequest = "crossplane.io/reconcile-requested-at"

// outputNotRun is the field of the output that has why a run was not run, by its name.
const outputNotRun = "notRun"

// Operation reports a result to an Operation. It has no XR, and applies once what
// it gets: so AnsibleRuns are called what they are in the input, are asked to run
// now, be they new or not, and nothing can be waited for but the resources that
// are required, with those that core has fetched. A run that cannot be rendered
// keeps no other from running; core has only a warning and an output for it, since
// it applies nothing of an Operation that fails. It is an error if none can be.
func Operation(rsp *fnv1.RunFunctionResponse, result render.Result, fetched map[string]*fnv1.Resources, now time.Time) error {
	requirements(rsp, result.Requirements)

	for name := range result.Requirements {
		if _, ok := fetched[name]; !ok {
			return nil
		}
	}

	if rsp.GetDesired() == nil {
		rsp.Desired = &fnv1.State{}
	}

	if rsp.GetDesired().Resources == nil {
		rsp.Desired.Resources = map[string]*fnv1.Resource{}
	}

	wrong := map[string]any{}
	called := map[string]string{}

	for _, r := range result.Runs {
		if r.Held() {
			wrong[r.Name] = strings.Join(slices.Compact(slices.Clone(r.Messages)), "; ")
		}

		if r.Desired == nil {
			continue
		}

		name := compile.ObjectName(r.Resource)
		if len(validation.IsDNS1123Subdomain(name)) > 0 {
			wrong[r.Name] = "an AnsibleRun cannot be called " + name + "; set resourceName"
			continue
		}

		id := objectID(r.Desired, name)
		if other, ok := called[id]; ok {
			wrong[r.Name] = "the AnsibleRun of " + other + " is called " + name + ", too; set resourceName"
			continue
		}

		called[id] = r.Name

		s, err := message(requested(r.Desired, name, now))
		if err != nil {
			return errors.Wrapf(err, "cannot put run %q into the response", r.Name)
		}

		if err := put(rsp.GetDesired(), r.Resource, &fnv1.Resource{Resource: s}); err != nil {
			return errors.Wrapf(err, "give run %q another resourceName", r.Name)
		}
	}

	return notRun(rsp, wrong, len(called))
}

// notRun reports what was not run and why, by the names of runs, beside a number of
// others. The error says so if there are none.
func notRun(rsp *fnv1.RunFunctionResponse, wrong map[string]any, others int) error {
	if len(wrong) == 0 {
		return nil
	}

	lines := make([]string, 0, len(wrong))
	for _, name := range slices.Sorted(maps.Keys(wrong)) {
		lines = append(lines, line(fmt.Sprintf("%s: %s", name, wrong[name])))
	}

	if others == 0 {
		return errors.Errorf("there is no XR in an Operation, and nothing to wait for:\n%s", strings.Join(lines, "\n"))
	}

	message := fmt.Sprintf("%d of %d runs left out, which this Operation does not try again:\n%s", len(wrong), len(wrong)+others, strings.Join(lines, "\n"))
	response.Warning(rsp, errors.New(clip.Text(message, maxEvent)))

	return errors.Wrap(response.SetOutput(rsp, map[string]any{outputNotRun: wrong}), "cannot report what is not run")
}

// objectID tells AnsibleRuns of one name in other groups or namespaces apart.
func objectID(run map[string]any, name string) string {
	namespace, _, _ := unstructured.NestedString(run, "metadata", "namespace")
	return fmt.Sprintf("%s/%s/%s", run["apiVersion"], namespace, name)
}

// requested is an AnsibleRun with a name that is asked to run now.
func requested(run map[string]any, name string, now time.Time) map[string]any {
	metadata, _ := run["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)

	run, metadata, annotations = maps.Clone(run), maps.Clone(metadata), maps.Clone(annotations)
	if annotations == nil {
		annotations = map[string]any{}
	}

	annotations[annotationRequest] = common.OperationRequest + now.UTC().Format(time.RFC3339Nano)
	metadata["name"], metadata["annotations"] = name, annotations
	run["metadata"] = metadata

	return run
}
