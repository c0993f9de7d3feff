package share

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestGateTurns has one tenant fill the queue before others come.
func TestGateTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1)

		leave, err := g.Enter(t.Context(), "a")
		needs.OK(t, err)

		var (
			wg  sync.WaitGroup
			got []string
		)

		for _, tenant := range []string{"a", "a", "a", "b", "c", "b"} {
			wg.Go(func() {
				leave, err := g.Enter(t.Context(), tenant)
				if err != nil {
					t.Error(err)
					return
				}

				got = append(got, tenant)

				leave()
			})
			synctest.Wait()
		}

		leave()
		leave()
		wg.Wait()

		if diff := cmp.Diff([]string{"b", "c", "a", "b", "a", "a"}, got); diff != "" {
			t.Errorf("Tenants should take turns: -want, +got:\n%s", diff)
		}
	})
}

// TestGateLast checks that one place stays free of a tenant that has all others.
func TestGateLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(3)

		for range 2 {
			if _, err := g.Enter(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
		}

		why := errors.New("it is enough")
		ctx, cancel := context.WithCancelCause(t.Context())

		go func() {
			synctest.Wait()
			cancel(why)
		}()

		if _, err := g.Enter(ctx, "a"); !errors.Is(err, why) {
			t.Errorf("One tenant should not have all places: %v", err)
		}

		if _, err := g.Enter(t.Context(), "b"); err != nil {
			t.Error(err)
		}
	})
}

// TestGateRandom has visitors come, give up and leave at random.
func TestGateRandom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 3

		g := NewGate(limit)

		var (
			wg     sync.WaitGroup
			mu     sync.Mutex
			inside int
		)

		count := func(d int) {
			mu.Lock()
			defer mu.Unlock()

			if inside += d; inside > limit {
				t.Errorf("%d are inside", inside)
			}
		}

		for i := range 500 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+rand.IntN(60))*time.Second)
				defer cancel()

				leave, err := g.Enter(ctx, strconv.Itoa(i%4))
				if err != nil {
					return
				}

				count(1)
				time.Sleep(time.Duration(rand.IntN(2000)) * time.Millisecond)
				count(-1)
				leave()
			})
		}

		wg.Wait()

		if g.inside != 0 || len(g.waiting) != 0 {
			t.Errorf("No visitor should be left: %d inside, %d waiting", g.inside, len(g.waiting))
		}
	})
}
