package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	clusterv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/cluster/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	namespacedv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
)

const (
	// config of all AnsibleRuns.
	config = "default"
	// size of the population, at most.
	size = 9
)

// An object is an AnsibleRun as it is wanted.
type object struct {
	uid        types.UID
	name       string
	namespaced bool
	policy     common.RunPolicy
	value      string
	former     string
	way        way
	deleted    bool
	gone       bool
}

// String as in messages.
func (o *object) String() string {
	group := "cluster"
	if o.namespaced {
		group = "namespaced"
	}

	return fmt.Sprintf("%s AnsibleRun %s (%s, uid %s)", group, o.name, o.policy, o.uid)
}

// A population of AnsibleRuns, as users want it.
type population struct {
	*stage

	mu      sync.Mutex
	rng     *rand.Rand
	objects []*object // In the order in which they were created.
	tokens  int
}

// configure makes the configurations of both groups.
func (p *population) configure(ctx context.Context) error {
	c := &clusterv1alpha1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: config}}
	n := &namespacedv1alpha1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: config, Namespace: namespace}}
	c.Spec.Execution, n.Spec.Execution = execution(), execution()

	return errors.Wrap(errors.Join(p.kube.Create(ctx, c), p.kube.Create(ctx, n)), "cannot make configurations")
}

// blank is an empty AnsibleRun with the name of the object.
func (o *object) blank() common.AnsibleRun {
	if o.namespaced {
		return &namespacedv1alpha1.AnsibleRun{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: o.name}}
	}

	return &clusterv1alpha1.AnsibleRun{ObjectMeta: metav1.ObjectMeta{Name: o.name}}
}

func (p *population) manifest(o *object) common.AnsibleRun {
	run := o.blank()

	switch r := run.(type) {
	case *namespacedv1alpha1.AnsibleRun:
		r.Spec.ProviderConfigReference = &xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: config}
	case *clusterv1alpha1.AnsibleRun:
		r.Spec.ProviderConfigReference = &xpv2.Reference{Name: config}
	}

	run.SetAnnotations(map[string]string{
		common.AnnotationRunPolicy:     string(o.policy),
		meta.AnnotationKeyPollInterval: "25s",
	})

	f := run.Parameters()
	f.Vars = p.vars(o)
	f.Timeout = &metav1.Duration{Duration: either(20*time.Second, 2*time.Minute)}

	if o.way.hopeless {
		f.RetryLimit = new(int32(2))
	}

	f.PlaybookInline = playbook

	return run
}

func (p *population) vars(o *object) *runtime.RawExtension {
	return &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"value":%q,"ledger":%q}`, o.value, p.ledger)}
}

// change the population at random.
func (p *population) change(ctx context.Context) error {
	live := p.live()

	switch n := p.roll(100); {
	case len(live) <= size/2 || n < 25 && len(live) < size:
		return p.create(ctx)
	case n < 60:
		return p.edit(ctx, p.pick(live))
	case n < 72:
		return p.delete(ctx, p.pick(live))
	case n < 84:
		return p.request(ctx, p.pick(live))
	default:
		p.book.Drift(string(p.pick(live).uid))

		return nil
	}
}

func (p *population) roll(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.rng.IntN(n)
}

func (p *population) pick(of []*object) *object { return of[p.roll(len(of))] }

// live returns the objects that are not deleted.
func (p *population) live() []*object {
	return p.those(func(o *object) bool { return !o.deleted })
}

// there returns all objects that are not gone.
func (p *population) there() []*object {
	return p.those(func(o *object) bool { return !o.gone })
}

func (p *population) those(is func(*object) bool) []*object {
	p.mu.Lock()
	defer p.mu.Unlock()

	return slices.DeleteFunc(slices.Clone(p.objects), func(o *object) bool { return !is(o) })
}

func (p *population) create(ctx context.Context) error {
	p.mu.Lock()
	number := len(p.objects) + 1
	o := &object{
		name:       fmt.Sprintf("run-%d", number),
		namespaced: p.rng.IntN(2) == 0,
		policy:     []common.RunPolicy{common.ObserveAndDelete, common.CheckWhenObserve, common.RunOnChange}[number%3],
		value:      "v0",
		way:        way{most: 600 * time.Millisecond},
	}
	switch n := p.rng.IntN(10); {
	case n < 2:
		o.way.least, o.way.most = 2*time.Second, 6*time.Second
	case n < 4:
		o.way.fails = 0.4
	case n < 5:
		o.way.hopeless = true
	}
	p.mu.Unlock()

	run := p.manifest(o)

	if err := p.try(ctx, func() error {
		err := p.kube.Create(ctx, run)
		if kerrors.IsAlreadyExists(err) {
			err = p.kube.Get(ctx, client.ObjectKeyFromObject(run), run)
		}

		return err
	}); err != nil {
		return errors.Wrapf(err, "cannot create %s", o.name)
	}

	o.uid = run.GetUID()
	p.director.behave(string(o.uid), o.way)
	p.book.Note(string(o.uid), "created", o)

	p.mu.Lock()
	p.objects = append(p.objects, o)
	p.mu.Unlock()

	return nil
}

// edit an object: it gets a new value, or its former one.
func (p *population) edit(ctx context.Context, o *object) error {
	p.mu.Lock()
	p.tokens++

	if p.rng.IntN(3) == 0 && o.former != "" {
		o.value, o.former = o.former, o.value
	} else {
		o.value, o.former = fmt.Sprintf("v%d", p.tokens), o.value
	}

	wanted := *o
	p.mu.Unlock()

	p.book.Note(string(o.uid), "edited", wanted.value)

	return p.update(ctx, o, func(run common.AnsibleRun) { run.Parameters().Vars = p.vars(&wanted) })
}

// request a run of an object.
func (p *population) request(ctx context.Context, o *object) error {
	p.mu.Lock()
	p.tokens++
	token := fmt.Sprintf("t%d", p.tokens)
	p.mu.Unlock()

	p.book.Note(string(o.uid), "requested", token)

	return p.update(ctx, o, func(run common.AnsibleRun) {
		meta.AddAnnotations(run, map[string]string{meta.AnnotationKeyReconcileRequestedAt: token})
	})
}

func (p *population) update(ctx context.Context, o *object, do func(common.AnsibleRun)) error {
	err := p.try(ctx, func() error {
		run := o.blank()
		if err := p.kube.Get(ctx, client.ObjectKeyFromObject(run), run); err != nil {
			return client.IgnoreNotFound(err)
		}

		was := run.DeepCopyObject().(client.Object)
		do(run)

		return client.IgnoreNotFound(p.kube.Patch(ctx, run, client.MergeFrom(was)))
	})

	return errors.Wrapf(err, "cannot change %s", o.name)
}

// delete an object, without waiting for its end.
func (p *population) delete(ctx context.Context, o *object) error {
	p.mu.Lock()
	o.deleted = true
	p.mu.Unlock()

	p.book.Deleted(string(o.uid))

	err := p.try(ctx, func() error { return client.IgnoreNotFound(p.kube.Delete(ctx, o.blank())) })

	return errors.Wrapf(err, "cannot delete %s", o.name)
}

// try again while the API server is down.
func (p *population) try(ctx context.Context, do func() error) error {
	return retry.OnError(wait.Backoff{Duration: 200 * time.Millisecond, Steps: 300},
		func(error) bool { return ctx.Err() == nil }, do)
}

// list all AnsibleRuns that there are, by their uids.
func (p *population) list(ctx context.Context) (map[types.UID]common.AnsibleRun, error) {
	n, c := &namespacedv1alpha1.AnsibleRunList{}, &clusterv1alpha1.AnsibleRunList{}
	if err := errors.Join(p.kube.List(ctx, n), p.kube.List(ctx, c)); err != nil {
		return nil, errors.Wrap(err, "cannot list AnsibleRuns")
	}

	out := map[types.UID]common.AnsibleRun{}
	for i := range n.Items {
		out[n.Items[i].UID] = &n.Items[i]
	}

	for i := range c.Items {
		out[c.Items[i].UID] = &c.Items[i]
	}

	return out, nil
}

// watch the objects until the context is done.
func (p *population) watch(ctx context.Context) {
	for ctx.Err() == nil {
		_ = p.look(ctx)

		select {
		case <-ctx.Done():
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// look at all objects once: the content of those that are gone must have been removed, and statuses must be true.
func (p *population) look(ctx context.Context) error {
	known := p.there()

	found, err := p.list(ctx)
	if err != nil {
		return err
	}

	for _, o := range known {
		run, ok := found[o.uid]
		if !ok {
			p.mu.Lock()
			o.gone = true
			p.mu.Unlock()
			p.book.Gone(string(o.uid))

			continue
		}

		p.checkStatus(run)
	}

	return nil
}
