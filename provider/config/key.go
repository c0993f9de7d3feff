package config

import (
	"context"
	"crypto/rand"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

const (
	// KeySecret is the name of the Secret that holds the key of digests.
	KeySecret = "provider-ansible-digest-key"
	// KeySize in bytes.
	KeySize = 32

	keyField = "key"
)

// Key returns the key of digests: 32 random bytes in a Secret in the provider's namespace. It creates a missing Secret.
// Replicas that start at the same time get the same key.
func Key(ctx context.Context, c client.Client, namespace string) ([]byte, error) {
	name := types.NamespacedName{Namespace: namespace, Name: KeySecret}
	s := &corev1.Secret{}

	err := c.Get(ctx, name, s)
	if kerrors.IsNotFound(err) {
		key := make([]byte, KeySize)
		_, _ = rand.Read(key) // It never fails.

		s.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Name: KeySecret}
		s.Data = map[string][]byte{keyField: key}
		err = c.Create(ctx, s)
	}

	if kerrors.IsAlreadyExists(err) { // Another replica created it first.
		err = c.Get(ctx, name, s)
	}

	if err != nil {
		return nil, errors.Wrapf(err, "cannot get Secret %q", name)
	}

	if len(s.Data[keyField]) != KeySize {
		return nil, errors.Errorf("Secret %q must have %d bytes under %q: delete it, and the provider creates a new one",
			name, KeySize, keyField)
	}

	return s.Data[keyField], nil
}
