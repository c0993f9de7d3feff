package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	kerrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/text"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
)

func (p *plugin) approveCommand() *cobra.Command {
	return p.decideCommand("approve", "Let what was checked be applied",
		"Show what the runs of objects would change, and approve it. Each run that awaits approval is asked for; one that "+
			"was rejected may be approved, too.",
		common.DecisionApprove)
}

func (p *plugin) rejectCommand() *cobra.Command {
	return p.decideCommand("reject", "Keep what was checked from being applied",
		"Show what the runs of objects would change, and reject it. Nothing of it is applied until the inputs change, or "+
			"it is approved.",
		common.DecisionReject)
}

func (p *plugin) decideCommand(use, short, long string, d common.ApprovalDecision) *cobra.Command {
	var (
		reason    string
		yes, full bool
	)

	c := p.command(use, short, long, func(ctx context.Context, nodes []*tree.Node) error {
		return p.decide(ctx, nodes, common.ApprovalSpec{Decision: d, Reason: reason}, yes, full)
	}, false)
	c.Flags().StringVar(&reason, "reason", "", "Say why, for others to read.")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "Do not ask.")
	c.Flags().BoolVar(&full, "full", false, fullUsage)

	return c
}

// fullUsage is the usage text of the flag --full.
const fullUsage = "Show each difference as a whole, however long it is."

// decide creates Approvals for all runs that await a decision.
func (p *plugin) decide(ctx context.Context, nodes []*tree.Node, spec common.ApprovalSpec, yes, full bool) error {
	runs := pick(nodes, func(n *tree.Node) bool { return n.Decidable(spec.Decision) })
	if len(runs) == 0 {
		p.printf("nothing awaits approval\n")
		return nil
	}

	for _, n := range runs {
		p.printf("%s", text.Prediction(p.style(full), time.Now(), n))
	}

	if !yes {
		switch agreed, err := p.agreed(strings.ToLower(string(spec.Decision))); {
		case err != nil:
			return err
		case !agreed:
			p.printf("nothing was decided\n")
			return nil
		}
	}

	var err error
	if spec.By, err = p.client.WhoAmI(ctx); err != nil {
		return errors.Wrap(err, "cannot ask the API server for your name")
	}

	done := map[common.ApprovalDecision]string{
		common.DecisionApprove: "approved",
		common.DecisionReject:  "rejected",
	}[spec.Decision]

	return each(runs, func(n *tree.Node) error {
		err := p.client.Decide(ctx, n, spec)
		if err == nil {
			p.printf("%s %s by %s\n", n.Resource(), done, spec.By)
		}

		if kerrors.IsForbidden(err) {
			err = errors.Wrap(err, "you need the right to create approvals there, or an admission policy refuses it")
		}

		return errors.Wrapf(err, "%s cannot be %s", n.Resource(), done)
	})
}

// agreed asks the user for confirmation at the terminal.
func (p *plugin) agreed(what string) (bool, error) {
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return false, errors.New("there is no terminal to ask at: look at the above, and add --yes")
	}

	signal.Reset() // An interrupt must end the command during the question, but does not end a read.

	p.printf("%s this? [y/N] ", what)

	answer, err := read(os.Stdin)
	if err != nil {
		p.printf("\n")
		return false, err
	}

	return answer == "y" || answer == "yes", nil
}

// read returns the answer in a line.
func read(in io.Reader) (string, error) {
	line, err := bufio.NewReader(in).ReadString('\n')

	return strings.ToLower(strings.TrimSpace(line)), errors.Wrap(err, "cannot read the answer")
}

func (p *plugin) historyCommand() *cobra.Command {
	return p.command("history", "Show the last runs of objects",
		"Show the last runs of each AnsibleRun of the objects, the latest first: as many as its historyLimit says.",
		func(_ context.Context, nodes []*tree.Node) error {
			p.printf("%s", text.History(time.Now(), pick(nodes, nil)))

			return nil
		}, true)
}
