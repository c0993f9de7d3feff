// Command benchfunction measures function-ansible over gRPC, side by side with
// a floor: a server made with the SDK alone that returns the same responses,
// ready-made. Requests go to one and the other in turn. Figures of one run can
// be compared with each other, not with those of another machine.
package main

import (
	"context"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// cli is the command line.
type cli struct {
	Measure measureCommand `cmd:"" default:"withargs" help:"Measure the function and the floor."`
	Floor   floorCommand   `cmd:"" help:"Serve a ready-made response." hidden:""`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	k := kong.Parse(&cli{},
		kong.Description("Measure function-ansible side by side with a server that only returns ready-made responses."))
	k.BindTo(ctx, (*context.Context)(nil))
	k.FatalIfErrorf(k.Run())
}
