package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/crossplane-ansible/crossplane-ansible/provider/worker"
)

// terminationLog is where Kubernetes looks for the reason why a container has ended.
const terminationLog = "/dev/termination-log"

// workCommand carries out the run of a Pod.
type workCommand struct{ worker.Worker }

// Run what the payload says.
func (c *workCommand) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	err := c.Work(ctx)
	if err != nil {
		_ = os.WriteFile(terminationLog, []byte(err.Error()), 0o600) // The log of the container has it, too.
	}

	return err
}
