package main

import (
	"fmt"
	"sync"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// Requests of many XRs and Compositions at once do not see each other.
func TestConcurrentRequests(t *testing.T) {
	const requests = 100

	f := newFunction(t)

	var wg sync.WaitGroup

	for i := range requests {
		// A few Compositions, shared by many XRs.
		req := step{runs: fmt.Sprintf(`[{name: app, role: acme.app.server%d, vars: {size: "${xr.spec.size}"}}]`, i%5), spec: fmt.Sprint("size: ", i)}.request(t)

		wg.Go(func() {
			rsp, err := f.RunFunction(t.Context(), req)
			if err != nil {
				t.Error(err)
				return
			}

			app := rsp.GetDesired().GetResources()["app"].GetResource().AsMap()
			if got := manifest.Nested(app, "spec", "forProvider", "unsafeVars", "size"); got != float64(i) {
				t.Errorf("want size %d, got %v: %v", i, got, rsp)
			}
		})
	}

	wg.Wait()
}
