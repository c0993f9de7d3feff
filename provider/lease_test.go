package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestLeaseOutlivesRuns has a leader release its lease: by the time that another
// process may take it, nothing is running any more.
func TestLeaseOutlivesRuns(t *testing.T) {
	kube := newAPIServer(t)
	runs, store := newRuns(t), newStore(t)
	free := make(chan int, 1)

	// What is running when the lease becomes free.
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		running := runs.Stats()[common.PlaceProvider].Running
		kube.ServeHTTP(w, r)

		if l := kube.lease.Load(); l != nil && l.Spec.HolderIdentity != nil && *l.Spec.HolderIdentity == "" {
			free <- running
		}
	}))
	t.Cleanup(front.Close)

	l, err := newLease(&rest.Config{Host: front.URL}, "crossplane-system")
	needs.OK(t, err)

	l.end = func() { endNow(runs, store) }

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	go leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: l, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: renewPeriod, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				if !l.leads() {
					t.Error("It should lead.")
				}

				cancel()
			},
			OnStoppedLeading: func() {},
		},
	})

	select {
	case running := <-free:
		if running != 0 {
			t.Errorf("Another one may lead while %d runs are in progress.", running)
		}

		if l.leads() {
			t.Error("It should not lead any more.")
		}
	case <-t.Context().Done():
		t.Fatal("The lease should be given up.")
	}
}

// TestLeads has a process stop for so long that another one may lead by then.
func TestLeads(t *testing.T) {
	for name, tc := range map[string]struct {
		renewed time.Duration
		want    bool
	}{
		"Just":    {time.Second, true},
		"Stopped": {leaseDuration, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := &lease{}
			l.renewed.Store(new(time.Now().Add(-tc.renewed)))

			if got := l.leads(); got != tc.want {
				t.Errorf("leads(): want %t, got %t", tc.want, got)
			}
		})
	}
}
