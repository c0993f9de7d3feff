package telemetry

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
)

const (
	// maxRemembered is the number of topics with a remembered event.
	maxRemembered = 8192
	// lifetime of an event in the API server, by default. An event that has expired there is recorded again.
	lifetime = time.Hour
)

// deduplicated drops an event that repeats the last event of the same object and reason. A reconcile that keeps failing
// reports its failure each time: client-go would write to the API server to count the repetitions, and drop other
// events of the object after 25, see https://pkg.go.dev/k8s.io/client-go/tools/record#CorrelatorOptions.
type deduplicated struct {
	recorder event.Recorder
	// messages has the gist of the last message of each topic.
	messages *cache.LRUExpireCache
}

// A topic is an object and a reason of its events.
type topic struct {
	uid    types.UID
	reason event.Reason
}

// Deduplicated returns a recorder that drops an event that repeats the last event of the same object and reason.
// Messages that differ only in words with digits or paths, such as times and attempts, are the same.
func Deduplicated(r event.Recorder) event.Recorder {
	return &deduplicated{recorder: r, messages: cache.NewLRUExpireCache(maxRemembered)}
}

// Event records an event, unless it repeats the last event of its topic.
func (d *deduplicated) Event(obj runtime.Object, e event.Event) {
	if o, err := meta.Accessor(obj); err == nil {
		about, message := topic{o.GetUID(), e.Reason}, clip.Text(common.Gist(e.Message), maxMessage)

		if last, ok := d.messages.Get(about); ok && last == message {
			return
		}

		d.messages.Add(about, message, lifetime)
	}

	d.recorder.Event(obj, e)
}

// WithAnnotations returns a recorder that shares the remembered events.
func (d *deduplicated) WithAnnotations(kv ...string) event.Recorder {
	return &deduplicated{recorder: d.recorder.WithAnnotations(kv...), messages: d.messages}
}
