package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// serve the function as its command does, to a client that receives what core
// does: 4 MiB at most.
func serve(t *testing.T) fnv1.FunctionRunnerServiceClient {
	t.Helper()

	socket := filepath.Join(t.TempDir(), "s")
	c := &serveCommand{Network: "unix", Address: socket, Insecure: true, MaxRecvSize: 64}

	// It serves until the test's process ends.
	go func() {
		if err := c.Run(); err != nil {
			t.Errorf("serve: %v", err)
		}
	}()

	return dial(t, socket)
}

func dial(t *testing.T, socket string) fnv1.FunctionRunnerServiceClient {
	t.Helper()

	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = conn.Close() })

	return fnv1.NewFunctionRunnerServiceClient(conn)
}

// A defect is an answer, and the server goes on serving.
func TestServePanic(t *testing.T) {
	f := newFunction(t)
	f.compositions = nil

	socket := filepath.Join(t.TempDir(), "s")

	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}

	server := grpc.NewServer()
	fnv1.RegisterFunctionRunnerServiceServer(server, f)

	go func() { _ = server.Serve(listener) }()

	t.Cleanup(server.Stop)

	client := dial(t, socket)

	for range 2 {
		rsp, err := client.RunFunction(t.Context(), step{runs: "[{name: app}]"}.request(t))
		if err != nil {
			t.Fatal(err)
		}

		if len(rsp.GetResults()) != 1 || !strings.Contains(rsp.GetResults()[0].GetMessage(), "has a defect") {
			t.Errorf("RunFunction(...): want a Fatal result, got %v", rsp.GetResults())
		}
	}
}

// large is a request of an input with a literal variable of some size, for a
// number of items.
func large(t *testing.T, composition, items, size int) *fnv1.RunFunctionRequest {
	t.Helper()

	return step{
		runs: fmt.Sprintf(`[{name: app, role: acme.app.server%d, forEach: "${lists.range(xr.spec.items).map(i, string(i))}", vars: {text: %s, key: "${each.key}"}}]`,
			composition, strings.Repeat("x", size)),
		spec: fmt.Sprint("items: ", items),
	}.request(t)
}

// What core cannot receive it never sees: it would only know that something was
// too large.
func TestServeTooLarge(t *testing.T) {
	client := serve(t)

	cases := map[string]struct {
		reason string
		size   int
		want   string
	}{
		"Large":    {reason: "A response may be almost as large as core receives.", size: 390 << 10},
		"TooLarge": {reason: "One that is larger is an error that says so.", size: 500 << 10, want: "the desired state is 4.9 MiB large, and Crossplane receives 4 MiB at most: compose fewer or smaller AnsibleRuns in one XR"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp, err := client.RunFunction(t.Context(), large(t, 0, 10, tc.size))
			if err != nil {
				t.Fatalf("\n%s\nRunFunction(...): %v", tc.reason, err)
			}

			got := ""
			if len(rsp.GetResults()) > 0 {
				got = said(rsp)
			}

			if got != tc.want {
				t.Errorf("\n%s\nRunFunction(...): want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

// A request of more than gRPC's own limit is no problem either: observed
// resources may be many.
func TestServeLargeRequest(t *testing.T) {
	req := large(t, 0, 1, 1)
	req.Context = request(t, "context: {other: "+strings.Repeat("x", 5<<20)+"}").GetContext()

	// It passes through, so that the response is too large.
	rsp, err := serve(t).RunFunction(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}

	if len(rsp.GetResults()) != 1 || !strings.Contains(rsp.GetResults()[0].GetMessage(), "Crossplane receives 4 MiB at most") {
		t.Errorf("RunFunction(...): want an error that says what is too large, got %v", rsp.GetResults())
	}
}

// However many requests there are at a time, of however many Compositions, what
// is kept is bounded.
func TestServeNoGrowth(t *testing.T) {
	const (
		rounds  = 3
		clients = 100
	)

	client := serve(t)

	round := func(n int) {
		var wg sync.WaitGroup

		for i := range clients {
			req := large(t, n*clients+i, 2, 100)

			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()

				if _, err := client.RunFunction(ctx, req); err != nil {
					t.Error(err)
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

	// More Compositions than are kept.
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
