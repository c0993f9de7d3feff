package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

func (p *plugin) statusCommand() *cobra.Command {
	var (
		output string
		watch  bool
	)

	c := p.command("status", "Show the runs of objects as a tree",
		"Show the runs of objects as a tree, in their order: how they are, what they do, what they wait for, and what has "+
			"failed. With --all-namespaces alone: how many AnsibleRuns there are in each state, and those that do not go on by "+
			"themselves, the worst first.",
		func(ctx context.Context, nodes []*tree.Node) error { return p.status(ctx, nodes, output, watch) }, true)
	c.PreRunE = func(_ *cobra.Command, args []string) error {
		switch {
		case output != "" && !slices.Contains([]string{outputJSON, outputWide, outputYAML}, output):
			return errors.Errorf("--output must be json, yaml or wide, not %q", output)
		case watch && output != "":
			return errors.New("--watch shows lines: leave out --output")
		case watch && len(args) == 0:
			return errors.New("--watch needs an object")
		}

		return nil
	}

	p.withoutObject(c, func(all []*tree.Node) error { return p.show(all, output, text.Overview) })

	c.Flags().StringVarP(&output, "output", "o", "", "Show json, wide or yaml.")
	c.Flags().BoolVarP(&watch, "watch", "w", false,
		"Show a line for each change, until it is interrupted or the objects are gone.")

	return c
}

// withoutObject makes a command with only --all-namespaces show all AnsibleRuns. They are listed in pages, and not
// read one by one.
func (p *plugin) withoutObject(c *cobra.Command, show func(all []*tree.Node) error) {
	named := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 || !p.allNamespaces {
			return named(cmd, args)
		}

		types, err := p.types()

		types = slices.DeleteFunc(types, func(t string) bool { return !strings.HasPrefix(t, "ansibleruns.") })
		if len(types) == 0 {
			return cmp.Or(err,
				errors.New("the cluster has no AnsibleRuns: provider-ansible is not installed, or its kinds are not active"))
		}

		infos, err := p.build("", true, []string{strings.Join(types, ",")})
		if err != nil {
			return err
		}

		nodes := make([]*tree.Node, 0, len(infos))

		for _, i := range infos {
			if o, ok := i.Object.(*unstructured.Unstructured); ok {
				nodes = append(nodes, tree.Of(o))
			}
		}

		return show(nodes)
	}
}

func (p *plugin) status(ctx context.Context, nodes []*tree.Node, output string, watch bool) error {
	if !watch {
		return p.show(nodes, output, text.Status)
	}

	progress := text.Progress{}

	err := p.follow(ctx, func(now []*tree.Node) (bool, error) {
		p.printf("%s", progress.Lines(p.style(false), time.Now(), now...))
		return len(now) == 0, nil
	})
	if ctx.Err() != nil {
		return nil //nolint:nilerr // An interrupt ends watching.
	}

	return err
}

// show shows nodes as text, or in a format for programs.
func (p *plugin) show(nodes []*tree.Node, output string,
	asText func(text.Style, time.Time, ...*tree.Node) string,
) error {
	if output == "" || output == outputWide {
		p.printf("%s", asText(p.style(output == outputWide), time.Now(), nodes...))
		return nil
	}

	var shown any = map[string]any{"items": nodes}
	if p.single && len(nodes) == 1 {
		shown = nodes[0]
	}

	data, err := yaml.Marshal(shown)
	if output == outputJSON {
		data, err = json.MarshalIndent(shown, "", "  ")
	}

	if err == nil {
		_, err = fmt.Fprintln(p.out, strings.TrimSpace(string(data)))
	}

	return err
}

func (p *plugin) whyCommand() *cobra.Command {
	c := p.command("why", "Say what objects wait for, and what to do",
		"Say why an object is not ready: what it waits for, what has failed, and what to do. With --all-namespaces alone: "+
			"of those AnsibleRuns that do not go on by themselves.",
		func(_ context.Context, nodes []*tree.Node) error { return p.show(nodes, "", text.Why) }, true)
	p.withoutObject(c, func(all []*tree.Node) error { return p.show(text.Stuck(all), "", text.Why) })

	return c
}
