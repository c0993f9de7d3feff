package runner

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/warm"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// execute executes ansible-runner in the private data directory of the plan until all its processes have ended, and
// returns its exit status. The cause is why the processes were ended; nil if they ended by themselves. The error is the
// supervisor's.
func (r *Runner) execute(ctx context.Context, p plan, rec *events.Recorder) (code int, cause, err error) {
	defer rec.Close()

	ctx, done := workdir.WithLimit(ctx, r.Policy.RunSize, p.Dir, p.Facts)
	defer done()

	argv := slices.Concat(r.python, []string{filepath.Join(p.Dir, driverFile)}, p.Args)
	cmd := supervisor.Command{
		Argv: argv, Env: p.Env, Dir: p.Dir, Domain: p.Domain, Grace: r.Grace, Lock: r.Lock,
		Stdout: rec.Stdout(), Stderr: rec.Stderr(),
	}

	cold := "off"
	if r.keeper != nil {
		cmd.Warm, cold = r.keeper.Starter()
	}

	code, err = cmd.Run(ctx)

	// The driver reports its versions before it does anything else.
	failed := errors.Is(err, supervisor.ErrFailed) && rec.Summary().Versions == ""
	if cmd.Warm != nil && failed {
		r.keeper.Failed(cmd.Warm, err)
	}

	if cmd.Warm != nil && (failed || errors.Is(err, supervisor.ErrNotStarted)) && ctx.Err() == nil {
		cmd.Warm, cold = nil, warm.Failed
		code, err = cmd.Run(ctx)
	}

	if r.Warm.Started != nil {
		r.Warm.Started(cmp.Or(cold, rec.Summary().Cold))
	}

	return code, context.Cause(ctx), err
}
