package pods

import (
	"bufio"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sealed"
)

const (
	// logAgain is how long to wait before a log that broke off is asked for again. That doubles, maxDoubled times, for as
	// long as nothing more is read.
	logAgain   = 500 * time.Millisecond
	maxDoubled = 5
	// logRate is how many bytes of a log are read per second for long, and logBurst how many at once,
	// with those of its reports when they are unpacked: reading must not take the provider, nor the
	// API server and the kubelet, for what a hostile image writes. A kubelet keeps a few files of
	// 10 MiB each.
	logRate  = 2 << 20
	logBurst = 16 << 20
	// unpackers is how many reports are unpacked at a time.
	unpackers = 2
	// logTries is how often the log of a Pod that has ended is read in search of the last report, and logPatience how
	// often, which takes two minutes, while it cannot be read.
	logTries    = 3
	logPatience = 12
)

// A log of a Pod.
type log struct {
	// reader of its reports, no faster than the pace; nil before it is read.
	reader *sealed.Reader
	pace   *rate.Limiter
	// over is true once its container has ended.
	over atomic.Bool
	// shown is what was read of it last other than reports; nil before.
	shown atomic.Pointer[events.LogTail]
	// secrets are not to be seen in that; nil before the inputs of the run are known.
	secrets atomic.Pointer[func() *redact.Set]
	// watched is true once a user has seen what is shown.
	watched atomic.Bool
}

// readLog of the Pod to its last report, from its start as often as it breaks off: reports have numbers.
func (r *run) readLog(ctx context.Context) {
	for tries, over := 1, false; ctx.Err() == nil; tries++ {
		known, was := r.log.reader.Number, over
		over = r.log.over.Load()

		err := r.readOnce(ctx)
		if r.log.reader.Number > known || over != was {
			tries = 1
		}

		if r.tell(func() { r.logRead(err, tries, over) }); err == nil {
			return
		}

		select {
		case <-time.After(logAgain << min(tries-1, maxDoubled)):
		case <-ctx.Done():
		}
	}
}

// readOnce reads the log from its start until it breaks off. What was read before is left out.
func (r *run) readOnce(ctx context.Context) error {
	stream, err := r.logs.CoreV1().Pods(r.ref.Namespace).GetLogs(r.ref.Name,
		&corev1.PodLogOptions{Container: containerRun, Follow: true}).Stream(ctx)
	if err != nil {
		return errors.Wrap(err, "cannot read the log of the Pod")
	}
	defer stream.Close() //nolint:errcheck // It was read.

	// A run keeps it for as long as it takes. Longer lines are put together.
	lines := bufio.NewReader(stream)

	shown := &events.LogTail{}
	r.log.shown.Store(shown)

	for {
		line, err := r.readLine(ctx, lines)
		if err != nil {
			return err
		}

		if !sealed.MayBeReport(line) {
			shown.Add(line)
			continue
		}

		if last, err := r.pass(ctx, line); last || err != nil {
			return err
		}
	}
}

// pass on a line that may be a report. It is true for the last report.
func (r *run) pass(ctx context.Context, line []byte) (last bool, err error) {
	if err := r.unpacking.Acquire(ctx, 1); err != nil {
		return false, err
	}

	report, cost, ok := r.log.reader.Read(line)
	ok = ok && checked(&report)
	r.unpacking.Release(1)

	if ok {
		select {
		case r.reports <- report:
		case <-ctx.Done():
			return false, ctx.Err()
		}

		if report.Run.Phase.Finished() {
			return true, nil
		}
	}

	return false, r.log.pace.WaitN(ctx, cost)
}

// readLine reads a line, no faster than the pace allows. What is longer than a report may be is left out, and of a long
// line that is no report all but its beginning: many logs are read at a time.
func (r *run) readLine(ctx context.Context, log *bufio.Reader) ([]byte, error) {
	var line []byte

	for {
		part, more, err := log.ReadLine()
		if err == nil {
			err = r.log.pace.WaitN(ctx, len(part)+1)
		}

		if err != nil {
			return nil, err
		}

		if len(line)+len(part) > sealed.MaxLine || len(line) > 0 && !sealed.MayBeReport(line) {
			part = nil
		}

		if line = append(line, part...); !more {
			return line, nil
		}
	}
}

// mask the secrets of the inputs in what the log shows, and connection details.
func (r *run) mask(details map[string][]byte) {
	in := r.todo.Inputs
	secrets := sync.OnceValue(func() *redact.Set {
		all := in.Secrets()

		for _, detail := range details {
			for _, text := range append(redact.Scalars(detail), string(detail)) {
				all.Add(redact.Secret{Text: text})
			}
		}

		return all
	})

	r.log.secrets.Store(&secrets)
}

// tail is the end of what the log shows. The Pod redacts what a play displays; its image may write anything.
func (r *run) tail() string {
	r.log.watched.Store(true)

	secrets, shown := r.log.secrets.Load(), r.log.shown.Load()
	if secrets == nil || shown == nil {
		return ""
	}

	return (*secrets)().Text(shown.Text())
}
