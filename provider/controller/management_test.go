package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	clusterv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/cluster/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/lifecycle"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// instant is a world in which runs end at once.
type instant struct {
	*world

	// fails is true when runs fail that change something.
	fails bool
	// ran are the runs since ran was last compared.
	ran []string
}

func newInstant(t *testing.T, run common.AnsibleRun) *instant {
	t.Helper()

	w := &instant{world: newWorld(t, run)}
	w.pool.free, w.pool.begins = true, w.run

	return w
}

// run executes a run at once.
func (w *instant) run(j runs.Run) {
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

func (w *instant) reconcile() {
	w.t.Helper()

	if _, err := runtimeOf(w.kube, w.connect).Reconcile(w.t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(w.object)}); err != nil {
		w.t.Fatalf("cannot reconcile: %s", err)
	}
}

// settle reconciles until nothing changes, and returns the runs.
func (w *instant) settle() string {
	w.t.Helper()

	for range 8 {
		w.reconcile()
	}

	ran := strings.Join(w.ran, " ")
	w.ran = nil

	if ran == "" {
		return "-"
	}

	return ran
}

// later advances the time to the next poll.
func (w *instant) later() { w.now = w.now.Add(20 * time.Minute) }

// edit changes the spec of the object.
func (w *instant) edit(fn func(p *common.AnsibleRunParameters)) {
	w.t.Helper()
	w.update(func(run common.AnsibleRun) {
		fn(run.Parameters())
		run.SetGeneration(run.GetGeneration() + 1)
	})
}

// change changes the inputs.
func (w *instant) change() {
	w.t.Helper()
	w.wanted += "+"
	w.edit(func(*common.AnsibleRunParameters) {})
}

// remove deletes the object, and returns the runs, and whether the object is gone.
func (w *instant) remove() string {
	w.t.Helper()
	w.delete()

	ran := w.settle()
	if w.read(); w.gone {
		return ran + " gone"
	}

	return ran + " stays"
}

// managedFully is an object with all management policies.
func managedFully(r *v1alpha1.AnsibleRun) { r.SetManagementPolicies(managementPolicies()["*"]) }

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
	type seen struct {
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

	lives := map[string]map[common.RunPolicy]seen{
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
				w := newInstant(t, run)

				got := seen{Created: w.settle()}

				w.later()
				got.Polled = w.settle()

				w.later()
				w.target = "drifted"
				got.Drifted = w.settle()

				w.change()
				got.Changed = w.settle()

				w.annotate(meta.AnnotationKeyReconcileRequestedAt, "now")
				got.Requested = w.settle()

				got.Deleted = w.remove()

				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("Managed by %v, the provider should do %s: -want, +got:\n%s", actions, kinds[set], diff)
				}
			})
		}
	}
}

// withFinalizer is an object that was reconciled before: one that is paused from
// the start has no finalizer.
func withFinalizer(r *v1alpha1.AnsibleRun) { r.SetFinalizers([]string{managed.FinalizerName}) }

// A move is an event of an object, and its effect: the runs, and the reason of Ready, or of Deletable while the object
// is deleted.
type move struct {
	do   func(w *instant)
	want string
}

func created(*instant) {}

func later(w *instant)   { w.later() }
func changed(w *instant) { w.change() }
func deleted(w *instant) { w.delete() }

func asked(token string) func(*instant) {
	return func(w *instant) { w.annotate(meta.AnnotationKeyReconcileRequestedAt, token) }
}

// onDelete sets onDelete.
func onDelete(p common.DeletePolicy) func(*instant) {
	return func(w *instant) {
		w.edit(func(s *common.AnsibleRunParameters) { s.OnDelete = &common.OnDelete{Policy: p} })
	}
}

// failing makes applies fail, or succeed again, and then acts.
func failing(is bool, do func(*instant)) func(*instant) {
	return func(w *instant) {
		w.fails = is
		do(w)
	}
}

// A life is an object and its moves.
type life struct {
	reason string
	run    common.AnsibleRun
	moves  []move
}

// TestLives takes objects through their lives.
func TestLives(t *testing.T) {
	lives := map[string]life{}

	for policy, check := range map[common.RunPolicy]string{common.ObserveAndDelete: "", common.CheckWhenObserve: "check ", common.RunOnChange: ""} {
		under := func(os ...func(*v1alpha1.AnsibleRun)) common.AnsibleRun {
			return object(append(os, annotated(common.AnnotationRunPolicy, string(policy)), managedFully, withFinalizer)...)
		}

		lives["Kept/"+string(policy)] = life{"onDelete is not an input of the apply. With Keep, the target stays.", under(), []move{
			{created, check + "apply, Available"}, {onDelete(common.DeleteKeep), "-, Available"}, {deleted, "-, gone"},
		}}
		adopted := under(annotated(common.AnnotationAdopt, "true"), annotated(meta.AnnotationKeyReconcileRequestedAt, "before"))
		lives["Adopted/"+string(policy)] = life{"An adopted object is ready without a run, and changed and removed as others.", adopted, []move{
			{created, "-, Available"}, {changed, check + "apply, Available"}, {deleted, "absent, gone"},
		}}
		lives["Retried/"+string(policy)] = life{
			"A failed apply is retried up to the limit, and again after a change or a request.",
			under(func(r *v1alpha1.AnsibleRun) { r.Spec.ForProvider.RetryLimit = new(int32(2)) }),
			[]move{
				{failing(true, created), check + "fail, RunFailed"},
				{created, "-, RunFailed"}, // During the back-off.
				{func(w *instant) { w.now = w.now.Add(lifecycle.FirstBackoff) }, "fail, RetriesExhausted"},
				{later, "-, RetriesExhausted"},
				{func(w *instant) {
					if at := w.object.Observation().LastApply.NextRetryTime; at != nil {
						w.t.Errorf("No attempt should be announced after the last one, got %s", at)
					}

					asked("now")(w)
				}, "fail, RetriesExhausted"},
				{later, "-, RetriesExhausted"},
				{func(w *instant) {
					w.update(func(run common.AnsibleRun) { run.Parameters().RetryLimit = new(int32(4)) })
				}, "fail, RetriesExhausted"},
				{changed, check + "fail, RunFailed"},
				{failing(false, later), "apply, Available"},
				{failing(true, deleted), "fail, RunFailed"},
				{later, "fail, RunFailed"},
				{later, "fail, RunFailed"},
				{later, "fail, RetriesExhausted"},
				{later, "-, RetriesExhausted"},
				{failing(false, asked("again")), "absent, gone"},
			},
		}
	}

	lives["Stuck"] = life{"A deletion that is given up lets the object go.", object(withFinalizer, managedFully), []move{
		{created, "apply, Available"}, {failing(true, deleted), "fail, RunFailed"}, {onDelete(common.DeleteKeep), "-, gone"},
	}}
	paused := func(is string) func(*instant) {
		return func(w *instant) { w.annotate(meta.AnnotationKeyReconciliationPaused, is) }
	}
	lives["Paused"] = life{"A run that ends while the object is paused is recorded afterwards, and not repeated.", object(managedFully), []move{
		{func(w *instant) {
			w.reconcile()
			w.reconcile() // It begins.
			paused("true")(w)
		}, "apply, Running"},
		{paused("false"), "-, Available"},
	}}
	lives["Aware"] = life{"onDelete changes the condition without another run.", object(withFinalizer, managedFully), []move{
		{created, "apply, Available"},
		{func(w *instant) {
			w.object.SetConditions(common.StateIgnored(nil))

			needs.OK(w.t, w.kube.Status().Update(w.t.Context(), w.object))

			onDelete(common.DeleteRun)(w)
		}, "-, Available"},
		{func(w *instant) {
			if c := w.object.GetCondition(common.TypeStateAware); c.Status != corev1.ConditionTrue {
				w.t.Errorf("got %+v", c)
			}
		}, "-, Available"},
	}}

	// The older of two fields in the cluster scoped group.
	for name, tc := range map[string]struct {
		reason string
		policy xpv2.DeletionPolicy
		set    string
		want   string
	}{
		"Delete":           {"The default should remove the target.", xpv2.DeletionDelete, "*", "absent, gone"},
		"DeleteNotAllowed": {"Management policies without Delete should leave the target.", xpv2.DeletionDelete, "OCUL", "-, gone"},
		"Orphan":           {"Orphan should leave the target.", xpv2.DeletionOrphan, "*", "-, gone"},
		"OrphanButDelete":  {"Management policies that name Delete should win.", xpv2.DeletionOrphan, "OCUDL", "absent, gone"},
	} {
		run := &clusterv1alpha1.AnsibleRun{ObjectMeta: metav1.ObjectMeta{Name: "run", UID: "uid", Generation: 2}}
		run.SetDeletionPolicy(tc.policy)
		run.SetManagementPolicies(managementPolicies()[tc.set])
		lives["DeletionPolicy/"+name] = life{tc.reason, run, []move{{created, "apply, Available"}, {deleted, tc.want}}}
	}

	// A backup has brought objects back, by which their owners are gone. None has been applied in this cluster, and
	// what others have made of the same target stays.
	const pending, succeeded = "crossplane.io/external-create-pending", "crossplane.io/external-create-succeeded"

	of := func(uid types.UID) func(*v1alpha1.AnsibleRun) {
		return observed(common.AnsibleRunObservation{
			LastRun:   &common.Run{ID: "0", Mode: common.ModeApply, State: common.StatePresent, Phase: common.PhaseSucceeded, StartTime: at(0), CompletionTime: at(0)},
			LastApply: &common.Apply{ID: "0", State: common.StatePresent, Result: common.PhaseSucceeded, InputsDigest: "v3.key.0", CompletionTime: at(0)},
			Executed:  true, AppliedDigest: "v3.key.0", UID: uid,
		})
	}

	for name, tc := range map[string]struct {
		reason string
		was    func(*v1alpha1.AnsibleRun)
		want   string
	}{
		"Annotations": {"A restore brings annotations of the former object.", annotated(pending, "2026-01-01T00:00:00Z"), "-, gone"},
		"Status":      {"A restore may bring the status of the former object.", of("former"), "-, gone"},
		"Adopt":       {"A deleted object is not adopted.", annotated(common.AnnotationAdopt, "true"), "-, gone"},
		"Own":         {"Its own status shows that it was applied.", of("uid"), "absent, gone"},
	} {
		run := object(withFinalizer, annotated(succeeded, "2026-01-01T00:00:01Z"), annotated(meta.AnnotationKeyExternalName, "run"), tc.was, managedFully)
		lives["Restored/"+name] = life{tc.reason, run, []move{{deleted, tc.want}}}
	}

	for name, tc := range lives {
		t.Run(name, func(t *testing.T) {
			w := newInstant(t, tc.run)

			for i, m := range tc.moves {
				m.do(w)

				got, tells := w.settle(), xpv2.TypeReady
				if w.deleted {
					tells = common.TypeDeletable
				}

				if w.read(); w.gone {
					got += ", gone"
				} else {
					got += ", " + string(w.object.GetCondition(tells).Reason)
				}

				if got != m.want {
					t.Fatalf("%s\nmove %d: want %q, got %q", tc.reason, i, m.want, got)
				}
			}
		})
	}
}
