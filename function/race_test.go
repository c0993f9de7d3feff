package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Requests of many XRs and Compositions at once do not see each other.
func TestConcurrentRequests(t *testing.T) {
	const requests = 100

	f := newFunction(t)

	var wg sync.WaitGroup

	for i := range requests {
		// A few Compositions, shared by many XRs.
		req := request(t, `
input: `+strings.ReplaceAll(inputApp, "acme.app.server", fmt.Sprintf("acme.app.server%d", i%5))+`
observed:
  composite:
    resource: {apiVersion: example.org/v1, kind: App, metadata: {namespace: default, name: app}, spec: {size: `+strconv.Itoa(i)+`}}
`)

		wg.Go(func() {
			rsp, err := f.RunFunction(context.Background(), req)
			if err != nil {
				t.Error(err)
				return
			}

			spec := rsp.GetDesired().GetResources()["database"].GetResource().GetFields()["spec"].GetStructValue()
			vars := spec.GetFields()["forProvider"].GetStructValue().GetFields()["unsafeVars"].GetStructValue()

			if got := vars.GetFields()["size"].GetNumberValue(); got != float64(i) {
				t.Errorf("want size %d, got %v: %v", i, got, rsp)
			}
		})
	}

	wg.Wait()
}
