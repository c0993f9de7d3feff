package controller

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pool"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// ledger has the Approvals of a play.
type ledger struct {
	all []*v1alpha1.Approval
	// used counts the applies that have succeeded, by the digest that was approved.
	used map[string]int
	// keeps is true where the provider may not delete.
	keeps bool
}

func (l *ledger) Of(context.Context, common.AnsibleRun) ([]common.Approval, error) {
	var all []common.Approval
	for _, a := range l.all {
		all = append(all, a)
	}

	return all, nil
}

func (l *ledger) Delete(_ context.Context, a common.Approval) error {
	l.all = slices.DeleteFunc(l.all, func(o *v1alpha1.Approval) bool { return !l.keeps && o.GetName() == a.GetName() })
	return nil
}

// guarded is a pool that looks at each run that begins.
type guarded struct {
	*steps

	look func(j runs.Run)
}

func (g guarded) Want(w pool.Want) (runs.Report, bool) {
	waits := g.report == nil || g.report.Waits

	r, begun := g.steps.Want(w)
	if begun && waits {
		g.look(g.job)
	}

	return r, begun
}

// annotationRead is one that the content reads.
const annotationRead = "example.org/text"

// approvalPlay is a play with an object that requires approvals.
type approvalPlay struct {
	*play
	*ledger

	applies []string
	names   int
}

// begin the next run.
func (w *approvalPlay) begin() {
	for !w.pool.began() {
		w.proceedOnce()
	}
}

func newApprovalPlay(t *testing.T, p common.RunPolicy) *approvalPlay {
	t.Helper()

	w := &approvalPlay{play: newPlay(t, p), ledger: &ledger{used: map[string]int{}}}
	w.connect.Resolver = resolverFn(func() (inputs.Inputs, error) {
		i := in(w.wanted)
		i.Approval = true

		return i, nil
	})
	w.connect.approvals = w.ledger
	seen := map[string]string{} // The annotation that each check has read.
	w.connect.Pool = guarded{w.pool, func(j runs.Run) {
		if j.Mode == common.ModeCheck {
			seen[j.ID] = j.Object.Annotations[annotationRead]
			return
		}

		w.read()

		if a := w.object.Observation().Approval; a != nil && seen[a.CheckID] != j.Object.Annotations[annotationRead] {
			w.fatalf("the apply reads the annotation %q, and the check has read %q", j.Object.Annotations[annotationRead], seen[a.CheckID])
		}

		w.applies = append(w.applies, string(j.State)+" "+j.Inputs.Parameters.PlaybookInline)

		if !j.Approved || !slices.ContainsFunc(w.all, func(a *v1alpha1.Approval) bool {
			return a.Spec.Decision == common.DecisionApprove && a.Spec.Digest == w.digest()
		}) {
			w.fatalf("an apply was not approved")
		}
	}}

	return w
}

// decide about a digest.
func (w *approvalPlay) decide(digest string, d common.ApprovalDecision) {
	w.names++
	a := &v1alpha1.Approval{Spec: common.ApprovalSpec{Digest: digest, Decision: d, By: "eve", Reason: "it is " + strconv.Itoa(w.names)}}
	a.SetName(strconv.Itoa(w.names))
	a.SetCreationTimestamp(metav1.NewTime(w.now))
	a.SetResourceVersion(strconv.Itoa(w.names))
	w.all = append(w.all, a)
}

func (w *approvalPlay) digest() string {
	w.read()

	if a := w.object.Observation().Approval; a != nil {
		return a.Digest
	}

	return "none"
}

// rest until the object does nothing by itself.
func (w *approvalPlay) rest() {
	for range 25 {
		w.proceed()
	}
}

// agree with what awaits approval, and let it be applied.
func (w *approvalPlay) agree() {
	w.decide(w.digest(), approve)
	w.rest()
}

// expect the state of the approval, and the applies so far.
func (w *approvalPlay) expect(state common.ApprovalState, applies ...string) {
	w.t.Helper()
	w.read()

	got := common.ApprovalState("")
	if a := w.object.Observation().Approval; a != nil {
		got = a.State
	}

	if got != state || !slices.Equal(w.applies, applies) {
		w.fatalf("approval is %q, want %q; applies %q, want %q", got, state, w.applies, applies)
	}
}

func (w *approvalPlay) reason(t xpv2.ConditionType) xpv2.ConditionReason {
	return w.object.GetCondition(t).Reason
}

const (
	awaiting = common.ApprovalAwaiting
	rejected = common.ApprovalRejected
	done     = common.ApprovalApplied
	approve  = common.DecisionApprove
	reject   = common.DecisionReject
)

func TestApproval(t *testing.T) {
	cases := map[string]struct {
		reason string
		do     func(w *approvalPlay)
	}{
		"Approved": {
			reason: "What was approved should be applied once.",
			do: func(w *approvalPlay) {
				w.rest()
				w.expect(awaiting)

				if r := w.reason(xpv2.TypeReady); r != common.ReasonAwaitingApproval {
					w.fatalf("Ready has reason %s", r)
				}

				w.agree()
				w.expect(done, "present a")

				if len(w.all) > 0 || w.reason(common.TypeApproved) != common.ReasonNothingToApprove && w.reason(common.TypeApproved) != common.ReasonApproved {
					w.fatalf("the Approval should be used up: %v", w.object.GetCondition(common.TypeApproved))
				}

				h := w.object.Observation().History
				if i := slices.IndexFunc(h, func(p common.PastRun) bool { return p.ApprovedBy == "eve" }); i < 0 {
					w.fatalf("the history should say who approved: %+v", h)
				}
			},
		},
		"Adopted": {
			reason: "An annotation should not stand for an approval: a check says whether the target is as it should be.",
			do: func(w *approvalPlay) {
				w.annotate(common.AnnotationAdopt, "true")
				w.rest()
				w.expect(awaiting)

				if w.object.Observation().LastApply != nil || w.object.GetCondition(xpv2.TypeReady).Status == "True" {
					w.fatalf("nothing was approved, and the object is %v", w.object.GetCondition(xpv2.TypeReady))
				}
			},
		},
		"EditAfterApproval": {
			reason: "An approval should not cover other inputs.",
			do: func(w *approvalPlay) {
				w.rest()
				w.decide(w.digest(), approve)
				w.wanted = "b"
				w.rest()
				w.expect(awaiting)
				w.agree()
				w.expect(done, "present b")
			},
		},
		"EditDuringCheck": {
			reason: "A check of former inputs should ask for nothing.",
			do: func(w *approvalPlay) {
				w.begin()

				w.wanted = "b"
				w.rest()
				w.expect(awaiting)
				w.agree()
				w.expect(done, "present b")
			},
		},
		"OldDigest": {
			reason: "An approval that was used should not be good for a later drift.",
			do: func(w *approvalPlay) {
				w.keeps = true
				w.rest()

				old := w.digest()
				w.decide(old, approve)
				w.rest()

				w.target, w.now = "", w.now.Add(2*pollOfPlay)
				w.rest()
				w.expect(awaiting, "present a")

				if r := w.reason(xpv2.TypeReady); r != xpv2.ReasonAvailable {
					w.fatalf("drift should leave the object ready, not %s", r)
				}

				w.decide(old, approve)
				w.now = w.now.Add(2 * pollOfPlay)
				w.rest()
				w.expect(awaiting, "present a")

				if len(w.all) != 2 {
					w.fatalf("the provider may not delete, and %d Approvals are left", len(w.all))
				}

				w.agree()
				w.expect(done, "present a", "present a")
			},
		},
		"DriftUnchecked": {
			reason: "Drift should await approval as long as no later check can tell anything else.",
			do: func(w *approvalPlay) {
				w.rest()
				w.agree()
				w.target, w.now = "", w.now.Add(2*pollOfPlay)
				w.rest()
				w.expect(awaiting, "present a")

				was, id := w.digest(), w.object.Observation().LastRun.ID
				w.now = w.now.Add(2 * pollOfPlay)

				w.begin()

				w.end(common.PhaseFailed)
				w.rest()
				w.expect(awaiting, "present a")

				if w.digest() != was || w.object.Observation().LastRun.ID == id {
					w.fatalf("a check that fails should change nothing about it")
				}

				w.agree()
				w.expect(done, "present a", "present a")
			},
		},
		"SamePrediction": {
			reason: "A later check that predicts the same should ask for the same.",
			do: func(w *approvalPlay) {
				w.rest()

				was := w.digest()
				w.now = w.now.Add(2 * pollOfPlay)
				w.rest()

				if w.digest() != was {
					w.fatalf("the digest should stay")
				}
			},
		},
		"Rejected": {
			reason: "Nothing should run after a rejection, until somebody approves.",
			do: func(w *approvalPlay) {
				w.rest()
				w.decide(w.digest(), reject)
				w.rest()
				w.expect(rejected)

				if c := w.object.GetCondition(common.TypeApproved); c.Reason != common.ReasonRejected || !strings.Contains(c.Message, "rejected by eve: it is 1") {
					w.fatalf("the condition should say who: %+v", c)
				}

				w.now = w.now.Add(time.Second)
				w.agree()
				w.expect(done, "present a")
			},
		},
		"Overruled": {
			reason: "Who approves right after a rejection should be heard.",
			do: func(w *approvalPlay) {
				w.rest()
				w.decide(w.digest(), reject)
				w.agree()
				w.expect(done, "present a")
			},
		},
		"Conflict": {
			reason: "Of two decisions in the same second, the later one should count.",
			do: func(w *approvalPlay) {
				w.rest()
				w.decide(w.digest(), approve)
				w.decide(w.digest(), reject)
				w.rest()
				w.expect(rejected)
			},
		},
		"Composed": {
			reason: "Whoever edits a Composition or an Operation should approve nothing.",
			do: func(w *approvalPlay) {
				w.rest()

				for _, by := range []func(a *v1alpha1.Approval){
					func(a *v1alpha1.Approval) { a.SetLabels(map[string]string{"crossplane.io/composite": "motd"}) },
					func(a *v1alpha1.Approval) {
						a.SetOwnerReferences([]metav1.OwnerReference{{Kind: "Motd", Controller: new(true)}})
					},
					func(a *v1alpha1.Approval) {
						a.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "ops.crossplane.io/operation/1"}})
					},
					func(a *v1alpha1.Approval) {
						a.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "apiextensions.crossplane.io/composed/1"}})
					},
				} {
					w.decide(w.digest(), approve)
					by(w.all[len(w.all)-1])
				}

				w.rest()
				w.expect(awaiting)

				if len(w.all) != 4 {
					w.fatalf("what Crossplane would make again should stay: %v", w.all)
				}

				w.agree()
				w.expect(done, "present a")
			},
		},
		"Owned": {
			reason: "What goes with its AnsibleRun, as the plugin makes it, should count.",
			do: func(w *approvalPlay) {
				w.rest()
				w.decide(w.digest(), approve)
				w.all[0].SetOwnerReferences([]metav1.OwnerReference{{Kind: common.KindAnsibleRun}})
				w.all[0].SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl-ansible"}})
				w.rest()
				w.expect(done, "present a")
			},
		},
		"Labeled": {
			reason: "Content may read labels and annotations, so an approval should not cover others.",
			do: func(w *approvalPlay) {
				w.rest()

				was := w.digest()
				w.annotate(annotationRead, "B")
				w.decide(was, approve)
				w.rest()
				w.expect(awaiting)

				if w.digest() == was {
					w.fatalf("another annotation should have another digest")
				}

				w.agree()
				w.expect(done, "present a")
				w.annotate(annotationRead, "C")
				w.rest()
				w.expect(done, "present a")
			},
		},
		"LabeledDuringCheck": {
			reason: "An approval should be about what the check has read.",
			do: func(w *approvalPlay) {
				w.begin()

				w.annotate(annotationRead, "B")

				id := w.object.Observation().LastRun.ID
				w.rest()
				w.expect(awaiting)

				if w.object.Observation().Approval.CheckID == id {
					w.fatalf("what was checked before should be checked again")
				}
			},
		},
		"LabeledDrift": {
			reason: "Of drift that awaits approval the same is true, and nobody should wait for a poll.",
			do: func(w *approvalPlay) {
				w.rest()
				w.agree()
				w.target, w.now = "", w.now.Add(2*pollOfPlay)
				w.rest()
				w.expect(awaiting, "present a")

				was, now := w.digest(), w.now
				w.annotate(annotationRead, "B")

				for w.digest() == "none" || w.digest() == was {
					w.proceed()
				}

				if w.now.Sub(now) >= pollOfPlay/2 {
					w.fatalf("the check should follow at once, not after %s", w.now.Sub(now))
				}

				w.expect(awaiting, "present a")
			},
		},
		"ContentChanged": {
			reason: "Content that changes between the check and the apply should be checked, and approved, anew.",
			do: func(w *approvalPlay) {
				version := func(v string) content.Set {
					return content.Set{Content: common.Content{Digest: v, Collections: []common.ContentItem{{Name: "acme.site", Version: v}}}}
				}
				contents := &fakeContents{resolution: content.Resolution{Set: version("1"), Found: true}}
				w.connect.Contents = contents
				w.rest()

				was := w.digest()
				w.decide(was, approve)

				for !w.pool.began() || w.pool.job.Mode != common.ModeApply {
					w.proceedOnce()
				}

				// The run itself finds another version.
				contents.resolution.Set = version("2")
				r := w.pool.report
				r.Blameless, r.Content = true, new(version("2")).DeepCopy()
				r.Run.Reason, r.Run.InputsDigest = runs.ReasonContentChanged, w.pool.job.Digest(version("2"))
				w.end(common.PhaseFailed)
				w.rest()
				w.expect(awaiting, "present a")

				if w.digest() == was || w.object.Observation().LastRun.Mode != common.ModeCheck {
					w.fatalf("another version should be checked, and have another digest")
				}

				w.agree()
				w.expect(done, "present a", "present a")
			},
		},
		"Retried": {
			reason: "What failed should be tried again under the same approval.",
			do: func(w *approvalPlay) {
				w.rest()
				w.decide(w.digest(), approve)

				for !w.pool.began() || w.pool.job.Mode != common.ModeApply {
					w.proceedOnce()
				}

				w.touch()
				w.end(common.PhaseFailed)
				w.rest()
				w.expect(done, "present a", "present a")
			},
		},
		"Revoked": {
			reason: "A retry whose Approval is gone should be approved anew.",
			do: func(w *approvalPlay) {
				w.rest()
				w.decide(w.digest(), approve)

				for !w.pool.began() || w.pool.job.Mode != common.ModeApply {
					w.proceedOnce()
				}

				w.touch()
				w.end(common.PhaseFailed)
				w.all = nil
				w.rest()
				w.expect(awaiting, "present a")
			},
		},
		"Killed": {
			reason: "A provider that is killed between the approval and the apply should apply once.",
			do: func(w *approvalPlay) {
				w.rest()
				w.decide(w.digest(), approve)

				for w.pool.report == nil {
					w.reconcile()
				}

				w.restart()
				w.connect.Pool = guarded{w.pool, w.connect.Pool.(guarded).look}
				w.rest()
				w.expect(done, "present a")
			},
		},
		"EditedStatus": {
			reason: "A status that somebody has edited should approve nothing.",
			do: func(w *approvalPlay) {
				w.rest()
				w.read()

				o := w.object.Observation()
				o.Approval.State, o.Approval.By = common.ApprovalApproved, "mallory"
				o.LastApply = &common.Apply{ID: "9", State: common.StatePresent, Result: common.PhaseFailed, InputsDigest: digestOf(w.t, in("a")), Attempts: 1}
				o.Executed, w.executed, w.broken, w.failures = true, true, true, 1

				if err := w.kube.Status().Update(w.t.Context(), w.object); err != nil {
					w.t.Fatal(err)
				}

				w.rest()
				w.expect(awaiting)
			},
		},
		"ShownOtherwise": {
			reason: "An approval of a prediction that somebody has edited should be good for nothing.",
			do: func(w *approvalPlay) {
				w.rest()
				w.decide(w.digest(), approve)
				w.read()
				w.object.Observation().Drift.Changed = 100

				if err := w.kube.Status().Update(w.t.Context(), w.object); err != nil {
					w.t.Fatal(err)
				}

				w.reconcile()
				w.expect(awaiting)
			},
		},
		"NotCheckable": {
			reason: "Content that cannot be checked should say so, and be applied when it is approved.",
			do: func(w *approvalPlay) {
				w.checkInVain()
				w.expect(awaiting)

				if c := w.object.GetCondition(xpv2.TypeReady); !strings.Contains(c.Message, "cannot be checked, since no task supports check mode") {
					w.fatalf("the condition should say so: %+v", c)
				}

				w.agree()
				w.expect(done, "present a")
			},
		},
		"NotCheckableAsked": {
			reason: "A requested run that cannot be checked should await approval as long as nothing else is known of it.",
			do: func(w *approvalPlay) {
				w.rest()
				w.agree()
				w.expect(done, "present a")
				w.annotate(meta.AnnotationKeyReconcileRequestedAt, "now")
				w.checkInVain()
				w.expect(awaiting, "present a")

				was := w.digest()
				w.now = w.now.Add(2 * pollOfPlay)
				w.checkInVain()

				if w.digest() != was {
					w.fatalf("the poll should not change what awaits approval")
				}

				w.agree()
				w.expect(done, "present a", "present a")
				w.now = w.now.Add(2 * pollOfPlay)
				w.checkInVain()
				w.expect(done, "present a", "present a")
			},
		},
		"CheckFails": {
			reason: "A check that fails should be approvable, too.",
			do: func(w *approvalPlay) {
				w.begin()

				w.end(common.PhaseFailed)
				w.pool.report.Run.Reason = "TaskFailed"
				w.reconcile()
				w.expect(awaiting)
				w.agree()
				w.expect(done, "present a")
			},
		},
		"Untried": {
			reason: "What nobody has looked at should not await approval, and be checked again soon.",
			do: func(w *approvalPlay) {
				for _, reason := range []string{runs.ReasonPodNotStarted, runs.ReasonForbidden, runs.ReasonInstallFailed} {
					w.begin()
					w.untried(reason)
					w.reconcile()
					w.reconcile()

					if a := w.object.Observation().Approval; a != nil {
						w.fatalf("nothing should await approval after %s: %+v", reason, a)
					}

					if c := w.object.GetCondition(xpv2.TypeSynced); c.Status != corev1.ConditionFalse {
						w.fatalf("the condition should say what is wrong: %+v", c)
					}

					w.now = w.now.Add(time.Minute)
				}

				w.rest()
				w.expect(awaiting)
				w.agree()
				w.expect(done, "present a")
			},
		},
		"DeletionUntried": {
			reason: "The same is true of a deletion.",
			do: func(w *approvalPlay) {
				w.rest()
				w.agree()

				if err := w.kube.Delete(w.t.Context(), w.object); err != nil {
					w.t.Fatal(err)
				}

				for w.reconcile(); !w.pool.began() || w.pool.job.State != common.StateAbsent; {
					w.proceedOnce()
				}

				w.untried(runs.ReasonForbidden)
				w.reconcile()

				if a := w.object.Observation().Approval; a != nil && a.State != done || w.reason(common.TypeDeletable) != common.ReasonRunFailed {
					w.fatalf("nothing should await approval, and the condition should say why: %+v, %+v", a, w.object.GetCondition(common.TypeDeletable))
				}

				w.now = w.now.Add(time.Minute)
				w.rest()
				w.expect(awaiting, "present a")
			},
		},
		"Deleted": {
			reason: "A deletion should wait until its own check is approved.",
			do: func(w *approvalPlay) {
				w.rest()

				of := w.digest()
				w.decide(of, approve)
				w.rest()
				w.expect(done, "present a")
				w.target = "" // So that the check predicts something.

				if err := w.kube.Delete(w.t.Context(), w.object); err != nil {
					w.t.Fatal(err)
				}

				w.decide(of, approve)
				w.rest()
				w.expect(awaiting, "present a")

				if c := w.object.GetCondition(common.TypeDeletable); c.Reason != common.ReasonAwaitingApproval || !strings.Contains(c.Message, "kubectl ansible approve ansiblerun.ansible.m.crossplane.io/") {
					w.fatalf("the condition should say so: %+v", c)
				}

				w.decide(w.digest(), reject)
				w.rest()
				w.expect(rejected, "present a")
				w.now = w.now.Add(time.Second)
				w.decide(w.digest(), approve)

				for len(w.applies) < 2 || !w.pool.began() {
					w.proceedOnce()
				}

				w.expect(common.ApprovalApproved, "present a", "absent a")
			},
		},
		"DeletionCanceled": {
			reason: "The check of a deletion that somebody has canceled should be made again at the next poll.",
			do: func(w *approvalPlay) {
				w.rest()
				w.agree()

				if err := w.kube.Delete(w.t.Context(), w.object); err != nil {
					w.t.Fatal(err)
				}

				w.begin()

				w.annotate(common.AnnotationCancel, w.object.Observation().LastRun.ID)
				w.reconcile()
				w.reconcile()

				id := w.object.Observation().LastRun.ID
				for due := w.now.Add(pollOfPlay * 8 / 10); w.now.Before(due); {
					w.proceed()
				}

				if r := w.object.Observation().LastRun; r.ID != id || w.reason(common.TypeDeletable) != common.ReasonRunFailed {
					w.fatalf("there should be no other check before the poll, and the condition should say so: %+v", w.object.GetCondition(common.TypeDeletable))
				}

				w.now = w.now.Add(pollOfPlay)
				w.rest()
				w.expect(awaiting, "present a")
			},
		},
		"Paused": {
			reason: "A paused object should not use an approval before it is resumed.",
			do: func(w *approvalPlay) {
				w.rest()
				w.pause(true)
				w.agree()
				w.expect(awaiting)
				w.pause(false)
				w.rest()
				w.expect(done, "present a")
			},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			tc.do(newApprovalPlay(t, common.ObserveAndDelete))
		})
	}
}

// checkInVain has the next check skip every task.
func (w *approvalPlay) checkInVain() {
	for !w.pool.began() {
		w.proceedOnce()
	}

	w.end(common.PhaseSucceeded)
	w.pool.report.Run.Hosts.Changed, w.pool.report.Run.Reason = 0, runs.ReasonNotCheckable
	w.reconcile()
}

// proceedOnce goes on without a run that ends.
func (w *approvalPlay) proceedOnce() {
	w.reconcile()

	switch {
	case w.pool.queued:
		w.pool.announce()
	case w.pool.report != nil && w.pool.ended():
	default:
		w.pool.begin()
	}

	if w.pool.began() && w.pool.job.Mode == common.ModeCheck && len(w.all) > 0 {
		w.end(common.PhaseSucceeded)
	}
}

// Whatever happens, and in whatever order: nothing is applied that was not approved, and a digest is
// applied with success once.
func TestLongApprovalSequences(t *testing.T) {
	pack := []act{}
	for _, a := range acts() {
		if !strings.Contains(a.name, "Secret") && a.name != "settle" {
			pack = append(pack, slices.Repeat([]act{a}, a.share)...)
		}
	}

	for _, p := range []common.RunPolicy{common.ObserveAndDelete, common.CheckWhenObserve, common.RunOnChange} {
		for seed := range *seeds {
			t.Run(fmt.Sprintf("%s/%d", p, seed), func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 1))
				w := newApprovalPlay(t, p)
				w.keeps = seed%2 == 1

				var digests []string

				pack := append(slices.Clone(pack), slices.Repeat([]act{
					{"approve", 1, func(*play) { w.decide(w.digest(), approve) }},
					{"reject", 1, func(*play) { w.decide(w.digest(), reject) }},
					{"approve what was asked for once", 1, func(*play) { w.decide(digests[r.IntN(len(digests))], approve) }},
					{"annotate", 1, func(w *play) { w.annotate(annotationRead, strconv.Itoa(r.IntN(2))) }},
					{"revoke", 1, func(*play) { w.all = nil }},
					{"restart", 1, func(*play) {
						look := w.connect.Pool.(guarded).look
						w.restart()
						w.connect.Pool = guarded{w.pool, look}
					}},
				}, 4)...)

				for range 80 {
					digests = append(digests, w.digest())
					a := pack[r.IntN(len(pack))]
					w.told = append(w.told, a.name)
					a.do(w.play)

					if a := w.object.Observation().Approval; a != nil && a.State == done {
						w.used[a.Digest+" "+w.object.Observation().LastApply.ID]++
					}
				}

				by := map[string]int{}
				for k := range w.used {
					by[strings.Fields(k)[0]]++
				}

				for digest, n := range by {
					if n > 1 {
						w.fatalf("digest %s was applied %d times", digest, n)
					}
				}
			})
		}
	}
}

// Crossplane gives a provider no right to delete.
func TestDeleteApproval(t *testing.T) {
	s := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}

	run := object()
	a := &v1alpha1.Approval{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}, Spec: common.ApprovalSpec{RunRef: common.RunReference{Name: "run"}}}
	forbidden := kerrors.NewForbidden(schema.GroupResource{Resource: "approvals"}, "a", errBoom)

	for name, tc := range map[string]struct {
		err, want error
		left      int
	}{
		"Allowed":   {},
		"Forbidden": {err: forbidden, left: 1},
		"Fails":     {err: errBoom, want: errBoom, left: 1},
	} {
		t.Run(name, func(t *testing.T) {
			kube := fake.NewClientBuilder().WithScheme(s).WithObjects(a.DeepCopy()).
				WithIndex(a, fieldRun, func(o client.Object) []string { return []string{o.(*v1alpha1.Approval).Spec.RunRef.Name} }).
				WithInterceptorFuncs(interceptor.Funcs{Delete: func(ctx context.Context, c client.WithWatch, o client.Object, os ...client.DeleteOption) error {
					if tc.err != nil {
						return tc.err
					}

					return c.Delete(ctx, o, os...)
				}}).Build()
			p := newApprovals(kube, runKinds()[1])

			all, err := p.Of(t.Context(), run)
			if err != nil || len(all) != 1 {
				t.Fatalf("Of(...): got %v, %v", all, err)
			}

			if err := p.Delete(t.Context(), all[0]); !errors.Is(err, tc.want) {
				t.Errorf("Delete(...): want %v, got %v", tc.want, err)
			}

			if all, err = p.Of(t.Context(), run); err != nil || len(all) != tc.left {
				t.Errorf("Of(...): want %d, got %v, %v", tc.left, all, err)
			}
		})
	}
}

func TestSeal(t *testing.T) {
	e := &external{digestKey: []byte("key")}
	if diff := cmp.Diff("003593dde6d175e41655a7c5ecba9c19", e.seal([]byte("text"))); diff != "" {
		t.Errorf("\nWhat was approved before an upgrade still is.\nseal(...): -want, +got:\n%s", diff)
	}
}
