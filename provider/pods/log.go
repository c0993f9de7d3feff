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
	// logAgain is how long to wait before a log that broke off is asked for again. That doubles for as
	// long as nothing more is read: maxDoubled times, and maxDoubledOver times after the end of the Pod.
	logAgain       = 500 * time.Millisecond
	maxDoubled     = 5
	maxDoubledOver = 3
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

// followLog of the Pod, in the background, from its start.
func (r *run) followLog() {
	if r.frames != nil {
		return
	}

	r.frames, r.logged = make(chan heard), make(chan struct{})

	reader, err := sealed.NewReader(r.key, r.job.ID, string(r.pod.UID))
	if err != nil {
		close(r.logged) // The key has the right length.
		return
	}

	ctx, cancel := context.WithCancel(r.config.Context)
	r.stop = cancel
	l := &podLog{
		Executor: r.Executor, reader: reader, pace: newPace(),
		sight: r.sight, namespace: r.ref.Namespace, pod: r.ref.Name, frames: r.frames, shown: r.shown,
	}

	go func() {
		defer close(r.logged)

		if err := l.follow(ctx); err != nil {
			l.config.Log.Debug("Cannot read the last report in the log of a Pod", "namespace", l.namespace, "pod", l.pod,
				"error", err)
		}
	}()
}

// A podLog is the log of a run's Pod.
type podLog struct {
	*Executor

	reader         *sealed.Reader
	pace           *rate.Limiter
	sight          *sight
	namespace, pod string
	frames         chan<- heard
	shown          *shown
	// heard counts the reports that were read.
	heard int
}

// follow the log to its end, whatever breaks off meanwhile.
func (l *podLog) follow(ctx context.Context) error {
	var (
		ended time.Time
		told  string
	)

	for tries, idle := 0, 0; ; {
		// A log that was opened after the end of its container is whole.
		over, succeeded := l.isOver()
		if over && ended.IsZero() {
			ended = l.now()
		}

		before := l.heard

		final, err := l.readOnce(ctx)
		if final || ctx.Err() != nil {
			return ctx.Err()
		}

		if idle++; l.heard != before {
			idle = 0
		}

		missing := errors.Is(err, io.EOF) || kerrors.IsNotFound(err) || kerrors.IsBadRequest(err)
		if over && missing {
			tries++
		}

		late := over && l.now().Sub(ended) > logPatience
		if tries >= logTries || late && !succeeded {
			return err
		}

		// A Pod that has succeeded has written its last report. Without that, the run would be repeated.
		if late && !missing && err.Error() != told {
			told = err.Error()

			select {
			case l.frames <- heard{unread: err}:
			case <-ctx.Done():
				return ctx.Err()
			}
		}

		doubled := min(idle, maxDoubled)
		if over && !late {
			doubled = min(tries, maxDoubledOver)
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(logAgain << doubled):
		}
	}
}

// isOver is true once the container of the run has ended. Of a Pod that is gone the log may be, too.
func (l *podLog) isOver() (over, ok bool) {
	p, gone := l.sight.last()

	return gone || stopped(p), !gone && succeeded(p)
}

// readOnce reads the log from its start until it breaks off. It is true once the last report was read. What was read
// before is left out: reports have numbers.
func (l *podLog) readOnce(ctx context.Context) (final bool, err error) {
	stream, err := l.logs.CoreV1().Pods(l.namespace).GetLogs(l.pod,
		&corev1.PodLogOptions{Container: containerRun, Follow: true}).Stream(ctx)
	if err != nil {
		return false, errors.Wrap(err, "cannot read the log of the Pod")
	}
	defer stream.Close() //nolint:errcheck // It was read.

	// A run keeps it for as long as it takes. Longer lines are put together.
	lines := bufio.NewReader(paced{stream, func(n int) error { return l.pace.WaitN(ctx, n) }})

	l.shown.again()

	for {
		line, err := readLine(lines)
		if err != nil {
			return false, err
		}

		if !sealed.MayBeFrame(line) {
			l.shown.log.Load().Add(line)
			continue
		}

		if final, err := l.pass(ctx, line); final || err != nil {
			return final, err
		}
	}
}

// newPace of reading a log.
func newPace() *rate.Limiter { return rate.NewLimiter(logRate, logBurst) }

// pass on a line that may be a report. It is true for the last report.
func (l *podLog) pass(ctx context.Context, line []byte) (final bool, err error) {
	before := l.reader.Cost

	h, ok, err := l.unpack(ctx, line)
	if err != nil {
		return false, err
	}

	if ok {
		l.heard++

		select {
		case l.frames <- h:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}

	if h.Final {
		return true, nil
	}

	// What is waited for here is not held: many logs are read at a time.
	return false, l.pace.WaitN(ctx, l.reader.Cost-before)
}

// unpack a line that may be a report.
func (l *podLog) unpack(ctx context.Context, line []byte) (h heard, ok bool, err error) {
	select {
	case l.unpacking <- struct{}{}:
	case <-ctx.Done():
		return h, false, ctx.Err()
	}
	defer func() { <-l.unpacking }()

	f, ok := l.reader.Read(line)
	if !ok {
		return h, false, nil
	}

	return hear(f), true, nil
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
