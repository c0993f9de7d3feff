package runner

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// Run executes a run. It returns once all processes of the run have ended and its private data directory is removed.
// The end of the context, or of the timeout of the run, ends the processes. The error is about this machine; a failed
// play is a result. With an error, only Untouched of the result is set.
func (r *Runner) Run(ctx context.Context, run Spec, w events.Watch) (Result, error) {
	run, err := withProject(run)
	if err != nil {
		return invalid(err.Error()), nil
	}

	p, err := r.prepare(run)
	if err != nil {
		return invalid(err.Error()), nil
	}

	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return Result{Untouched: true}, errors.Wrap(err, "cannot use the directory of the runs")
	}

	res, err := r.run(ctx, run, p, w)

	// Remove empties a directory that it cannot remove, since it may hold secrets. The start of the next provider removes
	// the directory. The error does not change the result.
	if rerr := workdir.Remove(p.Dir); rerr != nil {
		res.Message = strings.TrimPrefix(res.Message+"; cannot remove a private data directory: "+rerr.Error(), "; ")
	}

	return res, err
}

func invalid(message string) Result {
	return Result{Phase: common.PhaseFailed, Reason: ReasonInvalidInputs, Message: message, Untouched: true}
}

// run executes a plan.
func (r *Runner) run(ctx context.Context, run Spec, p plan, w events.Watch) (Result, error) {
	if run.Timeout > 0 {
		var cancel context.CancelFunc

		ctx, cancel = context.WithTimeoutCause(ctx, run.Timeout, errTimedOut)
		defer cancel()
	}

	secret, secrets := rand.Text()+rand.Text(), run.Inputs.Secrets()
	secrets.Add(redact.Secret{Text: secret})

	rec := events.NewRecorder(events.Options{
		Secrets: secrets, Hidden: []string{filepath.Join(p.Dir, projectDir) + "/", p.Dir + "/"},
		Watch: w, Confined: p.Domain.Confined, Tail: run.KeepOutput, Status: run.Reported, Withheld: run.Withheld,
	})

	access, err := r.open(run, secret, rec, &p)
	if err != nil {
		return Result{Untouched: true}, err
	}

	defer access.Close()

	if err := makeDirectory(p.Dir, p.Project, p.Files); err != nil {
		return Result{Untouched: true}, err
	}

	absent := run.State == common.StateAbsent

	ignores := (!absent || run.StateIgnored) && r.ignoresState(run, p)
	if ignores && absent {
		// The content would apply its changes once more.
		return Result{Phase: common.PhaseSucceeded, IgnoresState: true, Untouched: true}, nil
	}

	if secrets.Excess() {
		return invalid(
			"the Secrets that the run refers to have too many values and lines to hide them from reports; put what is no " +
				"secret into ConfigMaps or a project"), nil
	}

	code, cause, err := r.execute(ctx, p, rec)
	r.boundFacts(ctx, run)

	switch {
	case errors.Is(err, unix.E2BIG):
		// Only the variables of the ProviderConfig can be that long.
		return invalid(run.Inputs.Config + ": spec.vars are too long for an environment"), nil
	case isOutOfMemory(err) && cause == nil:
		cause = err
	case err != nil && cause == nil:
		if text := rec.Text(); text != "" {
			err = errors.Wrap(err, text)
		}

		return Result{Untouched: errors.Is(err, supervisor.ErrNotStarted)}, err
	}

	if err != nil {
		// The exit status is not known.
		code = -1
	}

	if err := rec.Err(); err != nil {
		return Result{}, err
	}

	summary := rec.Summary()
	if summary.Unfit != "" {
		return Result{Untouched: true}, errors.New(summary.Unfit)
	}

	e := ending{
		summary: summary, code: code, cause: cause, text: withUserNames(run.Inputs, rec.Text()), warnings: withUserNames(
			run.Inputs, rec.Warnings()),
	}

	if ranFull(e) {
		return Result{}, errors.Wrapf(unix.ENOSPC, "the disk of --state-dir is full: %s", e.text)
	}

	res := verdict(run, e)
	res.Output = rec.Tail()
	res.Dependents = dependents(ctx, run, access)
	res.Message = withLeft(res.Message, err)
	res.Untouched = untouched(e)
	res.IgnoresState = ignores

	return res, nil
}
