package dependents

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

const run types.UID = "1-2"

// object returns an object with a generation that the run has made.
func object(name string, generation int64) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team-a", Name: name, UID: types.UID(name), Generation: generation, ResourceVersion: "1", Labels: map[string]string{Label(run): "true"},
		},
	}
}

func deployments() common.DependentKind {
	return common.DependentKind{APIVersion: "apps/v1", Kind: "Deployment", Resource: "deployments", Namespace: "team-a"}
}

func TestVersion(t *testing.T) {
	fields := func(entries ...metav1.ManagedFieldsEntry) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ManagedFields: entries, ResourceVersion: "1"}}
	}
	at := func(second int) metav1.ManagedFieldsEntry {
		now := metav1.NewTime(time.Unix(int64(second), 0))
		return metav1.ManagedFieldsEntry{Manager: "a", Operation: metav1.ManagedFieldsOperationUpdate, Time: &now, FieldsV1: metav1.NewFieldsV1(`{"f:data":{}}`)}
	}
	status := at(9)
	status.Subresource = "status"

	annotated := object("a", 1)
	annotated.Annotations, annotated.ResourceVersion = map[string]string{"a": "b"}, "2"

	other := object("a", 0)
	other.ResourceVersion = "2"

	for name, tc := range map[string]struct {
		reason string
		a, b   *metav1.PartialObjectMetadata
		same   bool
	}{
		"Spec":      {"A generation counts changes of the spec.", object("a", 1), object("a", 2), false},
		"Metadata":  {"An annotation, as controllers set it, is no change.", object("a", 1), annotated, true},
		"Field":     {"Without a generation, a new time in the managed fields is a change.", fields(at(1)), fields(at(2)), false},
		"Status":    {"A change of the status is no change.", fields(at(1)), fields(at(1), status), true},
		"NoManager": {"Without managed fields, a new resource version is a change.", object("a", 0), other, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := version(tc.a) == version(tc.b); got != tc.same {
				t.Errorf("%s\nwant the same %t, got %q, %q", tc.reason, tc.same, version(tc.a), version(tc.b))
			}
		})
	}
}

// cluster returns a client with the objects of a run.
func cluster(t *testing.T, o ...runtime.Object) *fake.FakeMetadataClient {
	t.Helper()

	scheme := fake.NewTestScheme()
	needs.OK(t, metav1.AddMetaToScheme(scheme))

	return fake.NewSimpleMetadataClient(scheme, o...)
}

// deleted is true for the object that the run has deleted.
func deleted(_ common.DependentKind, name string) bool { return name == "mine" }

// going returns an object that is being deleted.
func going(name string) *metav1.PartialObjectMetadata {
	o := object(name, 1)
	o.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}

	return o
}

func TestWatcher(t *testing.T) {
	ended := Run{
		UID: run, Watched: func(common.DependentKind) bool { return true },
		Deleted: deleted,
	}
	resource, things := deployments(), deployments()
	things.Kind, things.Resource = "Thing", "things"
	expired := kerrors.NewResourceExpired("old").Status()
	notFound, forbidden := kerrors.NewNotFound(schema.GroupResource{Resource: "deployments"}, ""), errors.New("forbidden")
	gvr := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

	deleting := func(name string) func(*fake.FakeMetadataClient) {
		return func(c *fake.FakeMetadataClient) {
			_ = c.Resource(gvr).Namespace("team-a").Delete(context.Background(), name, metav1.DeleteOptions{})
		}
	}
	updating := func(o *metav1.PartialObjectMetadata) func(*fake.FakeMetadataClient) {
		return func(c *fake.FakeMetadataClient) { needs.OK(t, c.Tracker().Update(gvr, o, "team-a")) }
	}
	annotated, terminating := object("a", 1), object("a", 2)
	annotated.Annotations = map[string]string{"a": "b"}
	terminating.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}

	refusing := func(resource string, err error) func(*fake.FakeMetadataClient) {
		return func(c *fake.FakeMetadataClient) {
			c.PrependReactor("list", resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err })
		}
	}

	for name, tc := range map[string]struct {
		reason string
		// more objects beside the object a.
		more []runtime.Object
		// before and after change objects before and after the watch begins.
		before, after func(c *fake.FakeMetadataClient)
		want          bool
		err           bool
	}{
		"Nothing": {"Nothing has changed.", nil, nil, nil, false, false},
		"Same":    {"An update without a new version is no change.", nil, nil, updating(annotated), false, false},
		"Changed": {"A change of a spec is reported.", nil, nil, updating(object("a", 2)), true, false},
		"Leaving": {"The start of a deletion is no change; its end is.", nil, nil, updating(terminating), false, false},
		"Foreign": {"An object that is labeled later is not watched.", nil, nil, func(c *fake.FakeMetadataClient) {
			needs.OK(t, c.Tracker().Create(gvr, object("foreign", 1), "team-a"))
			deleting("foreign")(c)
		}, false, false},
		"Deleted":       {"The deletion of an object is reported.", nil, nil, deleting("a"), true, false},
		"DeletedBefore": {"A deletion before the watch begins is reported.", nil, deleting("a"), nil, true, false},
		"WasGoing":      {"The end of an object that was being deleted at the end of the run is reported.", []runtime.Object{going("going")}, nil, deleting("going"), true, false},
		"WasMine":       {"The end of an object that the run has deleted is no change.", []runtime.Object{going("mine")}, nil, deleting("mine"), false, false},
		"DeletedBetween": {"A deletion between two watches, the first of which has expired, is reported.", nil, func(c *fake.FakeMetadataClient) {
			c.PrependWatchReactor("deployments", func(clienttesting.Action) (bool, watch.Interface, error) {
				ended := make(chan watch.Event, 1)
				ended <- watch.Event{Type: watch.Error, Object: &expired}
				close(ended)

				return true, watch.NewProxyWatcher(ended), nil
			})
		}, deleting("a"), true, false},
		"Gone":           {"The removal of a kind is reported as a change.", nil, refusing("deployments", notFound), nil, true, false},
		"OtherForbidden": {"An error is returned if the account may not list one of the kinds.", nil, refusing("things", forbidden), nil, false, true},
		"DeletedBeside":  {"A deletion is reported although the account may not list another kind.", nil, refusing("things", forbidden), deleting("a"), true, false},
		"Forbidden":      {"An error is returned if the account may not list any kind.", nil, refusing("*", forbidden), nil, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				thing := object("b", 1)
				thing.Kind = "Thing"

				c := cluster(t, append(tc.more, object("a", 1), thing)...)
				ctx, cancel := context.WithCancel(t.Context())

				w := New(ctx, func(inputs.Kubernetes) (metadata.Interface, error) { return c, nil })
				s := Subject{UID: run, Kinds: Survey(ctx, c, ended, []common.DependentKind{things, resource})}

				if len(s.Kinds) != 2 || s.Kinds[1].Digest == "" {
					t.Fatalf("want objects of both kinds, got %+v", s.Kinds)
				}

				if tc.before != nil {
					tc.before(c)
				}

				var woken atomic.Int64

				again := func() { t.Errorf("A watch should begin once") }

				if changed, err := w.Watch(s, func() { woken.Add(1) }); changed || err != nil {
					t.Errorf("Nothing should be known yet, got %t, %v", changed, err)
				}

				_, _ = w.Watch(s, again)
				synctest.Wait()

				if tc.after != nil {
					tc.after(c)
				}

				time.Sleep(2*reopen + 2*firstPause)
				synctest.Wait()

				got, err := w.Watch(s, again)
				if got != tc.want || (err != nil) != tc.err || (woken.Load() > 0) != (tc.want || tc.err) {
					t.Errorf("%s\nwant changed %t and an error %t, got %t and %v, and was woken %d times", tc.reason, tc.want, tc.err, got, err, woken.Load())
				}

				// The dependents after the next run have another state.
				s.Kinds = slices.Clone(s.Kinds)
				s.Kinds[0].Digest = "another"

				if got, err := w.Watch(s, func() {}); got || err != nil {
					t.Errorf("Nothing should be known of another state, got %t, %v", got, err)
				}

				cancel()
				w.Forget(run)
				synctest.Wait()
			})
		})
	}
}

// TestTooMany checks that the watches of one namespace leave room for those of others.
func TestTooMany(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	w := New(ctx, func(inputs.Kubernetes) (metadata.Interface, error) { return nil, errors.New("no") })

	var refused []string

	watch := func(uid types.UID, namespace string) {
		s := Subject{UID: uid, Account: inputs.Kubernetes{Namespace: namespace}, Kinds: make([]common.DependentKind, common.MaxDependents)}

		if _, err := w.Watch(s, func() {}); err != nil && strings.Contains(err.Error(), "and may have 500") {
			refused = append(refused, string(uid))
		}
	}

	for i := range 6 {
		watch(types.UID("a"+strconv.Itoa(i)), "team-a")
	}

	watch("b", "team-b")
	w.Stop("a0")
	watch("a5", "team-a")

	if diff := cmp.Diff([]string{"a5"}, refused); diff != "" {
		t.Errorf("want the last to have room once another one is gone, -want, +got:\n%s", diff)
	}
}

func TestCheck(t *testing.T) {
	thing := deployments()
	thing.Kind = "Thing"

	elsewhere := deployments()
	elsewhere.Namespace = "team-b"

	for name, tc := range map[string]struct {
		reason string
		kinds  []common.DependentKind
		valid  bool
	}{
		"Namespaces": {"A kind may be in two namespaces.", []common.DependentKind{deployments(), elsewhere}, true},
		"Kinds":      {"A resource cannot have two kinds, as a report of a Pod may claim.", []common.DependentKind{deployments(), thing}, false},
		"Many":       {"The number of kinds is limited.", make([]common.DependentKind, common.MaxDependents+1), false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := Check(tc.kinds); (err == nil) != tc.valid {
				t.Errorf("%s\nwant valid %t, got %v", tc.reason, tc.valid, err)
			}
		})
	}
}

func TestSurvey(t *testing.T) {
	digest := state{"a": version(object("a", 1))}.digest()

	counted := deployments()
	counted.Digest = digest

	leave := counted
	leave.Digest = state{"a": terminating}.digest()

	many := make([]common.DependentKind, common.MaxDependents+1)
	for i := range many {
		many[i] = deployments()
	}

	for name, tc := range map[string]struct {
		reason  string
		objects []runtime.Object
		err     error
		watched bool
		kinds   []common.DependentKind
		want    []common.DependentKind
	}{
		"Objects":   {"A kind with objects gets their digest.", []runtime.Object{object("a", 1)}, nil, true, []common.DependentKind{deployments()}, []common.DependentKind{counted}},
		"None":      {"A kind without objects is left out.", nil, nil, true, []common.DependentKind{deployments()}, []common.DependentKind{}},
		"Gone":      {"A kind that no longer exists is left out.", nil, kerrors.NewNotFound(schema.GroupResource{}, ""), true, []common.DependentKind{deployments()}, []common.DependentKind{}},
		"Going":     {"An object that is being deleted is part of the digest.", []runtime.Object{going("a")}, nil, true, []common.DependentKind{deployments()}, []common.DependentKind{leave}},
		"Deleted":   {"An object that the run has deleted is no part of the digest.", []runtime.Object{going("mine")}, nil, true, []common.DependentKind{deployments()}, []common.DependentKind{}},
		"Forbidden": {"A kind that cannot be listed is kept without a digest.", nil, errors.New("no"), true, []common.DependentKind{deployments()}, []common.DependentKind{deployments()}},
		"Ignored":   {"A kind that is not watched is kept without a digest.", nil, nil, false, []common.DependentKind{deployments()}, []common.DependentKind{deployments()}},
		"Many":      {"The number of kinds is limited.", nil, nil, false, many, many[:common.MaxDependents]},
	} {
		t.Run(name, func(t *testing.T) {
			c := cluster(t, tc.objects...)
			if tc.err != nil {
				c.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, tc.err })
			}

			got := Survey(t.Context(), c, Run{UID: run, Watched: func(common.DependentKind) bool { return tc.watched }, Deleted: deleted}, tc.kinds)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestPause checks that frequent changes do not keep the provider busy.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(t.Context(), nil)

		var got []time.Duration

		for range 12 {
			d := w.pause(run)
			got = append(got, d)

			time.Sleep(d)
		}

		if got[0] != firstPause || got[1] != 2*firstPause || got[11] != longestPause {
			t.Errorf("want pauses that grow up to %s, got %v", longestPause, got)
		}

		time.Sleep(2*longestPause + time.Second)

		if d := w.pause(run); d != firstPause {
			t.Errorf("want a short pause after a calm time, got %s", d)
		}
	})
}
