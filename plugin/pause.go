package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
)

func (p *plugin) pauseCommand() *cobra.Command {
	return p.command("pause", "Start no more runs of objects",
		"Start no more runs of objects, and compose nothing for XRs, until they are resumed. Runs in progress go on to "+
			"their end.",
		func(ctx context.Context, roots []tree.Reference) error {
			// XRs come first, so that they compose no run that is not paused.
			if err := p.annotate(ctx, roots, "true", composites); err != nil {
				return err
			}

			return p.annotate(ctx, roots, "true", (*tree.Node).All)
		}, false)
}

func (p *plugin) resumeCommand() *cobra.Command {
	return p.command("resume", "Go on with objects that are paused",
		"Go on with objects that are paused: AnsibleRuns, and XRs with all of their AnsibleRuns.",
		func(ctx context.Context, roots []tree.Reference) error {
			if err := p.annotate(ctx, roots, nil, (*tree.Node).All); err != nil {
				return err
			}

			return p.annotate(ctx, roots, nil, composites)
		}, false)
}

// composites are the XRs of a tree. Its claim is left alone: changes of a paused claim would not reach its XR.
func composites(n *tree.Node) []*tree.Node {
	return slices.DeleteFunc(n.Composites(), func(n *tree.Node) bool { return n.Claim })
}

// annotate objects of trees to be paused, or to be not.
func (p *plugin) annotate(ctx context.Context, roots []tree.Reference, value any,
	which func(*tree.Node) []*tree.Node,
) error {
	nodes, err := p.load(ctx, roots)
	if err != nil {
		return err
	}

	done := "paused"
	if value == nil {
		done = "resumed"
	}

	var errs []error

	for _, root := range nodes {
		for _, n := range which(root) {
			switch err := p.client.Annotate(ctx, n, meta.AnnotationKeyReconciliationPaused, value); {
			case err != nil:
				errs = append(errs, errors.Wrapf(err, "%s cannot be %s", n.Resource(), done))
			case value == nil && n.Unmanaged():
				errs = append(errs, errors.Errorf("%s stays paused, by spec.managementPolicies: []", n.Resource()))
			case value == nil && n.Unresponsive:
				p.printf("%s resumed, but Crossplane may not notice while its circuit breaker is open: if its condition Synced "+
					"goes on to say ReconcilePaused, pause and resume it again in a minute\n", n.Resource())
			default:
				p.printf("%s %s\n", n.Resource(), done)
			}
		}
	}

	return errors.Join(errs...)
}

func (p *plugin) cancelCommand() *cobra.Command {
	return p.command("cancel", "End the runs of objects that are in progress",
		"End the runs of objects that are in progress. They are not tried again before the inputs change or a run is "+
			"requested. "+
			"What a run has changed stays. A run that waits for its turn is kept from starting with pause.",
		func(ctx context.Context, roots []tree.Reference) error {
			nodes, err := p.load(ctx, roots)
			if err != nil {
				return err
			}

			runs, _ := pick(nodes, (*tree.Node).Running)
			if len(runs) == 0 {
				p.printf("no run is in progress\n")
			}

			var errs []error

			for _, n := range runs {
				if n.Paused {
					errs = append(errs, errors.Errorf("the run of %s cannot be canceled while the object is paused: resume it first",
						n.Resource()))
					continue
				}

				if err := p.client.Annotate(ctx, n, common.AnnotationCancel, n.LastRun.ID); err != nil {
					errs = append(errs, errors.Wrapf(err, "the run of %s cannot be canceled", n.Resource()))
					continue
				}

				p.printf("%s is asked to end its run\n", n.Resource())
			}

			return errors.Join(errs...)
		}, false)
}
