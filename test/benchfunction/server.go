package main

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/crossplane/function-sdk-go/errors"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// A server is a process that serves a function.
type server struct {
	cmd     *exec.Cmd
	conn    *grpc.ClientConn
	client  fnv1.FunctionRunnerServiceClient
	metrics string
}

// start a server, and wait until it answers.
func start(ctx context.Context, name string, args ...string) (*server, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}

	metrics, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}

	s := &server{metrics: "http://" + metrics + "/metrics"}
	s.cmd = exec.CommandContext(ctx, name, append(args, "--address="+address, "--metrics-address="+metrics)...)
	s.cmd.Stderr = os.Stderr

	if err := s.cmd.Start(); err != nil {
		return nil, errors.Wrap(err, "cannot start the server")
	}

	const limit = 64 << 20

	s.conn, err = grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(limit), grpc.WaitForReady(true)),
	)
	if err != nil {
		return nil, errors.Join(errors.Wrap(err, "cannot make a client"), s.stop())
	}

	s.client = fnv1.NewFunctionRunnerServiceClient(s.conn)

	return s, nil
}

// stop the server.
func (s *server) stop() error {
	if s.conn != nil {
		_ = s.conn.Close()
	}

	if err := s.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		return errors.Wrap(err, "cannot stop the server")
	}

	_ = s.cmd.Wait()

	return nil
}

// call the function, and return how long that took.
func (s *server) call(ctx context.Context,
	req *fnv1.RunFunctionRequest,
) (*fnv1.RunFunctionResponse, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()

	began := time.Now()
	rsp, err := s.client.RunFunction(ctx, req)

	return rsp, time.Since(began), errors.Wrap(err, "cannot call the function")
}

// usage of memory by a server.
type usage struct {
	// mallocs and bytes that were allocated since it started.
	mallocs, bytes float64
	// resident memory, in bytes.
	resident   float64
	goroutines float64
}

// usage of the server so far.
func (s *server) usage(ctx context.Context) (usage, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.metrics, nil)
	if err != nil {
		return usage{}, errors.Wrap(err, "cannot ask for metrics")
	}

	rsp, err := http.DefaultClient.Do(req)
	if err != nil {
		return usage{}, errors.Wrap(err, "cannot get metrics")
	}
	defer rsp.Body.Close() //nolint:errcheck // It was read.

	values := map[string]float64{}

	lines := bufio.NewScanner(rsp.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			values[name] = v
		}
	}

	return usage{
		mallocs:    values["go_memstats_mallocs_total"],
		bytes:      values["go_memstats_alloc_bytes_total"],
		resident:   values["process_resident_memory_bytes"],
		goroutines: values["go_goroutines"],
	}, errors.Wrap(lines.Err(), "cannot read metrics")
}

// freeAddress on this machine.
func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", errors.Wrap(err, "cannot find a free port")
	}

	return l.Addr().String(), errors.Wrap(l.Close(), "cannot free a port")
}
