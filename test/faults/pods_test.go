package faults

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/test/faults/ledger"
)

// hits are faults of the Pod of a run in progress. They may interrupt only this run.
func (d *drive) hits() []fault {
	var out []fault

	for _, h := range []struct {
		name string
		do   func(context.Context, *corev1.Pod) error
	}{
		{"Pod deleted", func(ctx context.Context, p *corev1.Pod) error { return d.kube.Delete(ctx, p) }},
		{"Pod evicted", func(ctx context.Context, p *corev1.Pod) error {
			return d.kube.SubResource("eviction").Create(ctx, p,
				&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}})
		}},
	} {
		out = append(out, fault{h.name, func(ctx context.Context) (string, error) { return d.hit(ctx, h.name, h.do) }})
	}

	return append(out, fault{"kubelet killed and started again", func(ctx context.Context) (string, error) {
		k, err := stack.Kubelet(ctx)
		if err != nil {
			return "", err
		}

		return "", errors.Join(k.Kill(ctx), k.Start(ctx))
	}})
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

// working is a run in progress, and its Pod; nil if there is none.
func (d *drive) working(ctx context.Context) (ledger.Run, *corev1.Pod) {
	all := slices.DeleteFunc(d.book.Runs(),
		func(r ledger.Run) bool { return r.Outcome != ledger.Working || r.Struck })
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
