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
	// logAgain is the pause before a log that broke off is requested again. It doubles up to maxDoubled times while the
	// log has no new report.
	logAgain   = 500 * time.Millisecond
	maxDoubled = 5
	// logRate is the number of bytes of a log that are read per second in the long term, and logBurst the number at once.
	// Both include the size of unpacked reports. They protect the provider, the API server and the kubelet from the output
	// of a hostile image. A kubelet keeps a few files of 10 MiB each.
	logRate  = 2 << 20
	logBurst = 16 << 20
	// unpackers is the number of reports that are unpacked at a time.
	unpackers = 2
	// logTries is the number of times that the log of an ended Pod is read in search of the last report. logPatience is
	// the number of times while the log cannot be read, which take about two minutes.
	logTries    = 3
	logPatience = 12
)

// A log of a Pod.
type log struct {
	// reader of its reports, limited by pace; nil before the log is read.
	reader *sealed.Reader
	pace   *rate.Limiter
	// over is true once its container has ended.
	over atomic.Bool
	// shown is the end of the log without reports; nil before the log is read.
	shown atomic.Pointer[events.LogTail]
	// secrets returns the secrets that are redacted in shown; nil before the inputs of the run are known.
	secrets atomic.Pointer[func() *redact.Set]
	// watched is true once a user has seen shown.
	watched atomic.Bool
}

// readLog reads the log of the Pod to its last report. Whenever it breaks off, it is read again from its start: reports
// have numbers, so that none counts twice.
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

// readOnce reads the log from its start until it breaks off or has the last report. The reader skips earlier reports.
func (r *run) readOnce(ctx context.Context) error {
	stream, err := r.logs.CoreV1().Pods(r.ref.Namespace).GetLogs(r.ref.Name,
		&corev1.PodLogOptions{Container: containerRun, Follow: true}).Stream(ctx)
	if err != nil {
		return errors.Wrap(err, "cannot read the log of the Pod")
	}
	defer stream.Close() //nolint:errcheck // It was read.

	// The buffer exists as long as the run, and is small: readLine joins longer lines.
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

// pass sends a line that may be a report to the run. It returns true for the last report.
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

// readLine reads a line at the pace of the log. To save memory, it drops the rest of a line that is longer than a
// report may be, and of a long line that is not a report.
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

// mask sets the secrets that are redacted in the log: those of the inputs, and connection details.
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

// tail returns the redacted end of the log without reports. The Pod redacts the display of a play, but its image may
// write other text.
func (r *run) tail() string {
	r.log.watched.Store(true)

	secrets, shown := r.log.secrets.Load(), r.log.shown.Load()
	if secrets == nil || shown == nil {
		return ""
	}

	return (*secrets)().Text(shown.Text())
}
