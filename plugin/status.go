package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/plugin/text"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
)

// Values of the flag --output.
const (
	outputJSON = "json"
	outputYAML = "yaml"
	outputWide = "wide"
)

// addOutput adds the flag --output with its values.
func addOutput(c *cobra.Command, output *string, values ...string) {
	last := len(values) - 1
	c.Flags().StringVarP(output, "output", "o", "", "Show "+strings.Join(values[:last], ", ")+" or "+values[last]+".")

	if err := c.RegisterFlagCompletionFunc("output",
		cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err)
	}
}

func (p *plugin) statusCommand() *cobra.Command {
	var (
		output string
		watch  bool
	)

	c := p.command("status", "Show the runs of objects as a tree",
		"Show the runs of objects as a tree, in their order: how they are, what they do, what they wait for, and what has "+
			"failed. With --all-namespaces alone: how many AnsibleRuns there are in each state, and those that do not go on by "+
			"themselves, the worst first.",
		func(ctx context.Context, roots []tree.Reference) error { return p.status(ctx, roots, output, watch) }, true)
	c.PreRunE = func(*cobra.Command, []string) error {
		switch {
		case output != "" && !slices.Contains([]string{outputJSON, outputWide, outputYAML}, output):
			return errors.Errorf("--output must be json, yaml or wide, not %q", output)
		case watch && (output == outputJSON || output == outputYAML):
			return errors.New("--watch shows a table: leave out --output, or take wide")
		}

		return nil
	}

	named := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && p.allNamespaces && !watch {
			return p.overview(output)
		}

		return named(cmd, args)
	}

	addOutput(c, &output, outputJSON, outputWide, outputYAML)
	c.Flags().BoolVarP(&watch, "watch", "w", false,
		"Show it again when it changes, until it is interrupted or the objects are gone.")

	return c
}

func (p *plugin) status(ctx context.Context, roots []tree.Reference, output string, watch bool) error {
	s := p.screen(output == outputWide)

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

	if output == "" || output == outputWide {
		s.end(nodes)
		return nil
	}

	var shown any = map[string]any{"items": nodes}
	if p.single && len(nodes) == 1 {
		shown = nodes[0]
	}

	return p.write(output, shown)
}

// write a value for programs.
func (p *plugin) write(output string, shown any) error {
	data, err := json.MarshalIndent(shown, "", "  ")
	if err != nil {
		return err
	}

	if output == outputYAML {
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
