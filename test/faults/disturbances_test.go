package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/test/faults/proxy"
)

// disturbances are faults outside of the provider, which continues to run.
func (d *drive) disturbances() []fault {
	var out []fault

	share := func(share float64, is func(*http.Request) bool, e proxy.Effect) proxy.Rule {
		return func(r *http.Request) proxy.Effect {
			if (is == nil || is(r)) && rand.Float64() < share {
				return e
			}

			return proxy.Effect{}
		}
	}

	for _, w := range []struct {
		name string
		rule proxy.Rule
	}{
		{"API errors", share(0.4, nil, proxy.Effect{Status: http.StatusInternalServerError})},
		{"API unavailable", share(0.6, nil, proxy.Effect{Status: http.StatusServiceUnavailable})},
		{"API throttled", share(0.3, nil, proxy.Effect{Status: http.StatusTooManyRequests})},
		{"API timeouts", share(0.3, nil, proxy.Effect{Delay: time.Second, Status: http.StatusGatewayTimeout})},
		{"API conflicts", share(0.6, proxy.Writes, proxy.Effect{Status: http.StatusConflict})},
		{"API no status is written", share(1, proxy.Writes, proxy.Effect{Status: http.StatusInternalServerError})},
		{"API slow", share(0.5, nil, proxy.Effect{Delay: 1500 * time.Millisecond})},
		{"API answers lost", share(0.4, proxy.Writes, proxy.Effect{Lose: true})},
		{"API not reached", share(1, nil, proxy.Effect{Cut: true})},
	} {
		out = append(out, fault{w.name, func(ctx context.Context) (string, error) { return d.disturb(ctx, w.rule) }})
	}

	out = append(out,
		fault{"watches cut", d.cut},
		fault{"watches stalled", d.stall})

	if inPods {
		out = append(out, d.hits()...)
	}

	return out
}

// disturb the API of all replicas for some seconds.
func (d *drive) disturb(ctx context.Context, rule proxy.Rule) (string, error) {
	d.api.Lock()
	defer d.api.Unlock()

	for _, r := range d.replicas {
		r.proxy.Set(rule)
	}

	pause(ctx, time.Duration(2000+d.roll(5000))*time.Millisecond)

	hit := 0
	for _, r := range d.replicas {
		hit += r.proxy.Set(nil)
	}

	if hit == 0 {
		return "", errMissed
	}

	return fmt.Sprintf("%d requests", hit), nil
}

func (d *drive) cut(context.Context) (string, error) {
	n := 0
	for _, r := range d.replicas {
		n += r.proxy.CutWatches()
	}

	if n == 0 {
		return "", errMissed
	}

	return fmt.Sprintf("%d watches", n), nil
}

// stall watches, so that the provider sees only old objects.
func (d *drive) stall(ctx context.Context) (string, error) {
	for _, r := range d.replicas {
		r.proxy.Stall(true)
	}

	pause(ctx, time.Duration(3000+d.roll(5000))*time.Millisecond)

	for _, r := range d.replicas {
		r.proxy.Stall(false)
	}

	return "", nil
}
