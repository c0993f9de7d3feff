package config

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
)

func TestGathered(t *testing.T) {
	usage := func(config string) *v1alpha1.ProviderConfigUsage {
		return &v1alpha1.ProviderConfigUsage{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team"},
			TypedProviderConfigUsage: xpv2.TypedProviderConfigUsage{
				ProviderConfigReference: xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: config},
			},
		}
	}

	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		defer q.ShutDown()

		g := gathered{&resource.EnqueueRequestForProviderConfig{Kind: "ProviderConfig"}}

		for range 100 {
			g.Create(t.Context(), event.CreateEvent{Object: usage("created")}, q)
			g.Update(t.Context(), event.UpdateEvent{ObjectOld: usage("before"), ObjectNew: usage("after")}, q)
			g.Delete(t.Context(), event.DeleteEvent{Object: usage("deleted")}, q)
			time.Sleep(countAgain / 200)
		}

		if diff := cmp.Diff(0, q.Len()); diff != "" {
			t.Errorf("Usages that change one after another should be counted together: -want requests, +got requests:\n%s", diff)
		}

		time.Sleep(countAgain)

		got := map[string]int{}

		for q.Len() > 0 {
			r, _ := q.Get()
			got[r.String()]++
			q.Done(r)
		}

		name := func(config string) string { return types.NamespacedName{Namespace: "team", Name: config}.String() }
		want := map[string]int{name("created"): 1, name("before"): 1, name("after"): 1, name("deleted"): 1}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want requests, +got requests:\n%s", diff)
		}
	})
}
