package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/fakenode"
)

// What is to be kept by runs in Pods.
const (
	// maxResidentPods is the memory of the provider with all the Pods, in bytes.
	maxResidentPods = 400 << 20
	// maxRequests of the provider to the API server for the first run of an object. A later one has two fewer.
	maxRequests = 11
	// maxToReady is the median time from the end of a run to Ready.
	maxToReady = 2 * time.Second
	// minRate of runs, per second.
	minRate = 20
	// maxBare is how many bare Pods are measured.
	maxBare = 3000
)

// A crush of runs in Pods.
type crush struct {
	runs, pods int
	duration   time.Duration
}

// manyPods measures the provider with runs in Pods that are scripts.
func (b *bench) manyPods(ctx context.Context, c *cli) error {
	var rows []figures
	for i, cr := range []crush{
		{c.Pods, c.Pods, c.PodDuration},
		{c.PodRuns, min(c.PodLimit, c.PodRuns), c.PodRunDuration},
	} {
		f, err := b.crush(ctx, c, fmt.Sprintf("crush-%d", i), cr)
		if err != nil {
			return errors.Wrapf(err, "%d runs", cr.runs)
		}
		rows = append(rows, f)
		// What the last ones leave goes with the control plane.
		if i == 0 {
			if err := errors.Join(b.deleted(ctx, "crush-0", cr.runs), b.removed(ctx)); err != nil {
				return err
			}
		}
	}
	t := newTable(b.out, "Runs in Pods that are scripts", "runs", "Pods at a time", "each takes", "all Ready after",
		"runs per second", "bare Pods",
		"requests per run", "CPU per run", "CPU per run, API server", "bare Pods", "resident before", "resident at most",
		"end to Ready, median", "at most", "reconciles per run", "load before", "load after")
	for _, f := range rows {
		n := float64(f.runs)
		t.row(f.runs, f.pods, f.duration, seconds(f.wall), fmt.Sprintf("%.1f", f.rate()), fmt.Sprintf("%.1f", f.bare.rate()),
			fmt.Sprintf("%.1f", f.requests.total()/n),
			fmt.Sprintf("%.1f ms", 1000*f.cpu.Seconds()/n), fmt.Sprintf("%.1f ms", 1000*f.server.Seconds()/n), fmt.Sprintf(
				"%.1f ms", 1000*f.bare.server.Seconds()/float64(f.bare.runs)), mebibytes(f.before), mebibytes(f.peak),
			seconds(median(f.toReady)), seconds(slices.Max(f.toReady)), fmt.Sprintf("%.1f",
				float64(f.reconciles)/n), f.loads[0], f.loads[1])
	}
	t.flush()
	for _, f := range rows {
		_, _ = fmt.Fprintf(b.out, "\nRequests of the provider, %d runs, per run:\n%s", f.runs, f.requests.perRun(f.runs))
	}
	at, after := rows[0], rows[1]
	_, _ = fmt.Fprintf(b.out,
		"\nAt most %s resident: %s. At most %d requests per run: %s. At most %s from end to Ready: %s. At least %d runs "+
			"per second: %s.\n",
		mebibytes(maxResidentPods), verdict(at.peak <= maxResidentPods), maxRequests, verdict(
			at.requests.total() <= maxRequests*float64(at.runs)),
		seconds(maxToReady), verdict(median(at.toReady) <= maxToReady), minRate, verdict(after.rate() >= minRate))
	return nil
}

// figures of a crush.
type figures struct {
	crush

	wall, cpu, server time.Duration
	// bare are as many bare Pods at a time.
	bare barePods
	// before and peak are resident memory of the provider, in bytes.
	before, peak int64
	toReady      []time.Duration
	reconciles   int
	requests     requests
	loads        [2]string
}

// barePods are Pods that no AnsibleRun is about.
type barePods struct {
	crush

	wall, server time.Duration
}

func (f figures) rate() float64   { return float64(f.runs) / f.wall.Seconds() }
func (j *barePods) rate() float64 { return float64(j.runs) / j.wall.Seconds() }

// crush the provider with runs.
func (b *bench) crush(ctx context.Context, c *cli, name string, cr crush) (figures, error) {
	f := figures{crush: cr}

	var mu sync.Mutex
	ended := map[string]time.Time{}
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	cfg, err := b.stack.Config()
	if err != nil {
		return f, err
	}
	nodes, err := fakenode.Start(ctx, cfg, cr.pods+cr.pods/4, fakenode.Script{
		Work: func(ctx context.Context, _ runner.Spec) (bool, error) { return false, sleep(ctx, cr.duration) },
		Ended: func(j runs.Run) {
			mu.Lock()
			defer mu.Unlock()
			ended[j.Object.Name] = time.Now()
		},
	})
	if err != nil {
		return f, err
	}
	defer func() { _ = nodes.Remove(context.WithoutCancel(ctx)) }()

	if err := b.restart(ctx, "--place=Pod", "--pod-image="+controlplane.ProviderImage,
		fmt.Sprintf("--max-concurrent-pods=%d", 2*cr.pods), // Half of them may be of one namespace.
		fmt.Sprintf("--max-reconcile-rate=%d", c.ReconcileRate)); err != nil {
		return f, err
	}
	cfgs := config(name)
	cfgs.Spec.Execution = &common.Execution{KeepFor: &metav1.Duration{Duration: c.KeepFor}}
	if err := b.create(ctx, cfgs); err != nil {
		return f, err
	}
	before, err := b.provider.Usage()
	if err != nil {
		return f, err
	}
	f.bare.crush = cr
	f.bare.runs = min(cr.runs, maxBare)
	if err := f.bare.measure(ctx, b, name, c.KeepFor); err != nil {
		return f, err
	}
	server, err := b.serverCPU(ctx)
	if err != nil {
		return f, err
	}
	f.before, f.loads[0] = before.Resident, load()
	asked, err := b.requests()
	if err != nil {
		return f, err
	}

	all := make([]*v1alpha1.AnsibleRun, cr.runs)
	for i := range all {
		all[i] = ansibleRun(fmt.Sprintf("%s-%d", name, i), work{playbook: playbook})
		all[i].Spec.ProviderConfigReference.Name = name
	}
	ready, wall, err := b.applied(ctx, all...)
	if err := errors.Join(err, nodes.Err()); err != nil {
		return f, err
	}
	f.wall, f.loads[1] = wall, load()
	// What is done after the runs is part of what they cost.
	if err := b.noneLeft(ctx, "Secret", client.HasLabels{"ansible.crossplane.io/run"}); err != nil {
		return f, err
	}
	after, err := b.provider.Usage()
	if err != nil {
		return f, err
	}
	f.cpu, f.peak = after.Self-before.Self, after.Peak
	cpu, err := b.serverCPU(ctx)
	if err != nil {
		return f, err
	}
	f.server = cpu - server
	if f.reconciles, err = b.reconciles(ctx); err != nil {
		return f, err
	}
	now, err := b.requests()
	if err != nil {
		return f, err
	}
	f.requests = now.since(asked)
	for n, t := range ready {
		f.toReady = append(f.toReady, t.Sub(ended[n]))
	}
	return f, nil
}

// measure Pods of the same duration, as many at a time, and each kept for as long: what the cluster would do without
// AnsibleRuns, which also have a Secret each.
func (j *barePods) measure(ctx context.Context, b *bench, name string, keep time.Duration) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	places := make(chan struct{}, j.pods)
	ended := map[string]bool{}
	done := make(chan struct{})
	err := b.watch(ctx, cancel, &corev1.Pod{}, func(v any) {
		o, ok := v.(*corev1.Pod)
		if !ok || o.Labels["bench"] != name || o.Status.Phase != corev1.PodSucceeded || ended[o.Name] {
			return
		}
		<-places
		time.AfterFunc(keep, func() { _ = b.kube.Delete(ctx, o.DeepCopy()) })
		if ended[o.Name] = true; len(ended) == j.runs {
			close(done)
		}
	})
	if err != nil {
		return err
	}
	server, err := b.serverCPU(ctx)
	if err != nil {
		return err
	}

	start := time.Now()
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(creators)
	for i := range j.runs {
		select {
		case places <- struct{}{}:
			g.Go(func() error { return b.create(gctx, barePod(fmt.Sprintf("%s-bare-%d", name, i), name)) })
		case <-gctx.Done():
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	select {
	case <-done:
	case <-ctx.Done():
		return errors.Wrap(context.Cause(ctx), "not all Pods ended in time")
	}
	j.wall = time.Since(start)
	if err := b.noneLeft(ctx, "Pod", client.MatchingLabels{"bench": name}); err != nil {
		return err
	}
	after, err := b.serverCPU(ctx)
	j.server = after - server
	return err
}

func barePod(name, label string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"bench": label}},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: new(false),
			RestartPolicy:                corev1.RestartPolicyNever,
			Containers:                   []corev1.Container{{Name: "run", Image: controlplane.ProviderImage}},
		},
	}
}

// deleted one by one: the API server would give up a request to delete thousands.
func (b *bench) deleted(ctx context.Context, name string, n int) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(creators)
	for i := range n {
		g.Go(func() error {
			return errors.Wrap(b.kube.Delete(ctx, ansibleRun(fmt.Sprintf("%s-%d", name, i), work{})), "cannot delete")
		})
	}
	return g.Wait()
}

func (b *bench) serverCPU(ctx context.Context) (time.Duration, error) {
	p, err := b.stack.APIServer(ctx)
	if err != nil {
		return 0, err
	}
	u, err := p.Usage()
	return u.Self, err
}

// watch what is measured, until the context is done. If the watch ends before, it cancels.
func (b *bench) watch(ctx context.Context, cancel context.CancelCauseFunc, o client.Object, look func(any)) error {
	rest, err := b.stack.Config()
	if err != nil {
		return err
	}
	seen, err := cache.New(rest,
		cache.Options{Scheme: b.kube.Scheme(), DefaultNamespaces: map[string]cache.Config{namespace: {}}})
	if err != nil {
		return errors.Wrap(err, "cannot watch")
	}
	informer, err := seen.GetInformer(ctx, o, cache.BlockUntilSynced(false))
	if err != nil {
		return errors.Wrap(err, "cannot watch")
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    look,
		UpdateFunc: func(_, v any) { look(v) },
	}); err != nil {
		return errors.Wrap(err, "cannot watch")
	}
	go func() { cancel(seen.Start(ctx)) }()
	seen.WaitForCacheSync(ctx)
	return nil
}

// noneLeft waits until there are no such objects any more.
func (b *bench) noneLeft(ctx context.Context, kind string, which client.ListOption) error {
	for {
		l := &metav1.PartialObjectMetadataList{}
		l.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind + "List"))
		if err := b.kube.List(ctx, l, client.InNamespace(namespace), which); err != nil {
			return errors.Wrap(err, "cannot list")
		}
		if len(l.Items) == 0 {
			return nil
		}
		if err := sleep(ctx, time.Second); err != nil {
			return errors.Wrapf(err, "%d are left of kind %s", len(l.Items), kind)
		}
	}
}

// requests of the provider that have ended, by what they were.
type requests map[string]int

// requests so far.
func (b *bench) requests() (requests, error) {
	f, err := os.Open(b.stack.Audit())
	if err != nil {
		return nil, errors.Wrap(err, "cannot count requests")
	}
	defer f.Close() //nolint:errcheck // It was only read.

	all := requests{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		e := auditv1.Event{}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, errors.Wrap(err, "cannot count requests")
		}
		what := e.RequestURI
		if o := e.ObjectRef; o != nil {
			what = strings.TrimSuffix(o.Resource+"/"+o.Subresource, "/")
		}
		if e.ResponseStatus != nil && e.ResponseStatus.Code >= 400 {
			what += fmt.Sprintf(" (%d)", e.ResponseStatus.Code)
		}
		all[e.Verb+" "+what]++
	}
	return all, errors.Wrap(lines.Err(), "cannot count requests")
}

func (r requests) since(was requests) requests {
	now := maps.Clone(r)
	for k, n := range was {
		now[k] -= n
	}
	maps.DeleteFunc(now, func(_ string, n int) bool { return n == 0 })
	return now
}

func (r requests) total() float64 {
	sum := 0
	for _, n := range r {
		sum += n
	}
	return float64(sum)
}

// perRun is a list, the most frequent first, of those that more than one in a hundred runs had.
func (r requests) perRun(runs int) string {
	s := &strings.Builder{}
	for _, k := range slices.SortedFunc(maps.Keys(r),
		func(a, b string) int { return cmp.Or(r[b]-r[a], strings.Compare(a, b)) }) {
		if n := float64(r[k]) / float64(runs); n >= 0.01 {
			fmt.Fprintf(s, "%7.2f  %s\n", n, k)
		}
	}
	return s.String()
}

// load of the machine, in the last minute.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
