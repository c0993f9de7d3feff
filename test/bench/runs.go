package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
)

const (
	// atMost is the ratio of runs that start cold to bare ansible-runner that is to be kept.
	atMost = 1.1
	// fleet of objects that are applied every fleetPeriod on fleetCores. They are to take half of these.
	fleet       = 1000
	fleetPeriod = 10 * time.Minute
	fleetCores  = 2
)

// How runs start.
const (
	warm = "warm"
	cold = "cold"
)

// A work is a playbook that is measured, bare and as an AnsibleRun.
type work struct {
	name, playbook string
	// inventory in INI; empty for localhost.
	inventory string
	// repeat is how often it is measured.
	repeat int
	// wall and cpu are the ratios to ansible-playbook that warm runs are to keep; zero for none.
	wall, cpu float64
	// env of the AnsibleRun.
	env []common.EnvVar
}

// cold is the work with a setting that Ansible reads while it is imported, so that its runs start cold.
func (w work) cold() work {
	w.env = []common.EnvVar{{Name: "ANSIBLE_COLOR_OK", Value: new("blue")}}

	return w
}

// debug is the least that a playbook does.
func debug(c *cli) work {
	return work{
		name:     "a debug",
		playbook: "- hosts: localhost\n  gather_facts: false\n  tasks:\n  - ansible.builtin.debug: {msg: Hello}\n",
		repeat:   c.Repeat, wall: 0.3, cpu: 0.2,
	}
}

// little is a bit of what playbooks do.
func little(c *cli) work {
	return work{name: "three tasks, two modules on localhost", playbook: playbook, repeat: c.Repeat, wall: 0.55}
}

// remote has 20 tasks over ssh.
func (b *bench) remote(c *cli) work {
	tasks := strings.Repeat(
		"  - ansible.builtin.command: \"true\"\n  - ansible.builtin.stat: {path: /etc}\n  - ansible.builtin.debug: {msg: "+
			"Hello}\n"+
			"  - ansible.builtin.file: {path: \"{{ ansible_env.HOME | default('/tmp') }}\", state: directory}\n", 5)

	return work{
		name: "20 tasks, 15 modules over ssh", repeat: max(c.Repeat/3, 1), wall: 0.85,
		playbook: "- hosts: all\n  gather_facts: false\n  tasks:\n" + tasks,
		inventory: fmt.Sprintf("target ansible_host=%s ansible_port=%d ansible_user=%s ansible_ssh_private_key_file=%s "+
			"ansible_ssh_common_args='-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null'\n", b.sshd.Host, b.sshd.Port,
			b.sshd.User, b.sshd.KeyFile()),
	}
}

// single measures one run at a time.
func (b *bench) single(ctx context.Context, c *cli) error {
	for _, w := range []work{debug(c), little(c), b.remote(c)} {
		if err := b.starts(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// starts of a work, warm and cold, beside the bare tools.
func (b *bench) starts(ctx context.Context, w work) error {
	if err := b.restart(ctx); err != nil {
		return err
	}
	if err := b.warmUp(ctx, w); err != nil {
		return err
	}
	forked, err := b.beside(ctx, w)
	if err != nil {
		return err
	}
	started, err := b.beside(ctx, w.cold())
	if err != nil {
		return err
	}

	t := newTable(b.out, fmt.Sprintf("One run of %s, medians of %d; ratios pair by pair", w.name, w.repeat),
		"", "wall", "CPU", "wall to ansible-playbook", "CPU", "wall to ansible-runner")
	for _, row := range []struct {
		name string
		all  samples
		bare besides
	}{{"ansible-playbook", forked.play, forked}, {
		"ansible-runner run", forked.runner,
		forked,
	}, {"AnsibleRun that starts warm, from apply to Ready", forked.run, forked}, {
		"AnsibleRun that starts cold", started.run, started,
	}} {
		m := row.all.median()
		t.row(row.name, seconds(m.wall), seconds(m.cpu), fmt.Sprintf("%.2f", ratio(row.all, row.bare.play)),
			fmt.Sprintf("%.2f", cpuRatio(row.all, row.bare.play)), fmt.Sprintf("%.2f", ratio(row.all, row.bare.runner)))
	}
	t.flush()
	b.judge("Warm, at most %.2f times ansible-playbook", w.wall, ratio(forked.run, forked.play))
	if w.cpu > 0 {
		b.judge("Warm, at most %.2f times its CPU", w.cpu, cpuRatio(forked.run, forked.play))
	}
	b.judge("Cold, at most %.2f times ansible-runner", atMost, ratio(started.run, started.runner))
	_, _ = fmt.Fprintf(b.out,
		"%d of them every %s, by this CPU time: %.0f %% of %d cores. (CPU is that of the provider and all it starts.)\n",
		fleet, fleetPeriod, 100*fleet*forked.run.median().cpu.Seconds()/fleetPeriod.Seconds()/fleetCores, fleetCores)
	return b.removed(ctx)
}

// judge a figure.
func (b *bench) judge(what string, limit, got float64) {
	_, _ = fmt.Fprintf(b.out, what+": %.2f, %s.\n", limit, got, verdict(got <= limit))
}

// besides are samples that were taken in turns.
type besides struct{ play, runner, run samples }

// beside measures a work in turns with the bare tools.
func (b *bench) beside(ctx context.Context, w work) (besides, error) {
	s := besides{}

	// The first round warms up: files are read, Python compiles.
	for i := range w.repeat + 1 {
		p, err := b.bare(ctx, w, barePlaybook)
		if err != nil {
			return s, err
		}
		r, err := b.bare(ctx, w, bareRunner)
		if err != nil {
			return s, err
		}
		a, err := b.run(ctx, w)
		if err != nil {
			return s, err
		}
		if i > 0 {
			s.play, s.runner, s.run = append(s.play, p), append(s.runner, r), append(s.run, a)
		}
	}
	return s, nil
}

// warmUp runs a work until its runs start warm, and waits until nothing is left but the process that they
// start from: another one builds modules at first.
func (b *bench) warmUp(ctx context.Context, w work) error {
	for {
		if _, err := b.run(ctx, w); err != nil {
			return err
		}
		if n, err := b.metric(ctx, `provider_ansible_starts_total{reason="",start="warm"`); err == nil && n > 0 {
			break
		}
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	for {
		if n, _, err := b.provider.Descendants(); err != nil || n == 1 {
			return err
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// run an AnsibleRun, and measure the provider while it does.
func (b *bench) run(ctx context.Context, w work) (sample, error) {
	before, err := b.provider.Usage()
	if err != nil {
		return sample{}, err
	}
	b.count++
	wall, err := b.applied(ctx, ansibleRun(fmt.Sprintf("run-%d", b.count), w))
	if err != nil {
		return sample{}, err
	}
	after, err := b.provider.Usage()
	return sample{wall: wall, cpu: after.CPU - before.CPU}, err
}

// What the process that runs start from may take, and each run more, in MiB.
const (
	idleMemory = 60
	runMemory  = 40
)

// throughput of many runs at once.
func (b *bench) throughput(ctx context.Context, c *cli) error {
	w := debug(c)
	var bare samples
	ours, most := map[string]samples{}, map[string]uint64{}
	var idle uint64

	for round := range c.Rounds {
		s, err := b.manyBare(ctx, w, c.Runs, c.Workers)
		if err != nil {
			return err
		}
		bare = append(bare, s)
		for start, w := range map[string]work{warm: w, cold: w.cold()} {
			if err := b.restart(ctx, fmt.Sprintf("--max-concurrent-runs=%d", c.Workers)); err != nil {
				return err
			}
			if start == warm {
				if err := b.warmUp(ctx, w); err != nil {
					return err
				}
				if _, idle, err = b.provider.Descendants(); err != nil {
					return err
				}
			}
			s, peak, err := b.many(ctx, w, fmt.Sprintf("%s-%d", start, round), c.Runs)
			if err != nil {
				return err
			}
			ours[start] = append(ours[start], s)
			most[start] = max(most[start], peak)
		}
	}
	b.tellMany(c, w, bare, ours)
	each := (max(most[warm], idle) - idle) / uint64(c.Workers) //nolint:gosec // It is positive.
	_, _ = fmt.Fprintf(b.out,
		"What the provider has started takes %s when nothing runs, at most %d: %s. Each run takes at most %s more, at most "+
			"%d: %s.\n",
		mebibytes(idle), idleMemory, verdict(idle <= idleMemory<<20), mebibytes(each), runMemory, verdict(
			each <= runMemory<<20))
	return nil
}

// tellMany tells how long many runs took, beside bare tools.
func (b *bench) tellMany(c *cli, w work, bare samples, ours map[string]samples) {
	t := newTable(b.out, fmt.Sprintf("%d runs of %s, %d at a time, medians of %d rounds", c.Runs, w.name, c.Workers,
		c.Rounds), "", "wall", "CPU", "wall to ansible-runner")
	t.row("ansible-runner run", seconds(bare.median().wall), seconds(bare.median().cpu), "1.00")
	for _, start := range []string{warm, cold} {
		m := ours[start].median()
		t.row("AnsibleRuns that start "+start+", from apply to Ready", seconds(m.wall), seconds(m.cpu),
			fmt.Sprintf("%.2f", ratio(ours[start], bare)))
	}
	t.flush()
	b.judge("Cold, at most %.2f times ansible-runner", atMost, ratio(ours[cold], bare))
}

// many AnsibleRuns at once. The peak is the memory of what the provider has started.
func (b *bench) many(ctx context.Context, w work, name string, n int) (s sample, peak uint64, err error) {
	var runs []*v1alpha1.AnsibleRun
	for i := range n {
		runs = append(runs, ansibleRun(fmt.Sprintf("many-%s-%d", name, i), w))
	}
	before, err := b.provider.Usage()
	if err != nil {
		return s, 0, err
	}

	watching, stop := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for sleep(watching, 100*time.Millisecond) == nil {
			if _, n, err := b.provider.Descendants(); err == nil {
				peak = max(peak, n)
			}
		}
	})
	wall, err := b.applied(ctx, runs...)
	stop()
	watcher.Wait()
	if err != nil {
		return s, 0, err
	}

	after, err := b.provider.Usage()
	if err != nil {
		return s, 0, err
	}
	return sample{wall, after.CPU - before.CPU}, peak, b.removed(ctx)
}

// manyBare runs ansible-runner many times, some at the same time.
func (b *bench) manyBare(ctx context.Context, w work, runs, workers int) (sample, error) {
	start := time.Now()
	total := sample{}
	mu := sync.Mutex{}

	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for range runs {
		g.Go(func() error {
			s, err := b.bare(ctx, w, bareRunner)
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
