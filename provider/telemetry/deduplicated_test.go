package telemetry

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"

	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
)

// recorded collects events.
type recorded struct {
	objects []runtime.Object
	events  []event.Event
}

func (r *recorded) Event(o runtime.Object, e event.Event) {
	r.objects = append(r.objects, o)
	r.events = append(r.events, e)
}

func (r *recorded) WithAnnotations(...string) event.Recorder { return r }

func TestDeduplicated(t *testing.T) {
	object := func(uid types.UID) runtime.Object {
		return &v1alpha1.AnsibleRun{ObjectMeta: metav1.ObjectMeta{UID: uid}}
	}
	cannot := func(why string) event.Event { return event.Warning("CannotObserve", errors.New(why)) }

	steps := []struct {
		reason string
		after  time.Duration
		object runtime.Object
		event  event.Event
		want   bool
	}{
		{"The first event should be recorded.", 0, object("a"), cannot("attempt 2 follows at 10:01"), true},
		{"A repeated event should not be recorded.", time.Second, object("a"), cannot("attempt 2 follows at 10:01"), false},
		{"An event that differs only in numbers should not be recorded.", time.Minute, object("a"), cannot("attempt 13 follows at 10:02"), false},
		{"A failure with a path should be recorded.", 2 * time.Minute, object("b"), cannot("no space: b'/tmp/tmpx'"), true},
		{"A failure that differs only in a path should not be recorded.", 2 * time.Minute, object("b"), cannot("no space: b'/tmp/tmpy'"), false},
		{"A failure about a Secret should be recorded.", 2 * time.Minute, object("b"), cannot("no Secret default/a"), true},
		{"A failure about another Secret should be recorded.", 2 * time.Minute, object("b"), cannot("no Secret default/b"), true},
		{"An equal event of another object should be recorded.", time.Minute, object("b"), cannot("attempt 2 follows at 10:01"), true},
		{"Another reason should be recorded.", time.Minute, object("a"), event.Normal("Updated", "updated"), true},
		{"An event should not be recorded again because of an event with another reason in between.", time.Minute, object("a"), cannot("attempt 3 follows at 10:03"), false},
		{"Another message should be recorded.", time.Minute, object("a"), cannot("gave up"), true},
		{"An event should be recorded after another message of its topic.", 2 * time.Minute, object("a"), cannot("attempt 2 follows at 10:01"), true},
		{"An event should be recorded again after its lifetime in the API server.", 2*time.Minute + lifetime + time.Second, object("a"), cannot("attempt 2 follows at 10:01"), true},
	}

	into, start := &recorded{}, time.Now()
	c := clocktesting.NewFakePassiveClock(start)
	d := &deduplicated{recorder: into, messages: cache.NewLRUExpireCacheWithClock(maxRemembered, c)}

	for _, s := range steps {
		c.SetTime(start.Add(s.after))
		before := len(into.events)

		d.Event(s.object, s.event)

		if got := len(into.events) > before; got != s.want {
			t.Errorf("%s After %s, %q: want recorded %t, got %t", s.reason, s.after, s.event.Message, s.want, got)
		}
	}

	d.WithAnnotations("a", "b").Event(object("a"), cannot("attempt 2 follows at 10:01"))

	if got := into.events[len(into.events)-1]; len(into.events) != 9 {
		t.Errorf("A recorder with annotations should have the same memory, got %v", got)
	}
}
