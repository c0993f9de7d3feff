package controller

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	rfake "github.com/crossplane/crossplane-runtime/v2/pkg/resource/fake"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/dependents"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// A made AnsibleRun has had a run that has made ConfigMaps in a real API server.
type made struct {
	*testing.B

	kube     client.Client
	metadata metadata.Interface
	watcher  *dependents.Watcher
	pool     *steps
	runtime  reconcile.Reconciler
	run      *v1alpha1.AnsibleRun
	// count of the ConfigMaps.
	count int64
	// opened has a value for each watch that has begun.
	opened <-chan struct{}
}

// BenchmarkDependents measures a reconcile at rest, and the survey at the end of a run, of AnsibleRuns without
// dependents and with 1,000. Of the latter it also measures the time from a change to the wake of the AnsibleRun, in
// which the watcher waits a second for other changes, and the memory of a watch. The API server is real. The survey is
// also what the start of a watch costs.
//
//	KUBEBUILDER_ASSETS=$PWD/.cache/bin go test ./provider/controller -run=^$ -bench=Dependents
func BenchmarkDependents(b *testing.B) {
	needs.APIServer(b)

	env := &envtest.Environment{CRDDirectoryPaths: []string{"../../package-provider/crds"}}

	cfg, err := env.Start()
	if err != nil {
		b.Fatal(err)
	}

	b.Cleanup(func() {
		if err := env.Stop(); err != nil {
			b.Error(err)
		}
	})

	// The API server says when it is too much.
	cfg.QPS = -1

	opened := make(chan struct{}, 1)
	cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return watching{rt, opened} })

	s := kruntime.NewScheme()
	for _, add := range []func(*kruntime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(s); err != nil {
			b.Fatal(err)
		}
	}

	kube, err := client.New(cfg, client.Options{Scheme: s})
	if err != nil {
		b.Fatal(err)
	}

	meta, err := metadata.NewForConfig(cfg)
	if err != nil {
		b.Fatal(err)
	}

	for _, n := range []int{0, 1000} {
		m := newMade(b, kube, meta, n)
		m.opened = opened

		b.Run(fmt.Sprintf("Reconcile/%d", n), func(b *testing.B) {
			for b.Loop() {
				m.reconcile()
			}
		})

		b.Run(fmt.Sprintf("Survey/%d", n), func(b *testing.B) {
			for b.Loop() {
				m.survey()
			}
		})

		if n == 0 {
			continue
		}

		// The watch that the reconcile has opened is the first.
		<-opened

		b.Run(fmt.Sprintf("Drift/%d", n), m.drift)
		b.Run(fmt.Sprintf("Memory/%d", n), m.memory)
	}
}

// watching tells when the API server has begun a watch.
type watching struct {
	http.RoundTripper

	opened chan<- struct{}
}

// RoundTrip sends a request.
func (w watching) RoundTrip(r *http.Request) (*http.Response, error) {
	rsp, err := w.RoundTripper.RoundTrip(r)

	if err == nil && r.URL.Query().Get("watch") == "true" {
		w.opened <- struct{}{}
	}

	return rsp, err
}

// drift is how long it takes from the change of a dependent until the AnsibleRun is woken.
func (m *made) drift(b *testing.B) {
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: m.run.Namespace, Name: m.run.Name + "-0"}}
	woken := make(chan struct{})

	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		stop := m.watch(b, func() { woken <- struct{}{} })
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"data":{"drift":"%d"}}`, i))
		b.StartTimer()

		if err := m.kube.Patch(b.Context(), o, patch); err != nil {
			b.Fatal(err)
		}

		<-woken
		stop()
	}
}

// memory of a watch.
func (m *made) memory(b *testing.B) {
	heap := func() uint64 {
		s := runtime.MemStats{}

		runtime.GC()
		runtime.ReadMemStats(&s)

		return s.HeapAlloc
	}

	before := heap()

	for b.Loop() {
		b.Cleanup(m.watch(b, func() {}))
	}

	b.ReportMetric(float64(heap()-before)/float64(b.N), "watch-B/op")
}

// watch the dependents, from a survey on, until stop is called.
func (m *made) watch(b *testing.B, wake func()) (stop func()) {
	b.Helper()

	ctx, stop := context.WithCancel(b.Context())
	w := dependents.New(ctx, func(inputs.Kubernetes) (metadata.Interface, error) { return m.metadata, nil })
	w.Watch(dependents.Subject{UID: m.run.UID, Kinds: m.survey()}, wake)
	<-m.opened

	return stop
}

// newMade is at rest after a run that has made so many ConfigMaps.
func newMade(b *testing.B, kube client.Client, meta metadata.Interface, n int) *made {
	b.Helper()

	m := &made{B: b, kube: kube, metadata: meta, run: &v1alpha1.AnsibleRun{}, pool: &steps{now: time.Now}, count: int64(n)}
	m.watcher = dependents.New(b.Context(), func(inputs.Kubernetes) (metadata.Interface, error) { return meta, nil })

	m.run.Namespace, m.run.Name = metav1.NamespaceDefault, "made-"+strconv.Itoa(n)
	m.run.Spec.ProviderConfigReference = &xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: "default"}
	m.run.Spec.ForProvider.PlaybookInline = "[]"

	if err := kube.Create(b.Context(), m.run); err != nil {
		b.Fatal(err)
	}

	for i := range n {
		o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: m.run.Namespace, Name: m.run.Name + "-" + strconv.Itoa(i), Labels: map[string]string{dependents.Label(m.run.UID): "true"},
		}}
		if err := kube.Create(b.Context(), o); err != nil {
			b.Fatal(err)
		}
	}

	c := newConnector(m.pool, func(c *connector) {
		c.resolver, c.dependents, c.secrets, c.now = m, m.watcher, secrets{kube: kube, cached: kube}, time.Now
		c.schedule = newSchedule(time.Hour, time.Second)
	})
	o := Options{Options: controller.Options{Logger: logging.NewNopLogger(), PollInterval: time.Hour}}
	m.runtime = managed.NewReconciler(&rfake.Manager{Client: kube, Scheme: kube.Scheme()}, resource.ManagedKind(c.kind), options(kube, "test", c, c.schedule, o)...)

	m.settle()

	return m
}

// Resolve to inputs with dependents that are watched.
func (m *made) Resolve(_ context.Context, run common.AnsibleRun) (inputs.Inputs, error) {
	return inputs.Inputs{Parameters: *run.Parameters(), Kubernetes: &inputs.Kubernetes{Namespace: metav1.NamespaceDefault, ServiceAccount: "deployer", WatchDependents: true}}, nil
}

func (m *made) PodNamespace(context.Context, common.AnsibleRun) (string, error) { return "", nil }

// settle the AnsibleRun: its one run succeeds.
func (m *made) settle() {
	m.Helper()

	for range 30 {
		m.reconcile()

		if m.observe(); m.run.Status.AtProvider.AppliedDigest != "" && m.pool.report == nil {
			m.watched()

			return
		}

		switch {
		case m.pool.queued:
			m.pool.announce()
		case m.pool.report == nil:
		case m.pool.began():
			m.pool.report.Untouched = false
			m.pool.report.Dependents = m.survey()
			m.pool.end(common.PhaseSucceeded)
		default:
			m.pool.begin()
		}
	}

	m.Fatalf("the AnsibleRun is not at rest: %+v", m.run.Status)
}

func (m *made) reconcile() {
	m.Helper()

	if _, err := m.runtime.Reconcile(m.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(m.run)}); err != nil {
		m.Fatal(err)
	}
}

// watched fails unless a reconcile has begun to watch the dependents.
func (m *made) watched() {
	m.Helper()
	m.reconcile()
	m.observe()

	if got := len(m.run.Status.AtProvider.Dependents) > 0; got != (m.count > 0) {
		m.Fatalf("want %d dependents, got %+v", m.count, m.run.Status.AtProvider.Dependents)
	}
}

func (m *made) observe() {
	m.Helper()

	if err := m.kube.Get(m.Context(), client.ObjectKeyFromObject(m.run), m.run); err != nil {
		m.Fatal(err)
	}
}

// survey what the run has made, as at its end.
func (m *made) survey() []common.DependentKind {
	m.Helper()

	kinds := []common.DependentKind{{APIVersion: "v1", Kind: "ConfigMap", Resource: "configmaps", Namespace: m.run.Namespace}}
	run := dependents.Run{
		UID:     m.run.UID,
		Watched: func(common.DependentKind) bool { return true },
		Deleted: func(common.DependentKind, string) bool { return false },
	}

	got := dependents.Survey(m.Context(), m.metadata, run, kinds)

	if (len(got) > 0) != (m.count > 0) {
		m.Fatalf("want %d dependents, got %+v", m.count, got)
	}

	return got
}
