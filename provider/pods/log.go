package pods

import (
	"bufio"
	"context"
	"io"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

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
	// logTries is how often the log of a Pod that has ended is read in search of the last report,
	// and logPatience how long while it cannot be read, unless the Pod has succeeded.
	logTries    = 3
	logPatience = 2 * time.Minute
)

// A podLog is the log of a run's Pod. It is read from its start as often as it breaks off: reports have numbers.
type podLog struct {
	*Backend

	reader         *sealed.Reader
	pace           *rate.Limiter
	namespace, pod string
	shown          *shown

	// frames have the reports, and broken says why the log broke off; nil for one that was read to its last report.
	frames chan frame
	broken chan error

	// What follows is for the run that has the log read.

	// reading is true while it is read, which has begun after the end of its container if it is whole.
	reading, whole bool
	// tries without anything new. The next one is due at again.
	tries int
	again time.Time
	// ended is when the container was first seen to have ended.
	ended time.Time
}

// newLog of the Pod of a run.
func (x *Backend) newLog(p *corev1.Pod, runID string, key []byte, s *shown) (*podLog, error) {
	reader, err := sealed.NewReader(key, runID, string(p.UID))

	return &podLog{
		Backend: x, reader: reader, pace: newPace(), namespace: p.Namespace, pod: p.Name, shown: s,
		frames: make(chan frame), broken: make(chan error, 1),
	}, err
}

// broke off after an error. Done is true if it is not to be read again, and unread says so if a Pod that has succeeded
// has written a last report that cannot be read: without that the run would be repeated.
func (l *podLog) broke(err error, succeeded bool) (done, unread bool) {
	l.reading = false
	l.again = l.now().Add(logAgain << min(l.tries, maxDoubled))
	l.tries++

	missing := errors.Is(err, io.EOF) || kerrors.IsNotFound(err) || kerrors.IsBadRequest(err)
	late := l.whole && l.now().Sub(l.ended) > logPatience

	switch {
	case err == nil:
		return true, false
	case l.whole && missing:
		return l.tries >= logTries, false
	}

	return late && !succeeded, late && succeeded
}

// read the log until it breaks off, in the background. Over says whether its container has ended.
func (l *podLog) read(ctx context.Context, over bool) {
	if over && l.ended.IsZero() {
		l.ended, l.tries = l.now(), 0
	}

	l.reading, l.whole = true, over

	go func() { l.broken <- l.readOnce(ctx) }()
}

// readOnce reads the log from its start until it breaks off. What was read before is left out.
func (l *podLog) readOnce(ctx context.Context) error {
	stream, err := l.logs.CoreV1().Pods(l.namespace).GetLogs(l.pod,
		&corev1.PodLogOptions{Container: containerRun, Follow: true}).Stream(ctx)
	if err != nil {
		return errors.Wrap(err, "cannot read the log of the Pod")
	}
	defer stream.Close() //nolint:errcheck // It was read.

	// A run keeps it for as long as it takes. Longer lines are put together.
	lines := bufio.NewReader(paced{stream, func(n int) error { return l.pace.WaitN(ctx, n) }})

	l.shown.again()

	for {
		line, err := readLine(lines)
		if err != nil {
			return err
		}

		if !sealed.MayBeFrame(line) {
			l.shown.log.Load().Add(line)
			continue
		}

		if final, err := l.pass(ctx, line); final || err != nil {
			return err
		}
	}
}

// newPace of reading a log.
func newPace() *rate.Limiter { return rate.NewLimiter(logRate, logBurst) }

// pass on a line that may be a report. It is true for the last report.
func (l *podLog) pass(ctx context.Context, line []byte) (final bool, err error) {
	before := l.reader.Cost

	f, ok, err := l.unpack(ctx, line)
	if err != nil {
		return false, err
	}

	if ok {
		select {
		case l.frames <- f:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}

	if f.Final {
		return true, nil
	}

	// What is waited for here is not held: many logs are read at a time.
	return false, l.pace.WaitN(ctx, l.reader.Cost-before)
}

// unpack a line that may be a report.
func (l *podLog) unpack(ctx context.Context, line []byte) (_ frame, ok bool, err error) {
	select {
	case l.unpacking <- struct{}{}:
	case <-ctx.Done():
		return frame{}, false, ctx.Err()
	}
	defer func() { <-l.unpacking }()

	f, ok := l.reader.Read(line)
	if !ok {
		return frame{}, false, nil
	}

	return checked(f), true, nil
}

// paced reads no faster than wait allows.
type paced struct {
	io.Reader

	wait func(n int) error
}

// Read some bytes.
func (p paced) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if wait := p.wait(n); err == nil {
		err = wait
	}

	return n, err // A reader is to return the end of another one as it is.
}

// readLine reads a line. What is longer than a frame may be is left out, and of a long line that
// is no frame all but its beginning: many logs are read at a time.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte

	for {
		part, more, err := r.ReadLine()
		if err != nil {
			return nil, err
		}

		if len(line)+len(part) > sealed.MaxLine || len(line) > 0 && !sealed.MayBeFrame(line) {
			part = nil
		}

		if line = append(line, part...); !more {
			return line, nil
		}
	}
}
