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

// maxResponse is the largest response that core receives, in bytes. It is the default of gRPC.
const maxResponse = 4 << 20

// wireOverhead is the largest size of the tags and lengths of a field or a value in protobuf, in bytes. It includes a
// number.
const wireOverhead = 20

// circuitTTL is the TTL of the response for an XR with an open circuit breaker in core.
const circuitTTL = 2 * time.Second

// A Function turns XRs and Operations into AnsibleRuns.
type Function struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	log logging.Logger
	// compiled caches a compiled for each use. It is safe for concurrent use.
	compiled *lru.Cache
	now      func() time.Time
}

// NewFunction returns a Function. It logs a line for each request at the debug level, and its own panics.
func NewFunction(log logging.Logger) *Function {
	return &Function{log: log, compiled: lru.New(maxCompositions), now: time.Now}
}

// RunFunction returns the AnsibleRuns, the status and the readiness of an XR, or the AnsibleRuns of an Operation.
// Mistakes in the input and panics are Fatal results. It returns an error only when the context has ended.
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

	// Core deletes composed resources that are missing in the response. So the response has each observed AnsibleRun,
	// also one that cannot be rendered, unless it is to be removed.
	runs := desired.Render(ctx, plan, state)
	result := report.Result{Result: removal.Decide(plan, runs), Desired: composite.Evaluate(ctx, plan, runs)}

	// When the context ends, expressions fail although they are valid. Their problems must not be reported.
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

// ttl returns the TTL of the response for an XR, after which core calls again. While the circuit breaker for the XR is
// open, core drops nearly all events of the XR and its AnsibleRuns, so the TTL is short.
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

// composed returns a composed resource without its managed fields, which are as large as all other fields together.
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

// without returns a protobuf struct as JSON without a field.
func without(s *structpb.Struct, name string) map[string]any {
	fields := make(map[string]any, len(s.GetFields()))

	for k, v := range s.GetFields() {
		if k != name {
			fields[k] = v.AsInterface()
		}
	}

	return fields
}

// sizeIfLarge returns the size of a response in bytes; 0 if its objects are smaller than half of maxResponse. An upper
// bound for the objects is computed first, since the exact size takes several times as long.
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

// bound returns an upper bound for the encoded size of a struct, in bytes.
func bound(s *structpb.Struct) int {
	size := 0
	for k, v := range s.GetFields() {
		size += wireOverhead + len(k) + boundValue(v)
	}

	return size
}

// boundValue returns an upper bound for the encoded size of a value, in bytes.
func boundValue(v *structpb.Value) int {
	size := wireOverhead + len(v.GetStringValue()) + bound(v.GetStructValue())
	for _, v := range v.GetListValue().GetValues() {
		size += boundValue(v)
	}

	return size
}
