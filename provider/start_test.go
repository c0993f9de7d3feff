package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/tools/leaderelection"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	namespacedv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/machine"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pool"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/telemetry"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// discovery has the resources that the manager discovers before it starts.
var discovery = map[string]any{
	"/api":  metav1.APIVersions{Versions: []string{"v1"}},
	"/apis": metav1.APIGroupList{Groups: []metav1.APIGroup{{Name: "apiextensions.k8s.io", Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "apiextensions.k8s.io/v1", Version: "v1"}}}}},
	"/api/v1": metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Name: "configmaps", Kind: "ConfigMap", Namespaced: true}, {Name: "secrets", Kind: "Secret", Namespaced: true},
	}},
	"/apis/apiextensions.k8s.io/v1": metav1.APIResourceList{GroupVersion: "apiextensions.k8s.io/v1", APIResources: []metav1.APIResource{
		{Name: "customresourcedefinitions", Kind: "CustomResourceDefinition"},
	}},
}

// An apiServer has one lease, until it does not answer any more.
type apiServer struct {
	*httptest.Server

	over  <-chan struct{}
	hangs atomic.Bool
	lease atomic.Pointer[coordinationv1.Lease]
	// given is called when the lease is released.
	given func()
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()

	s := &apiServer{over: t.Context().Done()}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)

	cfg := api.NewConfig()
	cfg.Clusters["test"] = &api.Cluster{Server: s.URL}
	cfg.Contexts["test"] = &api.Context{Cluster: "test"}
	cfg.CurrentContext = "test"

	file := filepath.Join(t.TempDir(), "kubeconfig")
	needs.OK(t, clientcmd.WriteToFile(*cfg, file))

	t.Setenv("KUBECONFIG", file)

	return s
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.hangs.Load() {
		<-s.over
		return
	}

	if r.Method != http.MethodGet {
		body, _ := io.ReadAll(r.Body)
		o, _, _ := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)

		l, ok := o.(*coordinationv1.Lease)
		if !ok {
			http.Error(w, "there are only leases", http.StatusBadRequest)
			return
		}

		if s.lease.Store(l); *l.Spec.HolderIdentity == "" {
			s.given()
		}
	}

	answer := discovery[r.URL.Path]
	if l := s.lease.Load(); answer == nil && l != nil {
		answer = l
	}

	if answer == nil {
		http.NotFound(w, r)
		return
	}

	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) //nolint:errchkjson // The client reports an error.
}

// untilCanceled executes a run until it is canceled.
func untilCanceled(ctx context.Context, r runs.Run, _ runs.Watch) runs.Report {
	<-ctx.Done()

	report := r.Report()
	report.Run.Phase = common.PhaseCanceled

	return report
}

// newRuns returns a pool with one run that ends when it is canceled and is never recorded, and a store.
func newRuns(t *testing.T) (*pool.Pool, *content.Store) {
	t.Helper()

	p := pool.New(map[common.Place]pool.Place{common.PlaceProvider: {Execute: untilCanceled, Runs: 1, PerTenant: 1}}, func() bool { return true },
		telemetry.NewObserver(logging.NewNopLogger(), event.NewNopRecorder(), nil))
	want := pool.Want{Run: &runs.Run{Spec: runner.Spec{ID: "run", Mode: common.ModeCheck}}, Wake: func(time.Duration) {}}
	r, _ := p.Want(want)
	want.Shown = &r.Run

	if _, begun := p.Want(want); !begun {
		t.Fatal("There should be a place for a run.")
	}

	s, err := content.NewStore(content.Config{Dir: t.TempDir()})
	needs.OK(t, err)

	return p, s
}

// TestServe ends a provider with an API server that does not answer any more.
func TestServe(t *testing.T) {
	kube := newAPIServer(t)
	c := &startCommand{
		ShutdownGracePeriod: 100 * time.Millisecond, Namespace: "crossplane-system", LeaderElection: true, MaxReconcileRate: 100,
		MetricsBindAddress: "0", HealthProbeBindAddress: "0",
	}

	mgr, _, err := c.manager()
	needs.OK(t, err)

	if got := mgr.GetConfig().Timeout; got != 0 {
		t.Errorf("Only requests for the lease should have a timeout, got %s", got)
	}

	runs, store := newRuns(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})

	go func() {
		defer close(ended)

		_ = c.serve(ctx, mgr, runs, store, logging.NewNopLogger()) // Its last requests hang, which is an error.
	}()

	select {
	case <-mgr.Elected():
	case <-ended:
		t.Fatal("The provider should lead, but it ended.")
	}

	kube.hangs.Store(true)
	stop()

	select {
	case <-ended:
	case <-time.After(c.ShutdownGracePeriod + 10*time.Second):
		t.Fatal("A provider that is told to stop should end ten seconds after its grace period at the latest.")
	}
}

// A loser is a manager that has lost its lease when it is stopped.
type loser struct {
	ctrl.Manager
}

var errLost = errors.New("leader election lost")

func (l *loser) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()

	<-ctx.Done()

	return errLost
}

// TestServeWithoutLease ends a provider that loses its lease while it waits for its
// runs, or for their results to be written.
func TestServeWithoutLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &startCommand{ShutdownGracePeriod: time.Hour}
		runs, store := newRuns(t)
		ctx, stop := context.WithCancel(t.Context())
		stop()

		start := time.Now()
		err := c.serve(ctx, &loser{}, runs, store, logging.NewNopLogger())

		if !errors.Is(err, errLost) {
			t.Errorf("want %q, got %v", errLost, err)
		}

		if took := time.Since(start); took > 2*time.Minute {
			t.Errorf("A provider that has lost its lease should not wait, it did for %s", took)
		}
	})
}

// TestCacheOptions tests that the cache strips managed fields, except those of Approvals.
func TestCacheOptions(t *testing.T) {
	applied := map[string]string{corev1.LastAppliedConfigAnnotation: "{}"}
	run := &namespacedv1alpha1.AnsibleRun{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Annotations: applied,
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate}},
	}}

	got, err := cacheOptions().DefaultTransform(run)
	needs.OK(t, err)

	// Nil, not empty: an empty list would reset the managed fields in the API server.
	want := &namespacedv1alpha1.AnsibleRun{ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: applied}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("The cache should strip managed fields: -want, +got:\n%s", diff)
	}

	approval := &namespacedv1alpha1.Approval{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}}}

	got, err = cacheOptions().DefaultTransform(approval.DeepCopy())
	needs.OK(t, err)

	if diff := cmp.Diff(approval, got); diff != "" {
		t.Errorf("The cache should keep the managed fields of an Approval: -want, +got:\n%s", diff)
	}
}

// TestTerm adds up the steps after a failed renewal.
func TestTerm(t *testing.T) {
	if took := renewPeriod + renewDeadline + 2*leaseRequest + stopGrace + machine.KillGrace; took >= leaseDuration {
		t.Errorf("All runs of a leader should have ended %s after the last renewal of its lease, not after %s", leaseDuration, took)
	}
}

// TestLeaseOutlivesRuns has a leader that releases its lease: when another
// process may acquire it, all runs have ended.
func TestLeaseOutlivesRuns(t *testing.T) {
	kube := newAPIServer(t)
	runs, store := newRuns(t)
	running := atomic.Int64{}
	running.Store(1)

	kube.given = func() { running.Store(int64(runs.Stats()[common.PlaceProvider].Running)) }

	l, err := newLease(&rest.Config{Host: kube.URL}, "crossplane-system")
	needs.OK(t, err)

	l.end = func() { endNow(runs, store) }

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: l, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: renewPeriod, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				if !l.leads() {
					t.Error("The process should lead.")
				}

				cancel()
			},
			OnStoppedLeading: func() {},
		},
	})

	if running.Load() != 0 || l.leads() {
		t.Errorf("Another process may lead: %d runs are in progress, and this one leads: %t", running.Load(), l.leads())
	}
}

// TestLeads suspends a process for so long that another one may lead.
func TestLeads(t *testing.T) {
	for renewed, want := range map[time.Duration]bool{time.Second: true, leaseDuration: false} {
		l := &lease{}
		l.renewed.Store(new(time.Now().Add(-renewed)))

		if got := l.leads(); got != want {
			t.Errorf("leads() %s after the lease was renewed: want %t, got %t", renewed, want, got)
		}
	}
}
