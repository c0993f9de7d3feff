package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/crossplane-ansible/crossplane-ansible/plugin/text"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
)

func (p *plugin) historyCommand() *cobra.Command {
	return p.command("history", "Show the last runs of objects",
		"Show the last runs of each AnsibleRun of the objects, the latest first: as many as its historyLimit says.",
		func(ctx context.Context, roots []tree.Reference) error {
			nodes, err := p.load(ctx, roots)
			if err != nil {
				return err
			}

			runs, _ := pick(nodes, nil)
			p.printf("%s", text.History(time.Now(), runs))

			return nil
		}, true)
}
