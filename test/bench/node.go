package main

import (
	"context"
	"fmt"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
)

// What a run may take more in a Pod than in the provider.
const (
	// maxPodWall is time, per run.
	maxPodWall = 4 * time.Second
	// maxPodCPU is CPU time of the provider itself and the API server, per run.
	maxPodCPU = 300 * time.Millisecond
)

// onNode measures the same runs in Pods on a node and in the provider.
func (b *bench) onNode(ctx context.Context, c *cli) error {
	if err := b.stack.ImportProvider(ctx); err != nil {
		return err
	}
	w := debug(c)
	here, err := b.placed(ctx, w, "provider", c.Runs)
	if err != nil {
		return err
	}
	away, err := b.placed(ctx, w, "pod", c.Runs, "--place=Pod", "--pod-image="+controlplane.ProviderImage)
	if err != nil {
		return err
	}

	t := newTable(b.out, fmt.Sprintf("Runs of %s, on one node", w.name), "", "one run, median",
		fmt.Sprintf("%d runs at once", c.Runs), "per run", "CPU per run, provider and API server")
	for _, row := range []struct {
		name string
		placement
	}{{"in the provider", here}, {"in Pods", away}} {
		t.row(row.name, seconds(row.single), seconds(row.many), seconds(row.many/time.Duration(c.Runs)),
			fmt.Sprintf("%.0f ms", 1000*row.cpu.Seconds()))
	}
	t.flush()

	one, each := away.single-here.single, (away.many-here.many)/time.Duration(c.Runs)
	_, _ = fmt.Fprintf(b.out,
		"A Pod takes %s more for one run, and %s for each of many; at most %s: %s. It takes %.0f ms more CPU, at most "+
			"%.0f: %s.\n",
		seconds(one), seconds(each), seconds(maxPodWall), verdict(max(one, each) <= maxPodWall),
		1000*(away.cpu-here.cpu).Seconds(), 1000*maxPodCPU.Seconds(), verdict(away.cpu-here.cpu <= maxPodCPU))
	return nil
}

// A placement is what runs took in one place.
type placement struct {
	// single run, and many at once, from apply to Ready.
	single, many time.Duration
	// cpu of the provider itself and the API server for each of many.
	cpu time.Duration
}

// placed measures runs of a provider with flags.
func (b *bench) placed(ctx context.Context, w work, name string, n int, flags ...string) (p placement, err error) {
	if err := b.restart(ctx, flags...); err != nil {
		return p, err
	}

	var single []time.Duration
	for i := range w.repeat + 1 {
		s, err := b.run(ctx, w)
		if err != nil {
			return p, err
		}
		if i > 0 { // The first one warms up.
			single = append(single, s.wall)
		}
	}
	p.single = median(single)

	before, err := b.managing(ctx)
	if err != nil {
		return p, err
	}
	s, _, err := b.many(ctx, w, name, n)
	if err != nil {
		return p, err
	}
	after, err := b.managing(ctx)
	p.many, p.cpu = s.wall, (after-before)/time.Duration(n)
	return p, err
}

// managing is the CPU time of the provider without what it has started, and of the API server.
func (b *bench) managing(ctx context.Context) (time.Duration, error) {
	u, err := b.provider.Usage()
	if err != nil {
		return 0, err
	}
	server, err := b.serverCPU(ctx)
	return u.Self + server, err
}
