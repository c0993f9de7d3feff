package pods

import (
	"bufio"
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
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

// A podLog is the log of a run's Pod. It is read from its start as often as it breaks off: reports have numbers.
type podLog struct {
	*Backend

	reader *sealed.Reader
	pace   *rate.Limiter
	of     client.ObjectKey
	shown  *shown

	reports chan<- runs.Report
	reads   chan<- logRead
	// over is true once its container has ended.
	over atomic.Bool
}

// A logRead is a time that a log was read until it broke off.
type logRead struct {
	// err for which it did; nil if it was read to its last report.
	err error
	// over is true if its container had ended before, and tries how often it was read since, or since it had a new report.
	over  bool
	tries int
}

// newLog of the Pod of the run.
func (r *run) newLog() (*podLog, error) {
	reader, err := sealed.NewReader(r.sealKey, r.todo.ID, string(r.pod.UID))

	return &podLog{
		Backend: r.Backend, reader: reader, pace: rate.NewLimiter(logRate, logBurst), of: r.ref, shown: r.shown,
		reports: r.reports, reads: r.reads,
	}, err
}

// read the log to its last report.
func (l *podLog) read(ctx context.Context) {
	for tries, over := 1, false; ctx.Err() == nil; tries++ {
		known, was := l.reader.Number, over
		over = l.over.Load()

		err := l.readOnce(ctx)
		if l.reader.Number > known || over != was {
			tries = 1
		}

		select {
		case l.reads <- logRead{err, over, tries}:
		case <-ctx.Done():
		}

		if err == nil {
			return
		}

		select {
		case <-time.After(logAgain << min(tries-1, maxDoubled)):
		case <-ctx.Done():
		}
	}
}

// readOnce reads the log from its start until it breaks off. What was read before is left out.
func (l *podLog) readOnce(ctx context.Context) error {
	stream, err := l.logs.CoreV1().Pods(l.of.Namespace).GetLogs(l.of.Name,
		&corev1.PodLogOptions{Container: containerRun, Follow: true}).Stream(ctx)
	if err != nil {
		return errors.Wrap(err, "cannot read the log of the Pod")
	}
	defer stream.Close() //nolint:errcheck // It was read.

	// A run keeps it for as long as it takes. Longer lines are put together.
	lines := bufio.NewReader(stream)

	l.shown.again()

	for {
		line, err := l.readLine(ctx, lines)
		if err != nil {
			return err
		}

		if !sealed.MayBeReport(line) {
			l.shown.log.Load().Add(line)
			continue
		}

		if last, err := l.pass(ctx, line); last || err != nil {
			return err
		}
	}
}

// pass on a line that may be a report. It is true for the last report.
func (l *podLog) pass(ctx context.Context, line []byte) (last bool, err error) {
	if err := l.unpacking.Acquire(ctx, 1); err != nil {
		return false, err
	}

	report, cost, ok := l.reader.Read(line)
	ok = ok && checked(&report)
	l.unpacking.Release(1)

	if ok {
		select {
		case l.reports <- report:
		case <-ctx.Done():
			return false, ctx.Err()
		}

		if report.Run.Phase.Finished() {
			return true, nil
		}
	}

	return false, l.pace.WaitN(ctx, cost)
}

// readLine reads a line, no faster than the pace allows. What is longer than a report may be is left out, and of a long
// line that is no report all but its beginning: many logs are read at a time.
func (l *podLog) readLine(ctx context.Context, r *bufio.Reader) ([]byte, error) {
	var line []byte

	for {
		part, more, err := r.ReadLine()
		if err == nil {
			err = l.pace.WaitN(ctx, len(part)+1)
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
