// Command environment stands in for function-environment-configs in tests: that
// function cannot be had as a Go module. It reads the same input, but knows no
// more of it than EnvironmentConfigs by name, and puts what they hold, merged,
// where other functions look for the environment of a pipeline.
//
// Source: the input's README in crossplane-contrib/function-environment-configs.
package main

import (
	"context"
	"fmt"

	"github.com/alecthomas/kong"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane/function-sdk-go"
	fncontext "github.com/crossplane/function-sdk-go/context"
	"github.com/crossplane/function-sdk-go/errors"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/response"
)

type cli struct {
	Address     string `help:"Address at which to listen for gRPC connections." required:""`
	TLSCertsDir string `help:"Directory of tls.crt and tls.key, and of the clients' ca.crt." name:"tls-certs-dir" required:""`
}

// Run the server until it fails.
func (c *cli) Run() error {
	return function.Serve(&environment{},
		function.Listen("tcp", c.Address),
		function.MTLSCertificates(c.TLSCertsDir),
		function.WithMetricsServer(""),
	)
}

// An environment is what EnvironmentConfigs hold.
type environment struct {
	fnv1.UnimplementedFunctionRunnerServiceServer
}

// RunFunction asks for the EnvironmentConfigs first, and puts their data into the
// context once they are there.
func (*environment) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := response.To(req, response.DefaultTTL)
	rsp.Requirements = &fnv1.Requirements{Resources: map[string]*fnv1.ResourceSelector{}}
	merged := &structpb.Struct{Fields: map[string]*structpb.Value{}}

	for i, source := range sources(req.GetInput()) {
		name := fmt.Sprintf("environment-config-%d", i)
		rsp.Requirements.Resources[name] = &fnv1.ResourceSelector{
			ApiVersion: "apiextensions.crossplane.io/v1beta1",
			Kind:       "EnvironmentConfig",
			Match:      &fnv1.ResourceSelector_MatchName{MatchName: source},
		}

		found, asked := req.GetRequiredResources()[name]
		if !asked {
			continue
		}

		if len(found.GetItems()) == 0 {
			response.Fatal(rsp, errors.Errorf("there is no EnvironmentConfig %q", source))

			return rsp, nil
		}

		merge(merged, found.GetItems()[0].GetResource().GetFields()["data"].GetStructValue())
	}

	response.SetContextKey(rsp, fncontext.KeyEnvironment, structpb.NewStructValue(merged))

	return rsp, nil
}

// sources are the names of the EnvironmentConfigs that an input refers to.
func sources(input *structpb.Struct) []string {
	var names []string

	spec := input.GetFields()["spec"].GetStructValue()
	for _, v := range spec.GetFields()["environmentConfigs"].GetListValue().GetValues() {
		names = append(names, v.GetStructValue().GetFields()["ref"].GetStructValue().GetFields()["name"].GetStringValue())
	}

	return names
}

// merge more into what there is, objects field by field.
func merge(into, more *structpb.Struct) {
	for k, v := range more.GetFields() {
		below := into.GetFields()[k].GetStructValue()
		if below != nil && v.GetStructValue() != nil {
			merge(below, v.GetStructValue())

			continue
		}

		into.Fields[k] = v
	}
}

func main() {
	k := kong.Parse(&cli{}, kong.Description("A stand-in for function-environment-configs, for tests."))
	k.FatalIfErrorf(k.Run())
}
