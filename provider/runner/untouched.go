package runner

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/provider/event"
)

// identSyntax names the artifacts of a check of the syntax.
const identSyntax = "syntax"

// untouched is true when it is certain that a run that has ended like this has
// changed nothing.
//
// That no task was told of is not enough: where the disk is full, what Ansible
// tells is lost. So Ansible is asked to do no more than to load the same playbook
// with the same inputs. Where that ends in the same error before it says how many
// plays there are, which it does before the first one begins, the run has not come
// any further.
func (r *Runner) untouched(ctx context.Context, run Run, plan Plan, lock *os.File, e ending) bool {
	switch {
	case e.summary.Finished:
		return e.summary.Processed == 0
	case e.summary.Started, e.summary.Play != "", e.cause != nil, e.code == 0, e.text == "":
		return false
	}

	plan.Play = append(slices.Clone(plan.Play), "--syntax-check", "-vv")
	rec := event.NewRecorder(append(plan.readable(run), event.WithTail())...)

	code, err := r.start(ctx, plan, identSyntax, lock, rec)
	same := err == nil && ctx.Err() == nil && code == e.code && named(run.Inputs, rec.Text()) == e.text

	// Source: PlaybookExecutor of ansible-core.
	return same && !strings.Contains(rec.Tail(), " plays in ")
}
