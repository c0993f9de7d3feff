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
		func(ctx context.Context, _ []*tree.Node) error {
			// XRs are paused first, so that they do not compose new runs.
			return p.annotate(ctx, "true", composites, (*tree.Node).All)
		}, false)
}

func (p *plugin) resumeCommand() *cobra.Command {
	return p.command("resume", "Go on with objects that are paused",
		"Go on with objects that are paused: AnsibleRuns, and XRs with all of their AnsibleRuns.",
		func(ctx context.Context, _ []*tree.Node) error {
			return p.annotate(ctx, nil, (*tree.Node).All, composites)
		}, false)
}

// composites returns the XRs of a tree. Its claim is left out: changes of a paused claim would not reach its XR.
func composites(n *tree.Node) []*tree.Node {
	return slices.DeleteFunc(n.Composites(), func(n *tree.Node) bool { return n.Claim })
}

// annotate sets or removes the annotation for pausing on objects of trees: on each group in order, with current trees.
func (p *plugin) annotate(ctx context.Context, value any, order ...func(*tree.Node) []*tree.Node) error {
	done := "paused"
	if value == nil {
		done = "resumed"
	}

	for _, which := range order {
		roots, err := p.load(ctx)
		if err != nil {
			return err
		}

		var nodes []*tree.Node
		for _, root := range roots {
			nodes = append(nodes, which(root)...)
		}

		err = each(nodes, func(n *tree.Node) error {
			switch err := p.client.Annotate(ctx, n, meta.AnnotationKeyReconciliationPaused, value); {
			case err != nil:
				return errors.Wrapf(err, "%s cannot be %s", n.Resource(), done)
			case value == nil && n.Unmanaged:
				return errors.Errorf("%s stays paused, by spec.managementPolicies: []", n.Resource())
			case value == nil && n.Unresponsive:
				p.printf("%s resumed, but Crossplane may not notice while its circuit breaker is open: if its condition "+
					"Synced goes on to say ReconcilePaused, pause and resume it again in a minute\n", n.Resource())
			default:
				p.printf("%s %s\n", n.Resource(), done)
			}

			return nil
		})
		if err != nil {
			return err
		}
	}

	return nil
}

func (p *plugin) cancelCommand() *cobra.Command {
	return p.command("cancel", "End the runs of objects that are in progress",
		"End the runs of objects that are in progress. They are not tried again before the inputs change or a run is "+
			"requested. "+
			"What a run has changed stays. A run that waits for its turn is kept from starting with pause.",
		func(ctx context.Context, nodes []*tree.Node) error {
			runs := pick(nodes, (*tree.Node).Running)
			if len(runs) == 0 {
				p.printf("no run is in progress\n")
			}

			return each(runs, func(n *tree.Node) error {
				if n.Paused {
					return errors.Errorf("the run of %s cannot be canceled while the object is paused: resume it first", n.Resource())
				}

				err := p.client.Annotate(ctx, n, common.AnnotationCancel, n.LastRun.ID)
				if err == nil {
					p.printf("%s is asked to end its run\n", n.Resource())
				}

				return errors.Wrapf(err, "the run of %s cannot be canceled", n.Resource())
			})
		}, false)
}
