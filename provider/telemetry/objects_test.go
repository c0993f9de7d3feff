package telemetry

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/crossplane/crossplane-runtime/v2/pkg/test"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
)

func object(ns string, at int64, cs ...xpv2.Condition) v1alpha1.AnsibleRun {
	o := v1alpha1.AnsibleRun{ObjectMeta: metav1.ObjectMeta{Namespace: ns}}

	for _, c := range cs {
		c.LastTransitionTime = metav1.Unix(at, 0)
		o.Status.Conditions = append(o.Status.Conditions, c)
	}

	return o
}

func listed(os ...v1alpha1.AnsibleRun) client.Reader {
	return &test.MockClient{MockList: func(_ context.Context, l client.ObjectList, _ ...client.ListOption) error {
		if list, ok := l.(*v1alpha1.AnsibleRunList); ok {
			list.Items = os
		}

		return nil
	}}
}

func TestObjectMetrics(t *testing.T) {
	leads := make(chan struct{})
	close(leads)

	synced, broken := xpv2.ReconcileSuccess(), xpv2.ReconcileError(errors.New("no Secret"))
	// Where 101 namespaces have AnsibleRuns, the last two by the order of names are those with the fewest failures.
	many := []v1alpha1.AnsibleRun{object("zz", 5, broken), object("zz", 4, broken)}
	wantMany := "group=\"g\",object_namespace=\"\",reason=\"Available\",state=\"Ready\"} 1\n" + name("zz", "ReconcileError", "Failing", 2)

	for i := range maxNamespaces {
		ns := fmt.Sprintf("n%03d", i)
		many = append(many, object(ns, 1, synced, xpv2.Available()))

		if i < maxNamespaces-1 {
			wantMany += name(ns, "Available", "Ready", 1)
		}
	}

	forged := func(r xpv2.ConditionReason) xpv2.Condition {
		broken.Reason = r

		return broken
	}

	for title, tc := range map[string]struct {
		reason string
		leads  <-chan struct{}
		cache  client.Reader
		metric string
		want   string
	}{
		"States": {
			reason: "Each object should be counted once, by its conditions.",
			leads:  leads,
			cache: listed(
				object("a", 10, synced, xpv2.Available()), object("a", 20, synced, xpv2.Available()),
				object("a", 30, synced, common.NotReady(common.ReasonRunFailed)), object("a", 40, broken, common.NotReady(common.ReasonRunFailed)), object("c", 80, broken),
				object("b", 50, synced, common.NotReady(common.ReasonRunning)), object("b", 60, xpv2.ReconcilePaused(), common.NotReady(common.ReasonRunFailed)), object("b", 70)),
			metric: "objects",
			want: name("a", "Available", "Ready", 2) + name("a", "RunFailed", "Failing", 2) +
				name("b", "", "Pending", 1) + name("b", "ReconcilePaused", "Paused", 1) + name("b", "Running", "Pending", 1) + name("c", "ReconcileError", "Failing", 1),
		},
		"Oldest": {
			reason: "The timestamp should be that of the oldest failure.",
			leads:  leads,
			cache: listed(object("a", 30, synced, common.NotReady(common.ReasonRunFailed)), object("a", 20, broken), object("a", 10, synced, xpv2.Available()),
				object("b", 10, synced, common.NotReady(common.ReasonRunning))),
			metric: "oldest_failure_timestamp_seconds",
			want:   "group=\"g\",object_namespace=\"a\"} 20\n",
		},
		"Bounded": {
			reason: "The namespaces with the most failing objects should have labels, and the others should be counted together.",
			leads:  leads, cache: listed(many...), metric: "objects", want: wantMany,
		},
		"Forged": {
			reason: "An unknown reason should be no label.",
			leads:  leads, metric: "objects", want: name("a", "Other", "Failing", 2),
			cache: listed(object("a", 10, forged("Random1")), object("a", 10, forged("Random2"))),
		},
		"NotLeading": {
			reason: "A process that is not the leader should count no objects.",
			leads:  make(chan struct{}), cache: listed(object("a", 10, synced)), metric: "objects",
		},
	} {
		t.Run(title, func(t *testing.T) {
			c := NewObjectMetrics(tc.cache, "g", func() resource.ManagedList { return &v1alpha1.AnsibleRunList{} }, tc.leads)
			full := "provider_ansible_" + tc.metric

			var want strings.Builder
			for line := range strings.Lines(tc.want) {
				want.WriteString(full + "{" + line)
			}

			help := map[string]string{
				"objects":                          "AnsibleRuns, by namespace, state, and the reason of the condition that says so.",
				"oldest_failure_timestamp_seconds": "Since when the AnsibleRun of a namespace fails that has failed the longest.",
			}[tc.metric]
			text := "# HELP " + full + " " + help + "\n# TYPE " + full + " gauge\n" + want.String()

			if tc.want == "" {
				text = ""
			}

			if err := testutil.CollectAndCompare(c, strings.NewReader(text), full); err != nil {
				t.Errorf("\n%s\n%s", tc.reason, err)
			}
		})
	}

	if got := testutil.CollectAndCount(NewObjectMetrics(listed(), "g", func() resource.ManagedList { return &v1alpha1.AnsibleRunList{} }, leads)); got != 0 {
		t.Errorf("Without objects there should be no metrics, got %d", got)
	}
}

func name(ns, reason, state string, n int) string {
	return fmt.Sprintf("group=%q,object_namespace=%q,reason=%q,state=%q} %d\n", "g", ns, reason, state, n)
}
