package pods

import (
	"bufio"
	"context"
	"crypto/sha256"
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
			l.config.Log.Debug("Cannot read the last report in the log of a Pod", "namespace", l.namespace, "pod", l.pod,
				"error", err)
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

// A position is how far a log was read.
type position struct {
	// since is when the last report that was read was written; nil for none.
	since *metav1.Time
	// report is the hash of its line, and after how many lines were shown after it.
	report [sha256.Size]byte
	after  int
}

// follow the log to its end, whatever breaks off meanwhile.
func (l podLog) follow(ctx context.Context) error {
	var (
		at    position
		ended time.Time
		told  string
	)

	for tries, idle := 0, 0; ; {
		// A log that was opened after the end of its container is whole.
		over, succeeded := l.isOver(ctx)
		if over && ended.IsZero() {
			ended = l.now()
		}

		before := at

		final, err := l.readOnce(ctx, &at)
		if final || ctx.Err() != nil {
			return ctx.Err()
		}

		if idle++; at != before {
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

// isOver is true once the container of the run has ended. It has succeeded if the Pod is there and has.
func (l podLog) isOver(ctx context.Context) (over, succeeded bool) {
	p := &corev1.Pod{}
	if err := l.scope.Get(ctx, client.ObjectKey{Namespace: l.namespace, Name: l.pod}, p); err != nil {
		return true, false
	}

	v := view{pod: p}
	c := v.container()

	return v.stopped(), c != nil && c.State.Terminated != nil && c.State.Terminated.ExitCode == 0
}

// readOnce reads the log from a position until it breaks off, and moves that. It is true once the last
// report was read.
func (l podLog) readOnce(ctx context.Context, at *position) (final bool, err error) {
	stream, err := l.logs.CoreV1().Pods(l.namespace).GetLogs(l.pod,
		&corev1.PodLogOptions{Container: containerRun, Follow: true, SinceTime: at.since}).Stream(ctx)
	if err != nil {
		return false, errors.Wrap(err, "cannot read the log of the Pod")
	}
	defer stream.Close() //nolint:errcheck // It was read.

	// A run keeps it for as long as it takes. Longer lines are put together.
	lines := bufio.NewReader(paced{stream, func(n int) error { return l.pace.WaitN(ctx, n) }})

	// What was shown before is not shown again: the log begins in the second of the last report.
	known, again := at.since == nil, at.after

	for {
		line, err := readLine(lines)
		if err != nil {
			return false, err
		}

		switch frame := sealed.MayBeFrame(line); {
		case frame && !known && sha256.Sum256(line) == at.report:
			known = true
		case frame:
			was := at.report
			if final, err := l.pass(ctx, line, at); final || err != nil {
				return final, err
			}

			if at.report != was {
				known, again = true, 0
			}
		case !known:
		case again > 0:
			again--
		default:
			l.shown.Add(line)
			at.after++
		}
	}
}

// newPace of reading a log.
func newPace() *rate.Limiter { return rate.NewLimiter(logRate, logBurst) }

// pass on a line that may be a report, and move the position behind it. It is true for the last report.
func (l podLog) pass(ctx context.Context, line []byte, at *position) (final bool, err error) {
	before := l.reader.Cost

	h, ok, err := l.unpack(ctx, line)
	if err != nil {
		return false, err
	}

	if ok {
		select {
		case l.frames <- h:
		case <-ctx.Done():
			return false, ctx.Err()
		}

		*at = position{since: &metav1.Time{Time: h.Time}, report: sha256.Sum256(line)}
	}

	if h.Final {
		return true, nil
	}

	// What is waited for here is not held: many logs are read at a time.
	return false, l.pace.WaitN(ctx, l.reader.Cost-before)
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
