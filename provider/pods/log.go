package pods

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/sealed"
)

const (
	// logAgain is how long to wait before a log that broke off is asked for again.
	logAgain = 500 * time.Millisecond
	// logRate is how many bytes of a log are read per second for long, and logBurst how many at once,
	// with those of its reports when they are unpacked: reading must not take the provider, nor the
	// API server and the kubelet, for what a hostile image writes. A kubelet keeps a few files of
	// 10 MiB each.
	logRate  = 2 << 20
	logBurst = 16 << 20
	// unpackers is how many reports are unpacked at a time.
	unpackers = 2
	// logTries is how often the log of a Pod that has ended is read in search of the last report,
	// and logPatience how long while it cannot be read.
	logTries    = 3
	logPatience = 2 * time.Minute
)

// followLog of a Pod, in the background. It is false if that cannot be done, or was done before.
func (r *run) followLog(pod *corev1.Pod) bool {
	if r.key == nil || r.following != nil && r.following.UID == pod.UID {
		return false
	}

	reader, err := sealed.NewReader(r.key, r.job.ID, string(pod.UID))
	if err != nil {
		return false // The key has the right length.
	}

	r.stop()

	ctx, cancel := context.WithCancel(r.config.Context)
	r.following, r.stop, r.read = pod, cancel, false
	r.frames, r.logged = make(chan heard), make(chan struct{})

	l := podLog{
		Executor: r.Executor, reader: reader, pace: newPace(),
		scope: r.scope, namespace: r.ref.Namespace, pod: pod.Name, frames: r.frames, shown: r.shown,
	}
	logged := r.logged

	go func() {
		defer close(logged)

		if err := l.follow(ctx); err != nil {
			l.config.Log.Debug("Cannot read the last report in the log of a Pod", "namespace", l.namespace, "pod", l.pod, "error", err)
		}
	}()

	return true
}

// A podLog is the log of a run's Pod.
type podLog struct {
	*Executor

	reader         *sealed.Reader
	pace           *rate.Limiter
	scope          *scope
	namespace, pod string
	frames         chan<- heard
	shown          *shown
}

// follow the log to its end, whatever breaks off meanwhile.
func (l podLog) follow(ctx context.Context) error {
	var (
		since *metav1.Time
		ended time.Time
	)

	for tries := 0; ; {
		// A log that was opened after the end of its container is whole.
		over := l.isOver(ctx)
		if over && ended.IsZero() {
			ended = l.now()
		}

		final, last, err := l.readOnce(ctx, since)
		if final || ctx.Err() != nil {
			return ctx.Err()
		}

		if last != nil {
			since = last
		}

		if over && (errors.Is(err, io.EOF) || kerrors.IsNotFound(err)) {
			tries++
		}

		if tries >= logTries || over && l.now().Sub(ended) > logPatience {
			return err
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(logAgain << min(tries, 3)):
		}
	}
}

// isOver is true once the container of the run has ended.
func (l podLog) isOver(ctx context.Context) bool {
	p := &corev1.Pod{}
	if err := l.scope.Get(ctx, client.ObjectKey{Namespace: l.namespace, Name: l.pod}, p); err != nil {
		return true
	}

	return view{pod: p}.stopped()
}

// readOnce reads the log until it breaks off. Final is true once the last report was read. Last
// is when the last report that was read was written, nil for none.
func (l podLog) readOnce(ctx context.Context, since *metav1.Time) (final bool, last *metav1.Time, err error) {
	stream, err := l.logs.CoreV1().Pods(l.namespace).GetLogs(l.pod, &corev1.PodLogOptions{Container: containerRun, Follow: true, SinceTime: since}).Stream(ctx)
	if err != nil {
		return false, nil, errors.Wrap(err, "cannot read the log of the Pod")
	}
	defer stream.Close() //nolint:errcheck // It was read.

	// A run keeps it for as long as it takes. Longer lines are put together.
	lines := bufio.NewReader(paced{stream, func(n int) error { return l.pace.WaitN(ctx, n) }})

	for {
		line, err := readLine(lines)
		if err != nil {
			return false, last, err
		}

		if !sealed.MayBeFrame(line) {
			l.shown.Add(line)
			continue
		}

		before := l.reader.Cost
		written, final, err := l.pass(ctx, line)

		if last = cmp.Or(written, last); final || err != nil {
			return final, last, err
		}

		// What is waited for here is not held: many logs are read at a time.
		if err := l.pace.WaitN(ctx, l.reader.Cost-before); err != nil {
			return false, last, err //nolint:wrapcheck // Nobody reads any more.
		}
	}
}

// newPace of reading a log.
func newPace() *rate.Limiter { return rate.NewLimiter(logRate, logBurst) }

// pass on a line that may be a report. Written is when the report was written, nil for none. Final is
// true for the last one.
func (l podLog) pass(ctx context.Context, line []byte) (written *metav1.Time, final bool, err error) {
	h, ok, err := l.unpack(ctx, line)
	if err != nil || !ok {
		return nil, false, err
	}

	select {
	case l.frames <- h:
		return &metav1.Time{Time: h.Time}, h.Final, nil
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

// unpack a line that may be a report.
func (l podLog) unpack(ctx context.Context, line []byte) (h heard, ok bool, err error) {
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

	return n, err //nolint:wrapcheck // A reader is to return the end of another one as it is.
}

// readLine reads a line. What is longer than a frame may be is left out, and of a long line that
// is no frame all but its beginning: many logs are read at a time.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte

	for {
		part, more, err := r.ReadLine()
		if err != nil {
			return nil, err //nolint:wrapcheck // The caller does.
		}

		if len(line)+len(part) > sealed.MaxLine || len(line) > 0 && !sealed.MayBeFrame(line) {
			part = nil
		}

		if line = append(line, part...); !more {
			return line, nil
		}
	}
}
