package workdir

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestWaitLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")

	lock, err := Lock(path)
	needs.OK(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	_, err = WaitLock(ctx, path)
	if diff := cmp.Diff(context.Canceled, err, cmpopts.EquateErrors()); diff != "" {
		t.Errorf("Nobody has to wait for ever.\nWaitLock(...): -want error, +got error:\n%s", diff)
	}

	got := make(chan error, 1)

	go func() {
		_, err := WaitLock(t.Context(), path)
		got <- err
	}()

	_ = lock.Close()

	if err := <-got; err != nil {
		t.Errorf("A lock that was given up can be had.\nWaitLock(...): %v", err)
	}
}
