package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/plugin/text"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
)

func (p *plugin) statusCommand() *cobra.Command {
	var (
		output string
		watch  bool
	)

	c := p.command("status", "Show the runs of objects as a tree",
		"Show the runs of objects as a tree, in their order: how they are, what they do, what they wait for, and what has failed.",
		func(ctx context.Context, roots []tree.Reference) error {
			switch output {
			case "", "wide":
			case "json", "yaml":
				if watch {
					return errors.New("--watch shows a table: leave out --output, or take wide")
				}
			default:
				return errors.Errorf("--output must be json, yaml or wide, not %q", output)
			}

			return p.status(ctx, roots, output, watch)
		}, true)
	c.Flags().StringVarP(&output, "output", "o", "", "Show json, yaml or wide.")
	c.Flags().BoolVarP(&watch, "watch", "w", false, "Show it again when it changes, until it is interrupted or the objects are gone.")

	if err := c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "wide", "yaml"}, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err)
	}

	return c
}

func (p *plugin) status(ctx context.Context, roots []tree.Reference, output string, watch bool) error {
	s := p.screen(output == "wide")

	if watch {
		err := p.follow(ctx, roots, func(now []*tree.Node) (bool, error) {
			s.show(now)
			return len(now) == 0, nil
		})
		if ctx.Err() != nil {
			return nil //nolint:nilerr // Watching ends that way.
		}

		return err
	}

	nodes, err := p.load(ctx, roots)
	if err != nil {
		return err
	}

	if output == "" || output == "wide" {
		s.end(nodes)
		return nil
	}

	var shown any = map[string]any{"items": nodes}
	if p.single && len(nodes) == 1 {
		shown = nodes[0]
	}

	data, err := json.MarshalIndent(shown, "", "  ")
	if err != nil {
		return err
	}

	if output == "yaml" {
		if data, err = yaml.JSONToYAML(data); err != nil {
			return err
		}
	} else {
		data = append(data, '\n')
	}

	_, err = p.out.Write(data)

	return err
}

func (p *plugin) whyCommand() *cobra.Command {
	return p.command("why", "Say what objects wait for, and what to do",
		"Say in a paragraph why an object is not ready: what it waits for, what has failed, and what to do.",
		func(ctx context.Context, roots []tree.Reference) error {
			nodes, err := p.load(ctx, roots)
			if err != nil {
				return err
			}

			s := p.screen(false).style

			for i, n := range nodes {
				if i > 0 {
					p.printf("\n")
				}

				if _, err := p.out.Write([]byte(text.Why(s, time.Now(), n))); err != nil {
					return err
				}
			}

			return nil
		}, true)
}
