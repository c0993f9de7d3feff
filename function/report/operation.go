package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane/function-sdk-go/errors"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-ansible/crossplane-ansible/function/render"
)

// annotationRequest asks for a run, whether anything has changed or not.
const annotationRequest = "crossplane.io/reconcile-requested-at"

// Operation reports a result to an Operation. It has no XR, and applies once what
// it gets: so AnsibleRuns are called what they are in the input, are asked to run
// now, be they new or not, and nothing can be waited for but the resources that
// are required, with those that core has fetched.
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

	var wrong []string

	called := map[string]string{}

	for _, r := range result.Runs {
		if r.Held() {
			wrong = append(wrong, r.Name+": "+strings.Join(r.Messages, "; "))
		}

		if r.Desired == nil {
			continue
		}

		name := render.ObjectName(r.Resource)
		if len(validation.IsDNS1123Subdomain(name)) > 0 {
			wrong = append(wrong, r.Name+": an AnsibleRun cannot be called "+name+"; set resourceName")
			continue
		}

		id := objectID(r.Desired, name)
		if other, ok := called[id]; ok {
			wrong = append(wrong, r.Name+": the AnsibleRun of "+other+" is called "+name+", too; set resourceName")
			continue
		}

		called[id] = r.Name

		s, err := structpb.NewStruct(requested(r.Desired, name, now))
		if err != nil {
			return errors.Wrapf(err, "cannot put run %q into the response", r.Name)
		}

		if err := put(rsp.GetDesired(), r.Resource, &fnv1.Resource{Resource: s}); err != nil {
			return errors.Wrapf(err, "give run %q another resourceName", r.Name)
		}
	}

	if len(wrong) > 0 {
		return errors.Errorf("there is no XR in an Operation, and nothing to wait for:\n%s", strings.Join(slices.Compact(wrong), "\n"))
	}

	return nil
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

	annotations[annotationRequest] = now.UTC().Format(time.RFC3339Nano)
	metadata["name"], metadata["annotations"] = name, annotations
	run["metadata"] = metadata

	return run
}
