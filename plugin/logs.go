package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/text"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
	"github.com/crossplane-ansible/crossplane-ansible/provider/play"
)

const (
	// watchFor is the duration of a request to show the output of a run, and watchAgain the time until it is
	// renewed. Clocks may differ by the difference to common.MaxWatch, and by a minute in the other
	// direction.
	watchFor   = 2 * time.Minute
	watchAgain = time.Minute
	// outputPatience is the time of waiting for the output of a run that has begun or ended.
	outputPatience = 10 * time.Second
)

func (p *plugin) logsCommand() *cobra.Command {
	var follow bool

	c := p.command("logs", "Show what Ansible displays",
		"Show what Ansible displays in the runs of objects, as a terminal would: of runs in progress what they have "+
			"displayed so far, "+
			"of others what was kept or, without that, how they have failed.",
		func(ctx context.Context, _ []*tree.Node) error { return p.logs(ctx, follow) }, true)
	c.Flags().BoolVarP(&follow, "follow", "f", false, "Go on until no run is in progress any more.")

	return c
}

func (p *plugin) logs(ctx context.Context, follow bool) error {
	l := &logs{p: p, follow: follow, of: map[types.UID]*log{}}
	defer l.unwatch(context.WithoutCancel(ctx))

	err := p.follow(ctx, func(now []*tree.Node) (bool, error) {
		runs, awaited := pick(now, nil), slices.ContainsFunc(now, awaited)
		if err := hasRuns(now); err != nil && len(runs) == 0 && (!follow || !awaited) {
			return false, err
		}

		return l.look(ctx, runs, awaited)
	})
	if ctx.Err() != nil {
		return nil // An interrupt ends watching.
	}

	return err
}

// awaited is true for a tree with a run that is in progress or will begin.
func awaited(root *tree.Node) bool {
	return slices.ContainsFunc(root.Leaves(), func(n *tree.Node) bool {
		return slices.Contains([]tree.State{tree.Running, tree.Installing, tree.Queued, tree.Waiting, tree.Deleting}, n.State)
	})
}

// logs shows the output of some AnsibleRuns.
type logs struct {
	p       *plugin
	follow  bool
	of      map[types.UID]*log
	refused bool
}

// A log is the state of the output of one AnsibleRun.
type log struct {
	node *tree.Node
	w    *play.Writer
	// id of the shown run, and its output that was shown last.
	id, shown string
	// since is the time at which this run was seen first, and ended the time at which its end was seen.
	since, ended time.Time
	over         bool
	// asked is the time of the last request for the output.
	asked time.Time
}

// look shows new output of AnsibleRuns. It returns true if there is nothing to wait for.
func (l *logs) look(ctx context.Context, runs []*tree.Node, awaited bool) (bool, error) {
	over := true

	for _, n := range runs {
		g, ok := l.of[n.UID]
		if !ok {
			s := play.StyleOf(l.p.out)
			if len(runs) > 1 {
				s.Prefix = play.Escaped(n.Title()) + " | "
			}

			g = &log{w: play.NewWriter(l.p.out, s)}
			l.of[n.UID] = g
		}

		g.node = n

		if err := l.show(ctx, g); err != nil {
			return false, err
		}

		over = over && g.over
	}

	return over && (!l.follow || !awaited), nil
}

// show shows new output of an AnsibleRun.
func (l *logs) show(ctx context.Context, g *log) error {
	run, now := g.run(), time.Now()
	if run.Phase == "" {
		if g.over {
			return nil
		}

		g.over = true

		why := cmp.Or(g.node.Message, string(g.node.State))

		return g.w.Show(g.node.Kind + " " + g.node.NamespacedName() + " has not run yet: " + why)
	}

	if run.ID != g.id {
		*g = log{node: g.node, w: g.w, id: run.ID, since: now, asked: g.asked}
	}

	if g.over {
		return nil
	}

	if run.Phase.Finished() && g.ended.IsZero() {
		g.ended = now
	}

	if !run.Phase.Finished() {
		if err := l.watch(ctx, g, now); err != nil {
			return err
		}
	}

	output, whole, err := l.output(ctx, g)
	if err != nil {
		return err
	}

	if more := added(g.shown, output); more != "" {
		g.shown = output

		if err := g.w.Show(more); err != nil {
			return err
		}
	}

	switch {
	case whole, !l.follow && g.shown != "":
		g.over = true
	case !g.ended.IsZero() && (g.asked.IsZero() || now.Sub(g.ended) > outputPatience):
		g.over = true

		return g.w.Show(unkept(g.node, run, g.shown != ""))
	case !l.follow && now.Sub(g.since) > outputPatience:
		g.over = true

		return g.w.Show("the run is " + strings.ToLower(string(run.Phase)) + ", and has displayed nothing yet")
	}

	return nil
}

// run returns the run to show: the last run or, after a requested check, that check. A check in progress is the last
// run; after its end, the last run is the one before it again.
func (g *log) run() common.Run {
	last, check := g.node.LastRun, g.node.Previewed()
	if check.Phase == "" || check.ID != g.id || g.node.InProgress() || check.CompletionTime.Before(last.StartTime) {
		return last
	}

	return check
}

// watch requests the output of a run in progress from the provider. It repeats the request if it is gone: another
// watcher that stops may remove it.
func (l *logs) watch(ctx context.Context, g *log, now time.Time) error {
	if l.refused || g.node.Watched != "" && now.Sub(g.asked) < watchAgain {
		return nil
	}

	value := now.Add(watchFor).UTC().Format(time.RFC3339)

	err := l.p.client.Annotate(ctx, g.node, common.AnnotationWatch, value)
	if kerrors.IsForbidden(err) {
		l.refused = true
		fmt.Fprintln(l.p.errs, "the output of runs in progress cannot be asked for:", err) //nolint:errcheck // There is no way to report it.

		return nil
	}

	if err == nil {
		g.asked = now
	}

	return client.IgnoreNotFound(err)
}

// output returns the output of the shown run. whole is true once the run has ended.
func (l *logs) output(ctx context.Context, g *log) (all string, whole bool, err error) {
	kept := g.node.KeptOutput
	if kept.ConfigMap == "" {
		return "", false, nil
	}

	data, err := l.p.client.ConfigMap(ctx, kept.Namespace, kept.ConfigMap)
	if err != nil || data[common.OutputKeyRunID] != g.id {
		return "", false, errors.Wrap(err, "cannot read the output")
	}

	return data[common.OutputKeyOutput], common.RunPhase(data[common.OutputKeyPhase]).Finished(), nil
}

// unwatch removes the requests for output. Other watchers repeat theirs.
func (l *logs) unwatch(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, outputPatience)
	defer cancel()

	for _, g := range l.of {
		if !g.asked.IsZero() {
			_ = l.p.client.Annotate(ctx, g.node, common.AnnotationWatch, nil) // The request expires by itself.
		}
	}
}

// leftOut stands for output before a text.
const leftOut = "…\n"

// added returns the text in now that is not in before. Both are the end of a display.
func added(before, now string) string {
	was, is := strings.SplitAfter(strings.TrimPrefix(before, leftOut),
		"\n"), strings.SplitAfter(strings.TrimPrefix(now, leftOut), "\n")
	was, is = was[:len(was)-1], is[:len(is)-1]

	if now == "" || before == "" {
		return now
	}

	for n := min(len(was), len(is)); n > 0; n-- {
		if slices.Equal(was[len(was)-n:], is[:n]) {
			return strings.Join(is[n:], "")
		}
	}

	return leftOut + strings.Join(is, "")
}

// unkept returns a message about the end of a run without kept output, or with incomplete output.
func unkept(n *tree.Node, run common.Run, begun bool) string {
	var b strings.Builder

	if !begun {
		fmt.Fprintf(&b, "%s run %s. Its output was not kept.\n", run.Mode, strings.ToLower(string(run.Phase)))
	}

	if why := run.Why(0); len(why) > 0 {
		fmt.Fprintln(&b, strings.Join(why, "\n"))
	}

	if totals := text.Totals(run.Hosts); totals != "" {
		fmt.Fprintln(&b, totals)
	}

	if !begun {
		fmt.Fprintf(&b, "To keep the output of runs from now on: kubectl annotate %s %s=true\n", n.Args(),
			common.AnnotationKeepOutput)
	}

	return b.String()
}
