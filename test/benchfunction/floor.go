package main

import (
	"context"
	"os"

	"google.golang.org/protobuf/proto"

	"github.com/crossplane/function-sdk-go"
	"github.com/crossplane/function-sdk-go/errors"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// A floorCommand serves a ready-made response.
type floorCommand struct {
	Response       string `help:"File of the response, as a protobuf message." required:""`
	Address        string `help:"Address at which to listen for gRPC connections." required:""`
	MetricsAddress string `help:"Address at which to serve metrics." required:""`
}

// A floor returns a ready-made response.
type floor struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	rsp *fnv1.RunFunctionResponse
}

// RunFunction returns the response.
func (f *floor) RunFunction(context.Context, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	return f.rsp, nil
}

// Run the server until it fails.
func (c *floorCommand) Run() error {
	b, err := os.ReadFile(c.Response)
	if err != nil {
		return errors.Wrap(err, "cannot read the response")
	}

	rsp := &fnv1.RunFunctionResponse{}
	if err := proto.Unmarshal(b, rsp); err != nil {
		return errors.Wrap(err, "cannot unmarshal the response")
	}

	return function.Serve(&floor{rsp: rsp},
		function.Listen("tcp", c.Address),
		function.Insecure(true),
		function.MaxRecvMessageSize(64<<20),
		function.WithMetricsServer(c.MetricsAddress),
	)
}
