package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/text"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
)

const exits = "\n\nThe exit status is 0 if all runs succeeded, 2 if not, 3 if the time of --timeout is over, and 1 " +
	"if something else went wrong. " +
	"What was asked for goes on when the command is interrupted."

func (p *plugin) runCommand() *cobra.Command {
	return p.requestCommand("run", "Run the content of objects now",
		"Ask for a run of each AnsibleRun of the objects, and show the runs until they end. "+
			"Runs of an XR that depend on others are asked for when those have succeeded."+exits,
		request{none: "there is nothing to run"})
}

func (p *plugin) retryCommand() *cobra.Command {
	return p.requestCommand("retry", "Run again what has failed",
		"Ask for a run of each AnsibleRun of the objects that failed in its last run, also if its retries are exhausted, "+
			"and show the runs until they end."+exits,
		request{wanted: func(n *tree.Node) bool { return n.State == tree.Failed }, none: "nothing has failed"})
}

func (p *plugin) checkCommand() *cobra.Command {
	return p.requestCommand("check", "Show what an apply would change",
		"Check the content of each AnsibleRun of the objects with Ansible's check mode, and show what an apply would "+
			"change now, by task and host. "+
			"Nothing is changed, whatever the run policy is, and nothing follows from it."+exits,
		request{check: true, none: "there is nothing to check"})
}

// A request has the options of a command that requests runs.
type request struct {
	// wanted selects AnsibleRuns; nil means all.
	wanted func(*tree.Node) bool
	// none is the message if no AnsibleRun is selected.
	none string
	// check is true for previews.
	check bool
	// wait is true to wait until the runs end.
	wait bool
	// full is true to show differences completely.
	full bool
}

// token returns a unique token.
func (r request) token() string {
	t := time.Now().UTC().Format(time.RFC3339Nano)
	if r.check {
		t = common.PreviewRequest + t
	}

	return t
}

func (p *plugin) requestCommand(use, short, long string, r request) *cobra.Command {
	var timeout time.Duration

	r.wait = true

	c := p.command(use, short, long, func(ctx context.Context, nodes []*tree.Node) error {
		if timeout < 0 {
			return errors.New("--timeout must not be negative")
		}

		if timeout > 0 {
			var cancel context.CancelFunc

			ctx, cancel = context.WithTimeoutCause(ctx, timeout, errTime)
			defer cancel()
		}

		return p.request(ctx, nodes, r)
	}, false)
	if r.check {
		c.Flags().BoolVar(&r.full, "full", false, fullUsage)
	} else {
		c.Flags().BoolVar(&r.wait, "wait", true,
			"Show the runs until they end. With --wait=false all are asked for at once, whatever they depend on.")
	}

	c.Flags().DurationVar(&timeout, "timeout", 0, "Wait at most this long, such as 10m; 0 means for ever.")

	return c
}

// request requests runs, and waits for them.
func (p *plugin) request(ctx context.Context, nodes []*tree.Node, want request) error {
	all := pick(nodes, want.wanted)
	if len(all) == 0 {
		err := hasRuns(nodes)
		if err == nil {
			p.printf("%s\n", want.none)
		}

		return err
	}

	r, err := tree.NewRequest(want.token(), all)
	if err != nil {
		return err
	}

	if !want.wait {
		return p.ask(ctx, r, all)
	}

	r.Ordered = !want.check // Checks do not depend on one another.

	for _, n := range nodes {
		if want.check {
			p.warnBehind(n)
		}
	}

	s, progress := p.style(want.full), text.Progress{}

	var last []*tree.Node

	err = p.follow(ctx, func(now []*tree.Node) (bool, error) {
		last = now
		runs := pick(now, nil)
		r.Observe(runs)

		p.printf("%s", progress.Lines(s, time.Now(), now...))

		if err := p.ask(ctx, r, runs); err != nil {
			return false, err
		}

		return r.Over(), nil
	})

	switch {
	case errors.Is(err, errTime):
		return err
	case ctx.Err() != nil:
		return errors.New("interrupted: what was asked for goes on")
	case err != nil:
		return err
	}

	if want.check {
		p.showPreviews(s, r.Token, last)
	} else {
		p.printf("%s", text.Status(s, time.Now(), last...))
	}

	return verdict(r)
}

// warnBehind warns about XRs of a tree with changes that a check does not include.
func (p *plugin) warnBehind(root *tree.Node) {
	for _, xr := range root.Composites() {
		if xr.Behind {
			p.printf("%s has changed, and Crossplane has not composed the change yet: the check is of what was before\n",
				xr.Resource())
		}
	}
}

// verdict returns an error if not all runs of an ended request have succeeded.
func verdict(r *tree.Request) error {
	switch whys := r.Why(); {
	case r.Succeeded():
		return nil
	case len(whys) == 0:
		return errFailed
	default:
		return errors.Wrap(errFailed, strings.Join(whys, "; "))
	}
}

// showPreviews shows the previews of a request.
func (p *plugin) showPreviews(s text.Style, token string, now []*tree.Node) {
	for _, n := range pick(now, nil) {
		if n.Preview.Request == token {
			p.printf("%s", text.Preview(s, n))
		}
	}
}

// pick returns the selected AnsibleRuns of trees; all if wanted is nil.
func pick(nodes []*tree.Node, wanted func(*tree.Node) bool) []*tree.Node {
	var runs []*tree.Node

	for _, root := range nodes {
		for _, n := range root.All() {
			if wanted == nil || wanted(n) {
				runs = append(runs, n)
			}
		}
	}

	return runs
}

// hasRuns returns an error for a tree without AnsibleRuns.
func hasRuns(nodes []*tree.Node) error {
	for _, root := range nodes {
		if len(root.All()) == 0 {
			return errors.Errorf("%s %s has no AnsibleRuns yet: ask why", root.Kind, root.NamespacedName())
		}
	}

	return nil
}

// ask requests the runs that are due.
func (p *plugin) ask(ctx context.Context, r *tree.Request, now []*tree.Node) error {
	for _, n := range r.Due(now) {
		if err := p.client.Annotate(ctx, n, meta.AnnotationKeyReconcileRequestedAt, r.Token); err != nil {
			return errors.Wrapf(err, "cannot ask for a run of %s", n.NamespacedName())
		}

		p.printf("%s requested\n", n.Resource())
	}

	return nil
}
