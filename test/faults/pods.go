package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/test/faults/ledger"
)

// hits are faults of the Pod of a run in progress. They may interrupt this run, and no other one.
func (d *drive) hits() []fault {
	var out []fault

	for _, h := range []struct {
		name  string
		where place
		do    func(context.Context, *corev1.Pod) error
	}{
		{"Pod deleted", inPods, func(ctx context.Context, p *corev1.Pod) error { return d.kube.Delete(ctx, p) }},
		// A node may learn of it after the next run of the object has begun.
		{"Pod deleted by force", onScripts, func(ctx context.Context, p *corev1.Pod) error {
			return d.kube.Delete(ctx, p, client.GracePeriodSeconds(0))
		}},
		{"Pod evicted", inPods, func(ctx context.Context, p *corev1.Pod) error {
			return d.kube.SubResource("eviction").Create(ctx, p,
				&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}})
		}},
		{
			"containerd-shim killed", onNode,
			func(_ context.Context, p *corev1.Pod) error { return d.stack.KillShim(string(p.UID)) },
		},
		{"node gone until its Pods are evicted", onNode, d.lose},
	} {
		out = append(out,
			fault{h.name, func(ctx context.Context) (string, error) { return d.hit(ctx, h.name, h.do) }, h.where})
	}

	return append(out, fault{"kubelet killed and started again", func(ctx context.Context) (string, error) {
		k, err := d.stack.Kubelet(ctx)
		if err != nil {
			return "", err
		}

		return "", errors.Join(k.Kill(ctx), k.Start(ctx))
	}, onNode})
}

// lose the node of a Pod, and with it all others on it, until the cluster has told the Pod to end.
func (d *drive) lose(ctx context.Context, p *corev1.Pod) error {
	k, err := d.stack.Kubelet(ctx)
	if err != nil {
		return err
	}

	if err := k.Stop(ctx); err != nil {
		return err
	}

	l := &corev1.PodList{}
	if err := d.population.try(ctx, func() error { return d.kube.List(ctx, l, client.HasLabels{labelRun}) }); err != nil {
		return err
	}

	for _, o := range l.Items {
		d.book.Strike(ledger.Run{UID: o.Labels["ansible.crossplane.io/uid"], ID: o.Labels[labelRun]}, "node gone")
	}

	told := d.eventually(ctx, 3*time.Minute, func() bool {
		return d.kube.Get(ctx, client.ObjectKeyFromObject(p), p) != nil || p.DeletionTimestamp != nil
	})
	if !told {
		d.book.Breach(p.Labels["ansible.crossplane.io/uid"], "the Pods of a node that is gone are evicted",
			p.Name+" was not, after 3 minutes")
	}

	// Also when the time is over: there would be no node.
	return k.Start(context.WithoutCancel(ctx))
}

// hit the Pod of a run while its play works.
func (d *drive) hit(ctx context.Context, name string, do func(context.Context, *corev1.Pod) error) (string, error) {
	var (
		run ledger.Run
		pod *corev1.Pod
	)

	if !d.eventually(ctx, maxWait, func() bool { run, pod = d.working(ctx); return pod != nil }) {
		return "", errMissed
	}

	d.book.Strike(run, name)

	err := d.population.try(ctx, func() error { return client.IgnoreNotFound(do(ctx, pod)) })

	return "run " + run.ID, err
}

// working is a run that works, and its Pod; nil if there is none.
func (d *drive) working(ctx context.Context) (ledger.Run, *corev1.Pod) {
	all := slices.DeleteFunc(d.book.Runs(),
		func(r ledger.Run) bool { return r.Outcome != ledger.Working || d.book.Struck(r.ID) })
	if len(all) == 0 {
		return ledger.Run{}, nil
	}

	run := all[d.roll(len(all))]

	l := &corev1.PodList{}
	if err := d.kube.List(ctx, l, client.MatchingLabels{labelRun: run.ID}); err != nil || len(l.Items) == 0 {
		return run, nil
	}

	return run, &l.Items[0]
}

// work of a run in a Pod that is a script. It says what the plays of other runs say.
func (s *stage) work(ctx context.Context, r runner.Spec) (changed bool, err error) {
	vars := struct {
		Value string `json:"value"`
	}{}
	if err := json.Unmarshal(r.Inputs.Parameters.Vars.Raw, &vars); err != nil {
		return false, errors.Wrap(err, "cannot read the variables")
	}

	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.ledger.Address())
	if err != nil {
		return false, errors.Wrap(err, "cannot reach the ledger")
	}
	defer c.Close() //nolint:errcheck // All was said.
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()

	lines := bufio.NewScanner(c)
	hear := func() (string, error) {
		if !lines.Scan() {
			return "", errors.New("the ledger has hung up")
		}

		return lines.Text(), nil
	}

	_, _ = fmt.Fprintln(c, "begin", r.Object.UID, r.ID, r.Mode, r.State, r.Object.Generation, vars.Value, 0)

	told, err := hear()
	if err != nil {
		return false, err
	}

	how, what, _ := strings.Cut(told, " ")
	if how == "fail" {
		_, _ = fmt.Fprintln(c, ledger.Failed)
		_, _ = hear()

		return false, errors.New("it was to fail")
	}

	_, _ = fmt.Fprintln(c, ledger.Done)
	_, err = hear()

	return what == "differs", err
}
