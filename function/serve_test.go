package main

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// serve serves the function like its command, to a client that receives at most 4 MiB, as core does.
func serve(t *testing.T) fnv1.FunctionRunnerServiceClient {
	t.Helper()

	socket := filepath.Join(t.TempDir(), "s")
	c := &serveCommand{Network: "unix", Address: socket, Insecure: true, MaxRecvSize: 64}

	// The server runs until the process of the test ends.
	go func() {
		if err := c.Run(); err != nil {
			t.Errorf("serve: %v", err)
		}
	}()

	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	needs.OK(t, err)

	t.Cleanup(func() { _ = conn.Close() })

	return fnv1.NewFunctionRunnerServiceClient(conn)
}

// A panic has a response, and so has the next request.
func TestDefect(t *testing.T) {
	f := newFunction(t)
	f.compiled = nil

	for range 2 {
		rsp, err := f.RunFunction(t.Context(), step{runs: "[{name: app}]"}.request(t))
		if err != nil || !strings.Contains(said(rsp), "has a defect") {
			t.Errorf("RunFunction(...): want a Fatal result, got %v, %v", rsp, err)
		}
	}
}

// large returns a request with a literal variable of a size, for a number of members.
func large(t *testing.T, composition, items, size int) *fnv1.RunFunctionRequest {
	t.Helper()

	return step{
		runs: fmt.Sprintf(`[{name: app, role: acme.app.server%d, forEach: "${lists.range(xr.spec.items).map(i, string(i))}", vars: {text: %s, key: "${each.key}"}}]`,
			composition, strings.Repeat("x", size)),
		spec: fmt.Sprint("items: ", items),
	}.request(t)
}

// A response may be almost as large as core can receive. A request may be larger than the default limit of gRPC, since
// it has all observed resources. If passed-on fields make the response too large, the response says so.
func TestServeLarge(t *testing.T) {
	client := serve(t)

	more := large(t, 0, 1, 1)
	more.Context = request(t, "context: {other: "+strings.Repeat("x", 5<<20)+"}").GetContext()

	for want, req := range map[string]*fnv1.RunFunctionRequest{"Running": large(t, 0, 10, 390<<10), "Crossplane receives 4 MiB at most": more} {
		rsp, err := client.RunFunction(t.Context(), req)
		needs.OK(t, err)

		if got := said(rsp); !strings.Contains(got, want) {
			t.Errorf("RunFunction(...): want %q, got %q", want, got)
		}
	}
}

// Concurrent requests for many Compositions and XRs do not affect each other, and the cache is bounded.
func TestServeNoGrowth(t *testing.T) {
	const (
		rounds  = 6
		clients = 100
	)

	client := serve(t)

	round := func(n int) {
		var wg sync.WaitGroup

		for i := range clients {
			// Two XRs share a Composition.
			composition, items := (n*clients+i)/2, 1+i%2
			req := large(t, composition, items, 100)

			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()

				rsp, err := client.RunFunction(ctx, req)
				if err != nil {
					t.Error(err)
					return
				}

				all := rsp.GetDesired().GetResources()
				role := manifest.NestedText(all["app[0]"].GetResource().AsMap(), "spec", "forProvider", "role")

				if len(all) != items || role != fmt.Sprint("acme.app.server", composition) {
					t.Errorf("want %d runs of Composition %d, got %v", items, composition, rsp)
				}
			})
		}

		wg.Wait()
	}

	used := func() (uint64, int) {
		runtime.GC()

		var m runtime.MemStats
		runtime.ReadMemStats(&m)

		return m.HeapAlloc, runtime.NumGoroutine()
	}

	// There are more Compositions than the cache holds.
	for n := range rounds {
		round(n)
	}

	heap, goroutines := used()

	for n := range rounds {
		round(rounds + n)
	}

	if after, _ := used(); after > heap+heap/5 {
		t.Errorf("the heap should not grow: %d MiB before, %d MiB after", heap>>20, after>>20)
	}

	if _, after := used(); after > goroutines+goroutines/5 {
		t.Errorf("the goroutines should not become more: %d before, %d after", goroutines, after)
	}
}
