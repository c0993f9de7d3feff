package config

import (
	"bytes"
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/test"
)

func TestKey(t *testing.T) {
	first := bytes.Repeat([]byte("a"), KeySize)
	notFound := kerrors.NewNotFound(schema.GroupResource{}, KeySecret)

	holds := func(key []byte) test.ObjectFn {
		return func(o client.Object) error {
			o.(*corev1.Secret).Data = map[string][]byte{"key": key}

			return nil
		}
	}

	cases := map[string]struct {
		reason string
		c      client.Client
		want   []byte
		err    string
	}{
		"There": {
			reason: "A key that is there is used.",
			c:      &test.MockClient{MockGet: test.NewMockGetFn(nil, holds(first))},
			want:   first,
		},
		"LostRace": {
			reason: "Another replica's key is used when it was first.",
			c: &test.MockClient{
				MockGet:    getInTurn(test.NewMockGetFn(notFound), test.NewMockGetFn(nil, holds(first))),
				MockCreate: test.NewMockCreateFn(kerrors.NewAlreadyExists(schema.GroupResource{}, KeySecret)),
			},
			want: first,
		},
		"Damaged": {
			reason: "A key that is none is not replaced behind the user's back.",
			c:      &test.MockClient{MockGet: test.NewMockGetFn(nil, holds([]byte("short")))},
			err:    `Secret "ns/provider-ansible-digest-key" must have 32 bytes under "key": delete it to have a new one made`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Key(context.Background(), tc.c, "ns")

			msg := ""
			if err != nil {
				msg = err.Error()
			}

			if diff := cmp.Diff(tc.err, msg); diff != "" {
				t.Errorf("\n%s\nKey(...): -want error, +got error:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nKey(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestKeyCreated(t *testing.T) {
	var created *corev1.Secret

	c := &test.MockClient{
		MockGet: test.NewMockGetFn(kerrors.NewNotFound(schema.GroupResource{}, KeySecret)),
		MockCreate: func(_ context.Context, o client.Object, _ ...client.CreateOption) error {
			created, _ = o.(*corev1.Secret)

			return nil
		},
	}

	got, err := Key(context.Background(), c, "ns")
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(created.Data["key"], got); diff != "" || len(got) != KeySize {
		t.Errorf("\nThe key that was stored is used, and has %d bytes.\nKey(...): -want, +got:\n%s", KeySize, diff)
	}
}

// getInTurn uses another function for each call.
func getInTurn(fns ...test.MockGetFn) test.MockGetFn {
	return func(ctx context.Context, key client.ObjectKey, o client.Object) error {
		fn := fns[0]
		fns = fns[1:]

		return fn(ctx, key, o)
	}
}
