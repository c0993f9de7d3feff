package telemetry

import (
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
)

const (
	// memory is how many events are remembered.
	memory = 8192
	// lifetime of an event in the API server, by default. What that has
	// forgotten may be said again.
	lifetime = time.Hour
)

// A Novel recorder records what it has not just recorded: reconciles report the
// same failure as often as they are tried.
type Novel struct {
	recorder event.Recorder
	last     *lru.Cache
	now      func() time.Time
}

// NewNovel returns a recorder that drops an event that repeats the last one of
// the same object and reason. Messages that differ in numbers only, such as
// times and attempts, are the same.
func NewNovel(r event.Recorder) *Novel {
	return &Novel{recorder: r, last: lru.New(memory), now: time.Now}
}

type subject struct {
	uid    types.UID
	reason event.Reason
}

type said struct {
	message string
	at      time.Time
}

// Event records an event that is new.
func (n *Novel) Event(obj runtime.Object, e event.Event) {
	o, err := meta.Accessor(obj)
	if err != nil {
		n.recorder.Event(obj, e)
		return
	}

	about, now, message := subject{o.GetUID(), e.Reason}, n.now(), gist(e.Message)

	if was, ok := n.last.Get(about); ok {
		if s, ok := was.(said); ok && s.message == message && now.Sub(s.at) < lifetime {
			return
		}
	}

	n.last.Add(about, said{message, now})
	n.recorder.Event(obj, e)
}

// WithAnnotations returns a recorder with the same memory.
func (n *Novel) WithAnnotations(kv ...string) event.Recorder {
	return &Novel{recorder: n.recorder.WithAnnotations(kv...), last: n.last, now: n.now}
}

// gist of a message: all of it but its numbers, and no more than is remembered.
func gist(s string) string {
	return clip.Text(strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}

		return r
	}, s), maxMessage)
}
