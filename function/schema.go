package main

import (
	"google.golang.org/protobuf/types/known/structpb"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	sdk "github.com/crossplane/function-sdk-go/request"
	"github.com/crossplane/function-sdk-go/response"
)

// requirementXR is the name of the requirement for the schema of the XR. A Composition can have the same requirement in
// its step, which saves core a second call.
const requirementXR = "xr"

// requireSchema requires the schema of the XR if core supports that, and returns the schema in the request; nil if the
// request has none.
func requireSchema(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) *structpb.Struct {
	if !isOperation(req) && sdk.HasCapability(req, fnv1.Capability_CAPABILITY_REQUIRED_SCHEMAS) {
		xr := req.GetObserved().GetComposite().GetResource().GetFields()
		response.RequireSchema(rsp, requirementXR, xr["apiVersion"].GetStringValue(), xr["kind"].GetStringValue())
	}

	schema, _ := sdk.GetRequiredSchema(req, requirementXR)

	return schema
}
