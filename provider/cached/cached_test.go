package cached

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource/fake"
	"github.com/crossplane/crossplane-runtime/v2/pkg/test"
)

func TestManager(t *testing.T) {
	var got client.ListOptions

	kube := &test.MockClient{MockList: func(_ context.Context, _ client.ObjectList, opts ...client.ListOption) error {
		got.ApplyOptions(opts)
		return nil
	}}

	if err := Manager(&fake.Manager{Client: kube}).GetClient().List(t.Context(), &corev1.SecretList{}, client.InNamespace("team")); err != nil {
		t.Fatal(err)
	}

	if got.UnsafeDisableDeepCopy == nil || !*got.UnsafeDisableDeepCopy || got.Namespace != "team" {
		t.Errorf("What is listed should not be copied, and what was asked for stay: got %+v", got)
	}
}

func TestShows(t *testing.T) {
	cached := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "inputs", ResourceVersion: "8"}, Data: map[string][]byte{"a": []byte("1")}}

	cases := map[string]struct {
		reason string
		change func(*corev1.Secret)
		cache  error
		want   int
	}{
		"Same": {
			reason: "An update that changes nothing should not be sent.",
			change: func(*corev1.Secret) {},
		},
		"Changed": {
			reason: "A change should be sent.",
			change: func(s *corev1.Secret) { s.Data["a"] = []byte("2") },
			want:   1,
		},
		"Finalizer": {
			reason: "A finalizer is a change.",
			change: func(s *corev1.Secret) { s.Finalizers = []string{"a"} },
			want:   1,
		},
		"Unread": {
			reason: "What the cache does not show has to be sent.",
			change: func(*corev1.Secret) {},
			cache:  errors.New("not started"),
			want:   1,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			updates, statuses := 0, 0

			kube := &test.MockClient{
				MockGet: func(_ context.Context, _ client.ObjectKey, o client.Object) error {
					if s, ok := o.(*corev1.Secret); ok {
						cached.DeepCopyInto(s)
					}

					return tc.cache
				},
				MockUpdate: func(context.Context, client.Object, ...client.UpdateOption) error {
					updates++
					return nil
				},
				MockStatusUpdate: func(context.Context, client.Object, ...client.SubResourceUpdateOption) error {
					statuses++
					return nil
				},
			}
			c := Manager(&fake.Manager{Client: kube}).GetClient()

			s := cached.DeepCopy()
			tc.change(s)

			if err := c.Update(t.Context(), s); err != nil {
				t.Fatal(err)
			}

			if err := c.Status().Update(t.Context(), s); err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff([]int{tc.want, tc.want}, []int{updates, statuses}); diff != "" {
				t.Errorf("%s\n-want requests, +got requests:\n%s", tc.reason, diff)
			}
		})
	}
}
