package controller

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	clusterv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/cluster/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/lifecycle"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// A world is an object, the runtime's reconciler, and a target that runs change
// at once.
type world struct {
	kube       client.Client
	reconciler *managed.Reconciler
	object     common.AnsibleRun
	now        time.Time

	// wanted is what the inputs want of the target, and target how it is.
	wanted, target string
	// fails is true when runs fail that change something.
	fails bool
	// ran are the runs since ran was last compared, and ids is the number of all.
	ran []string
	ids int

	pool *steps
}

// fakeKube is an API server with an object.
func fakeKube(t *testing.T, run client.Object) client.WithWatch {
	t.Helper()

	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, clusterv1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}

	return fake.NewClientBuilder().WithScheme(s).WithStatusSubresource(run).WithObjects(run).Build()
}

func newWorld(t *testing.T, run common.AnsibleRun) *world {
	t.Helper()

	w := &world{kube: fakeKube(t, run), object: run, now: t0, wanted: "one"}

	w.pool = &steps{now: func() time.Time { return w.now }, free: true, begins: w.run}

	c := newConnector(w.pool, func(c *connector) {
		c.Resolver = resolverFn(func() (inputs.Inputs, error) { return in(w.wanted), nil })
		c.now = func() time.Time { return w.now }
		c.newID = func() string { w.ids++; return strconv.Itoa(w.ids) }
	})

	if _, ok := run.(resource.LegacyManaged); ok {
		c.kind = runKinds()[0]
	}

	w.reconciler = runtimeOf(w.kube, c)

	return w
}

// run carries a run out at once.
func (w *world) run(j runs.Run) {
	r := w.pool.report
	r.Run.CompletionTime = r.Run.StartTime
	r.Run.Phase = common.PhaseSucceeded
	r.Run.Hosts = &common.HostTotals{OK: 1}

	want := j.Inputs.Parameters.PlaybookInline

	switch {
	case j.Mode == common.ModeCheck:
		w.ran = append(w.ran, "check")

		if w.target != want {
			r.Run.Hosts.Changed = 1
		}
	case w.fails:
		w.ran = append(w.ran, "fail")
		r.Run.Phase, r.Run.Message = common.PhaseFailed, "no space"
	case j.State == common.StateAbsent:
		w.ran = append(w.ran, "absent")
		w.target = ""
	default:
		w.ran = append(w.ran, "apply")
		w.target = want
	}
}

func (w *world) reconcile(t *testing.T) {
	t.Helper()

	if _, err := w.reconciler.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(w.object)}); err != nil {
		t.Fatalf("cannot reconcile: %s", err)
	}
}

// settle until nothing happens any more, and say what was run.
func (w *world) settle(t *testing.T) string {
	t.Helper()

	for range 8 {
		w.reconcile(t)
	}

	ran := strings.Join(w.ran, " ")
	w.ran = nil

	if ran == "" {
		return "-"
	}

	return ran
}

// later is when the next poll is due.
func (w *world) later() { w.now = w.now.Add(20 * time.Minute) }

// change the inputs.
func (w *world) change(t *testing.T) {
	t.Helper()
	w.wanted += "+"
	w.update(t, func(run common.AnsibleRun) { run.SetGeneration(run.GetGeneration() + 1) })
}

func (w *world) update(t *testing.T, fn func(run common.AnsibleRun)) {
	t.Helper()
	w.read(t)
	fn(w.object)

	if err := w.kube.Update(t.Context(), w.object); err != nil {
		t.Fatalf("cannot update the object: %s", err)
	}
}

func (w *world) annotate(t *testing.T, k, v string) {
	t.Helper()
	w.update(t, func(run common.AnsibleRun) { meta.AddAnnotations(run, map[string]string{k: v}) })
}

// read the object, and return a condition.
func (w *world) condition(t *testing.T, c xpv2.ConditionType) xpv2.Condition {
	t.Helper()
	w.read(t)

	return w.object.GetCondition(c)
}

func (w *world) read(t *testing.T) {
	t.Helper()

	if err := w.kube.Get(t.Context(), client.ObjectKeyFromObject(w.object), w.object); err != nil {
		t.Fatalf("cannot get the object: %s", err)
	}
}

// remove the object, and say what was run, and whether the object went.
func (w *world) remove(t *testing.T) string {
	t.Helper()

	if err := w.kube.Delete(t.Context(), w.object); err != nil {
		t.Fatalf("cannot delete the object: %s", err)
	}

	ran := w.settle(t)

	if err := w.kube.Get(context.Background(), client.ObjectKeyFromObject(w.object), w.object); kerrors.IsNotFound(err) {
		return ran + " gone"
	}

	return ran + " stays"
}

// sets of actions that the runtime supports.
func managementPolicies() map[string]xpv2.ManagementPolicies {
	o, c, u, d, l := xpv2.ManagementActionObserve, xpv2.ManagementActionCreate, xpv2.ManagementActionUpdate, xpv2.ManagementActionDelete, xpv2.ManagementActionLateInitialize

	return map[string]xpv2.ManagementPolicies{
		"*":     {xpv2.ManagementActionAll},
		"OCUDL": {o, c, u, d, l},
		"OCUD":  {o, c, u, d},
		"OCUL":  {o, c, u, l},
		"OCU":   {o, c, u},
		"OCDL":  {o, c, d, l},
		"OCD":   {o, c, d},
		"OCL":   {o, c, l},
		"OC":    {o, c},
		"OUL":   {o, u, l},
		"OU":    {o, u},
		"OD":    {o, d},
		"OL":    {o, l},
		"O":     {o},
		"":      {},
	}
}

// TestManagementPolicies takes an object through its life with the runtime's own
// reconciler, under each set of actions that the runtime supports and each run
// policy.
func TestManagementPolicies(t *testing.T) {
	// A life is what was run when the object was created, when it was polled,
	// when the target had drifted at a poll, when the inputs were changed, when a
	// run was requested, and when the object was deleted.
	type life struct {
		Created, Polled, Drifted, Changed, Requested, Deleted string
	}

	// The combinations are alike in these ways. LateInitialize makes no
	// difference: there is nothing to initialize.
	const (
		all      = "everything"
		orphan   = "everything but the deletion"
		create   = "the first apply and the deletion"
		leave    = "the first apply"
		remove   = "the deletion"
		none     = "nothing"
		untended = "paused"
	)

	observeAndDelete, checkWhenObserve, runOnChange := common.ObserveAndDelete, common.CheckWhenObserve, common.RunOnChange

	lives := map[string]map[common.RunPolicy]life{
		all: {
			observeAndDelete: {"apply", "apply", "apply", "apply", "apply", "absent gone"},
			checkWhenObserve: {"check apply", "check", "check apply", "check apply", "check", "absent gone"},
			runOnChange:      {"apply", "-", "-", "apply", "apply", "absent gone"},
		},
		orphan: {
			observeAndDelete: {"apply", "apply", "apply", "apply", "apply", "- gone"},
			checkWhenObserve: {"check apply", "check", "check apply", "check apply", "check", "- gone"},
			runOnChange:      {"apply", "-", "-", "apply", "apply", "- gone"},
		},
		create: {
			observeAndDelete: {"apply", "-", "-", "-", "-", "absent gone"},
			checkWhenObserve: {"check apply", "check", "check", "check", "check", "absent gone"},
			runOnChange:      {"apply", "-", "-", "-", "-", "absent gone"},
		},
		leave: {
			observeAndDelete: {"apply", "-", "-", "-", "-", "- gone"},
			checkWhenObserve: {"check apply", "check", "check", "check", "check", "- gone"},
			runOnChange:      {"apply", "-", "-", "-", "-", "- gone"},
		},
		remove: {
			observeAndDelete: {"-", "-", "-", "-", "-", "absent gone"},
			checkWhenObserve: {"check", "check", "check", "check", "check", "absent gone"},
			runOnChange:      {"-", "-", "-", "-", "-", "absent gone"},
		},
		none: {
			observeAndDelete: {"-", "-", "-", "-", "-", "- gone"},
			checkWhenObserve: {"check", "check", "check", "check", "check", "- gone"},
			runOnChange:      {"-", "-", "-", "-", "-", "- gone"},
		},
		untended: {
			observeAndDelete: {"-", "-", "-", "-", "-", "- stays"},
			checkWhenObserve: {"-", "-", "-", "-", "-", "- stays"},
			runOnChange:      {"-", "-", "-", "-", "-", "- stays"},
		},
	}

	kinds := map[string]string{
		"*": all, "OCUDL": all, "OCUD": all,
		"OCUL": orphan, "OCU": orphan, "OUL": orphan, "OU": orphan,
		"OCDL": create, "OCD": create,
		"OCL": leave, "OC": leave,
		"OD": remove,
		"OL": none, "O": none,
		"": untended,
	}

	for set, actions := range managementPolicies() {
		for policy, want := range lives[kinds[set]] {
			t.Run(string(policy)+"/"+set, func(t *testing.T) {
				run := object(annotated(common.AnnotationRunPolicy, string(policy)), withFinalizer)
				run.SetManagementPolicies(actions)
				w := newWorld(t, run)

				got := life{Created: w.settle(t)}

				w.later()
				got.Polled = w.settle(t)

				w.later()
				w.target = "drifted"
				got.Drifted = w.settle(t)

				w.change(t)
				got.Changed = w.settle(t)

				w.update(t, func(run common.AnsibleRun) {
					annotated("crossplane.io/reconcile-requested-at", "now")(run.(*v1alpha1.AnsibleRun))
				})
				got.Requested = w.settle(t)

				got.Deleted = w.remove(t)

				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("Managed by %v, the provider should do %s: -want, +got:\n%s", actions, kinds[set], diff)
				}
			})
		}
	}
}

// TestOnDelete takes objects through their lives with what they say of deletion.
func TestOnDelete(t *testing.T) {
	all := func(r *v1alpha1.AnsibleRun) { r.SetManagementPolicies(managementPolicies()["*"]) }

	for _, policy := range []common.RunPolicy{common.ObserveAndDelete, common.CheckWhenObserve, common.RunOnChange} {
		t.Run(string(policy), func(t *testing.T) {
			w := newWorld(t, object(annotated(common.AnnotationRunPolicy, string(policy)), withFinalizer, all))
			w.settle(t)

			w.update(t, func(run common.AnsibleRun) {
				run.Parameters().OnDelete = &common.OnDelete{Policy: common.DeleteKeep}
				run.SetGeneration(run.GetGeneration() + 1)
			})

			if diff := cmp.Diff("-", w.settle(t)); diff != "" {
				t.Errorf("What deletion does is no input: -want, +got:\n%s", diff)
			}

			target := w.target
			if diff := cmp.Diff("- gone", w.remove(t)); diff != "" || w.target != target {
				t.Errorf("The object should go, and its target stay: -want, +got:\n%s", diff)
			}
		})
	}

	t.Run("Aware", func(t *testing.T) {
		w := newWorld(t, object(withFinalizer, all))
		w.settle(t)

		w.read(t)
		w.object.SetConditions(common.StateIgnored(nil))

		if err := w.kube.Status().Update(t.Context(), w.object); err != nil {
			t.Fatal(err)
		}

		w.update(t, func(run common.AnsibleRun) {
			run.Parameters().OnDelete = &common.OnDelete{Policy: common.DeleteRun}
			run.SetGeneration(run.GetGeneration() + 1)
		})
		w.settle(t)

		if diff := cmp.Diff(corev1.ConditionTrue, w.condition(t, common.TypeStateAware).Status); diff != "" {
			t.Errorf("What deletion does is said, without another run: -want, +got:\n%s", diff)
		}
	})

	t.Run("Stuck", func(t *testing.T) {
		w := newWorld(t, object(withFinalizer, all))
		w.settle(t)

		w.fails = true
		if diff := cmp.Diff("fail stays", w.remove(t)); diff != "" {
			t.Fatalf("The removal should fail: -want, +got:\n%s", diff)
		}

		w.update(t, func(run common.AnsibleRun) {
			run.Parameters().OnDelete = &common.OnDelete{Policy: common.DeleteKeep}
			run.SetGeneration(run.GetGeneration() + 1)
		})

		w.settle(t)

		if err := w.kube.Get(t.Context(), client.ObjectKeyFromObject(w.object), w.object); !kerrors.IsNotFound(err) {
			t.Errorf("A deletion that was given up should let the object go, got %v", err)
		}
	})
}

// withFinalizer is an object that was reconciled before: one that is paused from
// the start has no finalizer.
func withFinalizer(r *v1alpha1.AnsibleRun) { r.SetFinalizers([]string{managed.FinalizerName}) }

// TestDeletionPolicy shows what the older of two fields means in the cluster
// scoped group.
func TestDeletionPolicy(t *testing.T) {
	sets := managementPolicies()

	cases := map[string]struct {
		reason string
		policy xpv2.DeletionPolicy
		set    string
		want   string
	}{
		"Delete": {
			reason: "The default should remove the target.",
			policy: xpv2.DeletionDelete,
			set:    "*",
			want:   "absent gone",
		},
		"DeleteNotAllowed": {
			reason: "Management policies without Delete should leave the target.",
			policy: xpv2.DeletionDelete,
			set:    "OCUL",
			want:   "- gone",
		},
		"Orphan": {
			reason: "Orphan should leave the target.",
			policy: xpv2.DeletionOrphan,
			set:    "*",
			want:   "- gone",
		},
		"OrphanButDelete": {
			reason: "Management policies that name Delete should win.",
			policy: xpv2.DeletionOrphan,
			set:    "OCUDL",
			want:   "absent gone",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			run := &clusterv1alpha1.AnsibleRun{ObjectMeta: metav1.ObjectMeta{Name: "run", UID: "uid", Generation: 2}}
			run.SetDeletionPolicy(tc.policy)
			run.SetManagementPolicies(sets[tc.set])

			w := newWorld(t, run)
			w.settle(t)

			if diff := cmp.Diff(tc.want, w.remove(t)); diff != "" {
				t.Errorf("\n%s\nwhat happens at deletion: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRetries follows applies and deletions that fail until they are not tried
// any more.
func TestRetries(t *testing.T) {
	for _, policy := range []common.RunPolicy{common.ObserveAndDelete, common.CheckWhenObserve, common.RunOnChange} {
		t.Run(string(policy), func(t *testing.T) {
			run := object(annotated(common.AnnotationRunPolicy, string(policy)))
			run.SetManagementPolicies(managementPolicies()["*"])

			limit := int32(2)
			run.Spec.ForProvider.RetryLimit = &limit

			w := newWorld(t, run)
			w.fails = true

			first := map[common.RunPolicy]string{common.CheckWhenObserve: "check fail"}

			want := func(what, want, reason string) {
				t.Helper()

				if want == "" {
					want = "fail"
				}

				if diff := cmp.Diff(want, w.settle(t)); diff != "" {
					t.Errorf("%s: -want, +got:\n%s", what, diff)
				}

				if diff := cmp.Diff(reason, string(w.condition(t, xpv2.TypeReady).Reason)); diff != "" {
					t.Errorf("%s: -want reason, +got reason:\n%s", what, diff)
				}
			}

			want("The first attempt", first[policy], "RunFailed")
			want("Before its back-off is over", "-", "RunFailed")

			w.now = w.now.Add(lifecycle.FirstBackoff)
			want("The second attempt", "fail", "RetriesExhausted")
			w.later()
			want("After the last attempt", "-", "RetriesExhausted")

			if at := w.object.Observation().LastApply.NextRetryTime; at != nil {
				t.Errorf("No attempt should be announced after the last one, got %s", at)
			}

			w.annotate(t, meta.AnnotationKeyReconcileRequestedAt, "now")
			want("A request", "fail", "RetriesExhausted")
			w.later()
			want("A request that was answered", "-", "RetriesExhausted")

			limit = 4
			w.update(t, func(run common.AnsibleRun) { run.Parameters().RetryLimit = &limit })
			want("A higher limit", "fail", "RetriesExhausted")

			w.change(t)
			want("Other inputs", first[policy], "RunFailed")

			w.fails = false
			w.later()
			want("The next attempt", "apply", "Available")

			w.fails = true
			if diff := cmp.Diff("fail stays", w.remove(t)); diff != "" {
				t.Errorf("The deletion: -want, +got:\n%s", diff)
			}

			for range 3 {
				w.later()
				w.settle(t)
			}

			want("The deletion after the last attempt", "-", "Deleting")

			if diff := cmp.Diff(common.ReasonRetriesExhausted, w.condition(t, common.TypeDeletable).Reason); diff != "" {
				t.Errorf("The deletion after the last attempt: -want reason, +got reason:\n%s", diff)
			}

			w.fails = false
			w.annotate(t, meta.AnnotationKeyReconcileRequestedAt, "again")

			if diff := cmp.Diff("absent", w.settle(t)); diff != "" {
				t.Errorf("A request during the deletion: -want, +got:\n%s", diff)
			}

			if err := w.kube.Get(t.Context(), client.ObjectKeyFromObject(w.object), w.object); !kerrors.IsNotFound(err) {
				t.Errorf("The object should be gone, got %v", err)
			}
		})
	}
}

// TestPaused pauses an object while a run of it is in progress.
func TestPaused(t *testing.T) {
	w := newWorld(t, object(func(r *v1alpha1.AnsibleRun) { r.SetManagementPolicies(managementPolicies()["*"]) }))

	w.reconcile(t)
	w.reconcile(t) // It begins.
	w.annotate(t, meta.AnnotationKeyReconciliationPaused, "true")

	if diff := cmp.Diff("apply", w.settle(t)); diff != "" {
		t.Errorf("Nothing should be started while the object is paused: -want, +got:\n%s", diff)
	}

	if got := w.condition(t, xpv2.TypeSynced).Reason; got != xpv2.ReasonReconcilePaused {
		t.Errorf("The object should say that it is paused, got %q", got)
	}

	w.annotate(t, meta.AnnotationKeyReconciliationPaused, "false")

	if diff := cmp.Diff("-", w.settle(t)); diff != "" {
		t.Errorf("What ended while the object was paused should not be run again: -want, +got:\n%s", diff)
	}

	if got := w.condition(t, xpv2.TypeReady); got.Status != "True" {
		t.Errorf("The result of the run should be known afterwards, got %+v", got)
	}
}

// TestRestored deletes objects that a backup has brought back, by which their owners are gone. None has been applied in this
// cluster, and what others have made of the same target stays.
func TestRestored(t *testing.T) {
	const pending, succeeded = "crossplane.io/external-create-pending", "crossplane.io/external-create-succeeded"

	ran := common.AnsibleRunObservation{
		LastRun:   &common.Run{ID: "0", Mode: common.ModeApply, State: common.StatePresent, Phase: common.PhaseSucceeded, StartTime: at(0), CompletionTime: at(0)},
		LastApply: &common.Apply{ID: "0", State: common.StatePresent, Result: common.PhaseSucceeded, InputsDigest: "v3.key.0", CompletionTime: at(0)},
		Executed:  true, AppliedDigest: "v3.key.0",
	}
	of := func(uid types.UID) func(*v1alpha1.AnsibleRun) {
		o := ran
		o.UID = uid

		return observed(o)
	}

	cases := map[string]struct {
		reason string
		was    func(*v1alpha1.AnsibleRun)
		want   string
	}{
		"Annotations": {"Annotations come along.", annotated(pending, "2026-01-01T00:00:00Z"), "- gone"},
		"Status":      {"So may the status of the object that was backed up.", of("former"), "- gone"},
		"Adopt":       {"An object that is deleted is not adopted any more.", annotated(common.AnnotationAdopt, "true"), "- gone"},
		"Own":         {"Its own status tells what it has made.", of("uid"), "absent gone"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, object(withFinalizer, annotated(succeeded, "2026-01-01T00:00:01Z"), annotated(meta.AnnotationKeyExternalName, "run"), tc.was,
				func(r *v1alpha1.AnsibleRun) { r.SetManagementPolicies(managementPolicies()["*"]) }))

			if diff := cmp.Diff(tc.want, w.remove(t)); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestAdopt tells objects that their targets are as they say, under each policy.
func TestAdopt(t *testing.T) {
	for _, policy := range []common.RunPolicy{common.ObserveAndDelete, common.CheckWhenObserve, common.RunOnChange} {
		t.Run(string(policy), func(t *testing.T) {
			w := newWorld(t, object(annotated(common.AnnotationRunPolicy, string(policy)), annotated(common.AnnotationAdopt, "true"),
				annotated(meta.AnnotationKeyReconcileRequestedAt, "before"), func(r *v1alpha1.AnsibleRun) { r.SetManagementPolicies(managementPolicies()["*"]) }))

			if diff := cmp.Diff("-", w.settle(t)); diff != "" {
				t.Errorf("The first apply should not be run: -want, +got:\n%s", diff)
			}

			if got := w.condition(t, xpv2.TypeReady); got.Status != "True" || w.object.Observation().UID != "uid" {
				t.Errorf("What was adopted should be ready, got %+v, %+v", got, w.object.Observation())
			}

			w.change(t)

			want := map[common.RunPolicy]string{common.ObserveAndDelete: "apply", common.CheckWhenObserve: "check apply", common.RunOnChange: "apply"}
			if diff := cmp.Diff(want[policy], w.settle(t)); diff != "" {
				t.Errorf("A change should be applied: -want, +got:\n%s", diff)
			}

			if diff := cmp.Diff("absent gone", w.remove(t)); diff != "" {
				t.Errorf("What was adopted should be removed: -want, +got:\n%s", diff)
			}
		})
	}
}
