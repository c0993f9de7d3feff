package config

import (
	"bytes"
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestKey(t *testing.T) {
	first := bytes.Repeat([]byte("a"), KeySize)
	holds := func(key []byte) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: KeySecret}, Data: map[string][]byte{"key": key}}
	}

	for name, tc := range map[string]struct {
		reason string
		there  []client.Object
		// raced is a Secret that another replica creates first.
		raced client.Object
		// want is empty for a new key.
		want []byte
		err  string
	}{
		"There":    {reason: "A key that is there is used.", there: []client.Object{holds(first)}, want: first},
		"Created":  {reason: "The key that was stored is used."},
		"LostRace": {reason: "Another replica's key is used when it was first.", raced: holds(first), want: first},
		"Damaged": {
			reason: "An invalid key is an error, and is not replaced.", there: []client.Object{holds([]byte("short"))}, want: []byte("short"),
			err: `Secret "ns/provider-ansible-digest-key" must have 32 bytes under "key": delete it, and the provider creates a new one`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := interceptor.NewClient(fake.NewClientBuilder().WithObjects(tc.there...).Build(), interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
					if tc.raced != nil {
						needs.OK(t, c.Create(ctx, tc.raced))
					}

					return c.Create(ctx, o, opts...)
				},
			})

			got, err := Key(t.Context(), c, "ns")

			msg := needs.Message(err)

			if diff := cmp.Diff(tc.err, msg); diff != "" {
				t.Errorf("%s\nKey(...): -want error, +got error:\n%s", tc.reason, diff)
			}

			s := &corev1.Secret{}
			needs.OK(t, c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: KeySecret}, s))

			stored := s.Data["key"]
			if tc.err == "" && (!bytes.Equal(got, stored) || len(got) != KeySize) {
				t.Errorf("%s\nKey(...): want the stored key of %d bytes, got %q, and %q is stored", tc.reason, KeySize, got, stored)
			}

			if diff := cmp.Diff(tc.want, stored); diff != "" && tc.want != nil {
				t.Errorf("%s\n-want stored, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
