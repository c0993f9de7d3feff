package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/crossplane/function-sdk-go/errors"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// A measureCommand measures both.
type measureCommand struct {
	Function string `default:"bin/function-ansible" help:"The function's binary." type:"existingfile"`
	Requests int    `default:"500"                  help:"Requests of each size to each server."`
	AtOnce   int    `default:"100"                  help:"Requests at once, when growth is measured."`
}

// What is to be reached.
const (
	// maxFactor of the p50 of the floor, on a machine that has nothing else to do: what
	// the function allocates more is collected beside its requests.
	maxFactor = 1.3
	// maxGrowth of the p50 from 10 runs to 100: ten times, and half as much again
	// for what larger messages cost the garbage collector. The floor has that,
	// too.
	maxGrowth = 15
)

// A figure is what was measured of a server.
type figure struct {
	p50, p99 time.Duration
	// allocations and bytes of one request.
	allocations, bytes float64
	// resident memory afterwards, in bytes.
	resident float64
}

// Run prints what was measured.
func (c *measureCommand) Run(ctx context.Context) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(w, "runs\tserver\tp50\tp99\tallocations\tallocated\tresident\tfactor\t\n")

	p50, p50Floor := map[int]time.Duration{}, map[int]time.Duration{}

	for _, runs := range []int{1, 10, 100} {
		function, floor, err := c.measure(ctx, runs)
		if err != nil {
			return err
		}

		p50[runs], p50Floor[runs] = function.p50, floor.p50
		factor := float64(function.p50) / float64(floor.p50)

		_, _ = fmt.Fprintf(w, "%d\tfunction\t%s\t%.2f, %s\t\n", runs, function, factor, verdict(factor <= maxFactor))
		_, _ = fmt.Fprintf(w, "%d\tfloor\t%s\t\t\n", runs, floor)
	}

	if err := w.Flush(); err != nil {
		return errors.Wrap(err, "cannot print")
	}

	growth := float64(p50[100]) / float64(p50[10])
	growthFloor := float64(p50Floor[100]) / float64(p50Floor[10])
	_, _ = fmt.Fprintf(os.Stdout,
		"\nFrom 10 runs to 100 the function takes %.1f times as long, the floor %.1f times: %s\n", growth, growthFloor,
		verdict(growth <= maxGrowth))

	return c.growth(ctx)
}

// measure the function and the floor with XRs that have a number of runs.
func (c *measureCommand) measure(ctx context.Context, runs int) (_, _ figure, err error) {
	req, err := requestOf(runs)
	if err != nil {
		return figure{}, figure{}, err
	}

	function, err := start(ctx, c.Function, "serve", "--insecure")
	if err != nil {
		return figure{}, figure{}, err
	}
	defer func() { err = errors.Join(err, function.stop()) }()

	rsp, _, err := function.call(ctx, req)
	if err != nil {
		return figure{}, figure{}, err
	}

	if c := rsp.GetConditions(); len(rsp.GetDesired().GetResources()) != runs || len(c) != 1 ||
		c[0].GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
		return figure{}, figure{}, errors.Errorf("the function does not find all runs ready: %v %v", c, rsp.GetResults())
	}

	floor, err := startFloor(ctx, rsp)
	if err != nil {
		return figure{}, figure{}, err
	}
	defer func() { err = errors.Join(err, floor.stop()) }()

	figures, err := c.inTurn(ctx, req, function, floor)
	if err != nil {
		return figure{}, figure{}, err
	}

	return figures[0], figures[1], nil
}

// startFloor with a response.
func startFloor(ctx context.Context, rsp *fnv1.RunFunctionResponse) (*server, error) {
	b, err := proto.Marshal(rsp)
	if err != nil {
		return nil, errors.Wrap(err, "cannot marshal the response")
	}

	dir, err := os.MkdirTemp("", "benchfunction-")
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a directory")
	}
	defer os.RemoveAll(dir) //nolint:errcheck // It is in the directory for temporary files.

	path := filepath.Join(dir, "response")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		return nil, errors.Wrap(err, "cannot write the response")
	}

	self, err := os.Executable()
	if err != nil {
		return nil, errors.Wrap(err, "cannot find this program")
	}

	s, err := start(ctx, self, "floor", "--response="+path)
	if err != nil {
		return nil, err
	}

	// It has read the file when it answers.
	if _, _, err := s.call(ctx, &fnv1.RunFunctionRequest{}); err != nil {
		return nil, errors.Join(err, s.stop())
	}

	return s, nil
}

// inTurn sends requests to one server and the next, after some to warm up.
func (c *measureCommand) inTurn(ctx context.Context, req *fnv1.RunFunctionRequest,
	servers ...*server,
) ([]figure, error) {
	took := make([][]time.Duration, len(servers))
	before := make([]usage, len(servers))
	warm := max(c.Requests/10, 1)

	for n := range warm + c.Requests {
		for i, s := range servers {
			if n == warm {
				var err error
				if before[i], err = s.usage(ctx); err != nil {
					return nil, err
				}
			}

			_, d, err := s.call(ctx, req)
			if err != nil {
				return nil, err
			}

			if n >= warm {
				took[i] = append(took[i], d)
			}
		}
	}

	figures := make([]figure, len(servers))

	for i, s := range servers {
		after, err := s.usage(ctx)
		if err != nil {
			return nil, err
		}

		slices.Sort(took[i])

		figures[i] = figure{
			p50:         took[i][len(took[i])/2],
			p99:         took[i][len(took[i])*99/100],
			allocations: (after.mallocs - before[i].mallocs) / float64(c.Requests),
			bytes:       (after.bytes - before[i].bytes) / float64(c.Requests),
			resident:    after.resident,
		}
	}

	return figures, nil
}

// growth of the function under many requests at once: after as many again it
// should be as large as it was.
func (c *measureCommand) growth(ctx context.Context) (err error) {
	const rounds = 5

	req, err := requestOf(10)
	if err != nil {
		return err
	}

	s, err := start(ctx, c.Function, "serve", "--insecure")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()

	_, _ = fmt.Fprintf(os.Stdout, "\nThe function after rounds of %d requests at once, of 10 runs each:\n", c.AtOnce)

	for range rounds {
		g, gctx := errgroup.WithContext(ctx)
		for range c.AtOnce {
			g.Go(func() error {
				for range 5 {
					if _, _, err := s.call(gctx, req); err != nil {
						return err
					}
				}

				return nil
			})
		}

		if err := g.Wait(); err != nil {
			return err
		}

		u, err := s.usage(ctx)
		if err != nil {
			return err
		}

		_, _ = fmt.Fprintf(os.Stdout, "  %s resident, %.0f goroutines\n", mebibytes(u.resident), u.goroutines)
	}

	return nil
}

// String returns the figure as cells of a table.
func (f figure) String() string {
	return fmt.Sprintf("%.3f ms\t%.3f ms\t%.0f\t%.0f KiB\t%s", milliseconds(f.p50), milliseconds(f.p99), f.allocations,
		f.bytes/1024, mebibytes(f.resident))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func mebibytes(b float64) string { return fmt.Sprintf("%.0f MiB", b/(1<<20)) }

// verdict on a figure that is to be reached.
func verdict(reached bool) string {
	if reached {
		return "reached"
	}

	return "NOT REACHED"
}
