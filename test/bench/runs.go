package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
)

// atMost is the ratio to bare ansible-runner that is to be kept.
const atMost = 1.1

// single measures one run at a time.
func (b *bench) single(ctx context.Context, c *cli) error {
	if err := b.restart(ctx); err != nil {
		return err
	}
	var play, runner, run samples

	// The first round warms up: files are read, Python compiles.
	for i := range c.Repeat + 1 {
		p, err := b.barePlaybook(ctx)
		if err != nil {
			return err
		}
		r, err := b.bareRunner(ctx)
		if err != nil {
			return err
		}
		a, err := b.run(ctx, fmt.Sprintf("single-%d", i))
		if err != nil {
			return err
		}
		if i > 0 {
			play, runner, run = append(play, p), append(runner, r), append(run, a)
		}
	}

	t := newTable(b.out, fmt.Sprintf("One run, medians of %d; ratios pair by pair", c.Repeat),
		"", "wall", "CPU", "wall to ansible-playbook", "wall to ansible-runner")
	for _, row := range []struct {
		name string
		samples
	}{{"ansible-playbook", play}, {"ansible-runner run", runner}, {"AnsibleRun, from apply to Ready", run}} {
		m := row.median()
		t.row(row.name, seconds(m.wall), seconds(m.cpu), fmt.Sprintf("%.2f", ratio(row.samples, play)), fmt.Sprintf("%.2f", ratio(row.samples, runner)))
	}
	t.flush()
	got := ratio(run, runner)
	_, _ = fmt.Fprintf(b.out, "At most %.1f times ansible-runner: %.2f, %s. (CPU is that of the provider and all it starts.)\n", atMost, got, verdict(got <= atMost))
	return b.removed(ctx)
}

// run an AnsibleRun, and measure the provider while it does.
func (b *bench) run(ctx context.Context, name string) (sample, error) {
	before, err := b.provider.Usage()
	if err != nil {
		return sample{}, err
	}
	wall, err := b.applied(ctx, ansibleRun(name))
	if err != nil {
		return sample{}, err
	}
	after, err := b.provider.Usage()
	return sample{wall: wall, cpu: after.CPU() - before.CPU()}, err
}

// throughput of many runs at once.
func (b *bench) throughput(ctx context.Context, c *cli) error {
	if err := b.restart(ctx, fmt.Sprintf("--max-concurrent-runs=%d", c.Workers)); err != nil {
		return err
	}
	var bare, ours samples

	for round := range c.Rounds {
		s, err := b.manyBare(ctx, c.Runs, c.Workers)
		if err != nil {
			return err
		}
		bare = append(bare, s)

		var runs []*v1alpha1.AnsibleRun
		for i := range c.Runs {
			runs = append(runs, ansibleRun(fmt.Sprintf("many-%d-%d", round, i)))
		}
		before, err := b.provider.Usage()
		if err != nil {
			return err
		}
		wall, err := b.applied(ctx, runs...)
		if err != nil {
			return err
		}
		after, err := b.provider.Usage()
		if err != nil {
			return err
		}
		ours = append(ours, sample{wall, after.CPU() - before.CPU()})
		if err := b.removed(ctx); err != nil {
			return err
		}
	}

	t := newTable(b.out, fmt.Sprintf("%d runs, %d at a time, medians of %d rounds", c.Runs, c.Workers, c.Rounds), "", "wall", "CPU", "wall to ansible-runner")
	t.row("ansible-runner run", seconds(bare.median().wall), seconds(bare.median().cpu), "1.00")
	t.row("AnsibleRuns, from apply to Ready", seconds(ours.median().wall), seconds(ours.median().cpu), fmt.Sprintf("%.2f", ratio(ours, bare)))
	t.flush()
	got := ratio(ours, bare)
	_, _ = fmt.Fprintf(b.out, "At most %.1f times: %.2f, %s.\n", atMost, got, verdict(got <= atMost))
	return nil
}

// manyBare runs ansible-runner many times, some at the same time.
func (b *bench) manyBare(ctx context.Context, runs, workers int) (sample, error) {
	start := time.Now()
	total := sample{}
	mu := sync.Mutex{}

	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for range runs {
		g.Go(func() error {
			s, err := b.bareRunner(ctx)
			mu.Lock()
			defer mu.Unlock()
			total.cpu += s.cpu
			return err
		})
	}
	err := g.Wait()
	total.wall = time.Since(start)
	return total, err
}
