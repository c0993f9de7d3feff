package main

import (
	"google.golang.org/protobuf/types/known/structpb"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	sdk "github.com/crossplane/function-sdk-go/request"
	"github.com/crossplane/function-sdk-go/response"
)

// requirementXR is the name under which the schema of the XR is required. A
// Composition that has it among its step's own requirements saves core a second
// call.
const requirementXR = "xr"

// requireSchema of the XR, where core can give it. It is nil while core has not
// been asked, and when it has none.
func requireSchema(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) *structpb.Struct {
	if !isOperation(req) && sdk.HasCapability(req, fnv1.Capability_CAPABILITY_REQUIRED_SCHEMAS) {
		xr := req.GetObserved().GetComposite().GetResource().GetFields()
		response.RequireSchema(rsp, requirementXR, xr["apiVersion"].GetStringValue(), xr["kind"].GetStringValue())
	}

	schema, _ := sdk.GetRequiredSchema(req, requirementXR)

	return schema
}
