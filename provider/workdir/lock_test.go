package workdir

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")

	lock, err := Lock(t.Context(), path, nil)
	needs.OK(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	_, err = Lock(ctx, path, nil)
	if diff := cmp.Diff(context.Canceled, err, cmpopts.EquateErrors()); diff != "" {
		t.Errorf("Lock should end with the context.\nLock(...): -want error, +got error:\n%s", diff)
	}

	if _, err := Lock(t.Context(), path, func() { _ = lock.Close() }); err != nil {
		t.Errorf("A released lock should be available.\nLock(...): %v", err)
	}
}
