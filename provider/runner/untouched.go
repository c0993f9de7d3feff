package runner

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
)

// untouched is true when it is certain that a run that has ended like this has carried out
// no task. By that an object keeps its Ready condition when a later apply fails before it has
// changed anything: status.lastApply.untouched of the API.
//
// The lack of events about tasks is no proof, since events are lost when the disk is full. So
// Ansible has to load the same playbook with the same inputs again, and to do no more. Ansible
// says how many plays there are before the first one begins. If loading ends in the same error
// before that, the run has ended there, too. An inventory that is a program may do anything
// while it is loaded, so that nothing is certain then. One of a project may be a program.
func (r *Runner) untouched(ctx context.Context, run Spec, e ending) bool {
	switch {
	case e.summary.Finished:
		return idle(run, e.summary)
	case e.summary.Started, e.summary.Play != "", e.cause != nil, e.code == 0, e.text == "",
		run.Inputs.Parameters.ExecutableInventory,
		run.Content.Project != nil && hasInventory(run.Inputs):
		return false
	}

	again, err := r.load(ctx, run)

	return err == nil && ctx.Err() == nil && !again.loaded && again.code == e.code && again.text == e.text
}

// A loading is how an Ansible ended that was to load a playbook and no more.
type loading struct {
	code int
	text string
	// loaded is true if all plays were loaded.
	loaded bool
}

// load the playbook of a run in a new private data directory.
func (r *Runner) load(ctx context.Context, run Spec) (loading, error) {
	p, err := r.prepare(run)
	if err != nil {
		return loading{}, err
	}

	lock, err := workdir.Lock(workdir.LockFile(p.Dir))
	if err != nil {
		return loading{}, err
	}

	defer lock.Close() //nolint:errcheck // Nothing was written to it.

	defer r.remove(filepath.Base(p.Dir)) //nolint:errcheck // What is left is removed later.

	p.Play = append(p.Play, "--syntax-check", "-vv")

	if err := p.write(); err != nil {
		return loading{}, err
	}

	rec := p.recorder(run, events.Watch{}, true)
	code, _, err := r.execute(ctx, p, lock, rec)

	// Source of the text: PlaybookExecutor of ansible-core.
	return loading{
		code: code, text: withUserNames(run.Inputs, rec.Text()),
		loaded: strings.Contains(rec.Tail(), " plays in "),
	}, err
}
