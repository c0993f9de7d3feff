package runner

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// untouched is true when it is certain that a run that has ended like this has
// carried out no task.
//
// That no task was told of is not enough: where the disk is full, what Ansible
// tells is lost. So Ansible is asked to do no more than to load the same playbook
// with the same inputs. Where that ends in the same error before it says how many
// plays there are, which it does before the first one begins, the run has not come
// any further. An inventory that is executed may do anything while it is loaded.
func (r *Runner) untouched(ctx context.Context, run Run, e ending) bool {
	switch {
	case e.summary.Finished:
		return e.summary.Processed == 0
	case e.summary.Started, e.summary.Play != "", e.cause != nil, e.code == 0, e.text == "", run.Inputs.Parameters.ExecutableInventory:
		return false
	}

	again, err := r.load(ctx, run)

	return err == nil && ctx.Err() == nil && !again.loaded && again.code == e.code && again.text == e.text
}

// A loading of a playbook ends with an exit status and a text, before or after
// all plays were loaded.
type loading struct {
	code   int
	text   string
	loaded bool
}

// load the playbook of a run, in a private data directory that no content has had
// before.
func (r *Runner) load(ctx context.Context, run Run) (loading, error) {
	plan, err := r.Prepare(run)
	if err != nil {
		return loading{}, err
	}

	lock, err := workdir.Lock(lockFile(plan.Dir))
	if err != nil {
		return loading{}, err
	}

	defer lock.Close() //nolint:errcheck // Nothing was written to it.

	defer r.remove(filepath.Base(plan.Dir)) //nolint:errcheck // What is left is removed later.

	plan.Play = append(plan.Play, "--syntax-check", "-vv")

	if err := plan.write(); err != nil {
		return loading{}, err
	}

	ctx, done := workdir.WithLimit(ctx, plan.Dir, r.policy.RunSize)
	defer done()

	rec := plan.recorder(run, events.Watch{}, true)
	code, err := r.start(ctx, plan, lock, rec)

	// Source of the text: PlaybookExecutor of ansible-core.
	return loading{code: code, text: named(run.Inputs, rec.Text()), loaded: strings.Contains(rec.Tail(), " plays in ")}, err
}
