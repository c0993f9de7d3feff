package pods

import (
	"bufio"
	"context"
	"io"
	"time"

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

	reader, err := sealed.NewReader(r.key, r.job.ID)
	if err != nil {
		return false // The key has the right length.
	}

	r.stop()

	ctx, cancel := context.WithCancel(r.config.Context)
	r.following, r.stop, r.read = pod, cancel, false
	r.frames, r.logged = make(chan sealed.Frame), make(chan struct{})

	l := podLog{Executor: r.Executor, reader: reader, scope: r.scope, namespace: r.ref.Namespace, pod: pod.Name, frames: r.frames}
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
	scope          *scope
	namespace, pod string
	frames         chan<- sealed.Frame
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

	lines := bufio.NewReader(stream) // A run keeps it for as long as it takes. Longer lines are put together.

	for {
		line, err := readLine(lines)
		if err != nil {
			return false, last, err
		}

		f, ok := l.reader.Read(line)
		if !ok {
			continue
		}

		last = &metav1.Time{Time: f.Time}

		select {
		case l.frames <- f:
		case <-ctx.Done():
			return false, last, ctx.Err()
		}

		if f.Final {
			return true, last, nil
		}
	}
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
