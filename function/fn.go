package main

import (
	"context"
	"encoding/hex"
	"runtime/debug"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/lru"

	apiextensionsv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"github.com/crossplane/function-sdk-go/errors"
	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/response"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/composite"
	"github.com/crossplane-ansible/crossplane-ansible/function/desired"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/observed"
	"github.com/crossplane-ansible/crossplane-ansible/function/removal"
	"github.com/crossplane-ansible/crossplane-ansible/function/report"
)

// maxResponse is what core receives, in bytes: the default of gRPC, which it does
// not change.
const maxResponse = 4 << 20

// wireOverhead of a field or a value is what tags and lengths take at most, in bytes, a number included.
const wireOverhead = 20

// circuitTTL is how soon core asks again of an XR for which its circuit breaker is open.
const circuitTTL = 2 * time.Second

// A Function turns XRs and Operations into AnsibleRuns.
type Function struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	log logging.Logger
	// compiled inputs that were used last, by their uses. It is safe for concurrent use.
	compiled *lru.Cache
	now      func() time.Time
}

// NewFunction returns a Function that logs what it does for debugging, and
// nothing else but its own defects.
func NewFunction(log logging.Logger) *Function {
	return &Function{log: log, compiled: lru.New(maxCompositions), now: time.Now}
}

// RunFunction returns the AnsibleRuns, the status and the readiness of an XR, or
// the AnsibleRuns of an Operation.
// Mistakes of the Composition are a Fatal result. There is an error only when
// the request is not waited for any more.
func (f *Function) RunFunction(ctx context.Context,
	req *fnv1.RunFunctionRequest,
) (rsp *fnv1.RunFunctionResponse, _ error) {
	rsp = response.To(req, response.DefaultTTL)

	defer func() {
		if p := recover(); p != nil {
			f.log.Info("Recovered from a panic", "panic", p, "stack", string(debug.Stack()))

			rsp = response.To(req, response.DefaultTTL)
			response.Fatal(rsp, errors.Errorf("function-ansible has a defect: %v", p))
		}
	}()

	state := observe(req)
	namespace, _, _ := unstructured.NestedString(state.XR, "metadata", "namespace")

	id := digest(req.GetInput())

	plan, mistakes := f.compile(req.GetInput(), requireSchema(req, rsp),
		use{input: id, operation: isOperation(req), namespaced: namespace != ""})
	if len(mistakes) > 0 {
		report.Invalid(rsp, mistakes)
		return rsp, nil
	}

	// For each observed AnsibleRun there is an object to apply, unless the run is not wanted any more: core deletes what
	// it is not given.
	runs := desired.Render(ctx, plan, state)
	result := report.Result{Result: removal.Decide(plan, runs), Desired: composite.Evaluate(ctx, plan, runs)}

	// What could not be computed in time is not wrong.
	if err := ctx.Err(); err != nil {
		return nil, errors.Wrap(err, "cannot render in time")
	}

	rsp.Meta.Ttl = durationpb.New(ttl(state.XR))

	f.log.Debug("Rendered", "tag", req.GetMeta().GetTag(), "runs", len(result.Outcomes))

	var err error
	if isOperation(req) {
		err = report.Operation(rsp, result, req.GetRequiredResources(), f.now())
	} else {
		err = report.Report(rsp, hex.EncodeToString(id[:]), state.XR, result)
	}

	if err != nil {
		response.Fatal(rsp, err)
	}

	if size := sizeIfLarge(rsp); size > maxResponse {
		rsp = &fnv1.RunFunctionResponse{Meta: rsp.GetMeta()}
		report.TooLarge(rsp, size, maxResponse)
	}

	return rsp, nil
}

// ttl is how long core waits until it asks again for an XR. While core's circuit breaker
// is open for the XR, core drops nearly all events of the XR and of its AnsibleRuns.
func ttl(xr map[string]any) time.Duration {
	if manifest.Condition(xr, string(apiextensionsv1.TypeResponsive))["status"] == ansiblerun.ConditionFalse {
		return circuitTTL
	}

	return response.DefaultTTL
}

// isOperation is true for requests of Operations, which have no XR.
func isOperation(req *fnv1.RunFunctionRequest) bool {
	return req.GetObserved().GetComposite().GetResource() == nil
}

// observe returns the observed state of a request.
func observe(req *fnv1.RunFunctionRequest) observed.State {
	o := observed.State{
		XR:        req.GetObserved().GetComposite().GetResource().AsMap(),
		Details:   req.GetObserved().GetComposite().GetConnectionDetails(),
		Resources: map[string]observed.Resource{},
		Required:  map[string][]map[string]any{},
		Context:   without(req.GetContext(), report.ContextSteps),
		Earlier:   req.GetDesired().GetResources(),
	}
	o.EarlierStatus = req.GetDesired().GetComposite().GetResource().GetFields()["status"].GetStructValue().AsMap()

	for name, r := range req.GetObserved().GetResources() {
		o.Resources[name] = composed(r, false)
	}

	for name, r := range req.GetRequiredResources() {
		o.Required[name] = make([]map[string]any, 0, len(r.GetItems()))
		for _, item := range r.GetItems() {
			found := item.GetResource().AsMap()
			o.Required[name] = append(o.Required[name], found)

			if strings.HasPrefix(name, observed.RequirementTerminating) && o.IsLost(found) {
				o.Resources[ansiblerun.CompositionResource(found)] = composed(item, true)
			}
		}
	}

	return o
}

// composed returns a composed resource, without its managed fields: they are as large as all the rest.
func composed(r *fnv1.Resource, lost bool) observed.Resource {
	o := without(r.GetResource(), "metadata")
	if m, ok := r.GetResource().GetFields()["metadata"]; ok {
		o["metadata"] = without(m.GetStructValue(), ansiblerun.FieldManaged)
	}

	out := observed.Resource{Object: o, Details: r.GetConnectionDetails(), Lost: lost}
	if ansiblerun.Is(o) {
		out.Applied = ansiblerun.Applied(o, r.GetResource())
	}

	return out
}

// without returns a struct as JSON, without one of its fields.
func without(s *structpb.Struct, name string) map[string]any {
	fields := make(map[string]any, len(s.GetFields()))

	for k, v := range s.GetFields() {
		if k != name {
			fields[k] = v.AsInterface()
		}
	}

	return fields
}

// sizeIfLarge returns the size of a response, in bytes, and 0 if its objects take less than half of what core
// receives. The exact size takes several times as long to compute as the bound of objects.
func sizeIfLarge(rsp *fnv1.RunFunctionResponse) int {
	objects := bound(rsp.GetContext()) + bound(rsp.GetDesired().GetComposite().GetResource())
	for _, r := range rsp.GetDesired().GetResources() {
		objects += bound(r.GetResource())
	}

	if objects < maxResponse/2 {
		return 0
	}

	return proto.Size(rsp)
}

// bound returns the size of a struct as a message, in bytes, at most.
func bound(s *structpb.Struct) int {
	size := 0
	for k, v := range s.GetFields() {
		size += wireOverhead + len(k) + boundValue(v)
	}

	return size
}

// boundValue returns the size of a value as a message, in bytes, at most.
func boundValue(v *structpb.Value) int {
	size := wireOverhead + len(v.GetStringValue()) + bound(v.GetStructValue())
	for _, v := range v.GetListValue().GetValues() {
		size += boundValue(v)
	}

	return size
}
