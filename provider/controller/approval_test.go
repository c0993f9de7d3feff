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

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// ledger is a client with the Approvals of a play.
type ledger struct {
	client.Client

	all []*v1alpha1.Approval
	// used counts the successful applies by approved digest.
	used map[string]int
	// keeps is true if the provider has no right to delete.
	keeps bool
}

func (l *ledger) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	for _, a := range l.all {
		list.(*v1alpha1.ApprovalList).Items = append(list.(*v1alpha1.ApprovalList).Items, *a)
	}

	return nil
}

func (l *ledger) Delete(_ context.Context, a client.Object, _ ...client.DeleteOption) error {
	l.all = slices.DeleteFunc(l.all, func(o *v1alpha1.Approval) bool { return !l.keeps && o.GetName() == a.GetName() })
	return nil
}

// annotationRead is an annotation that the content reads.
const annotationRead = "example.org/text"

// approvalPlay is a play with an object that requires approvals.
type approvalPlay struct {
	*play
	*ledger

	applies []string
	names   int
	// noted is a digest that once awaited approval.
	noted string
}

func newApprovalPlay(t *testing.T, p common.RunPolicy) *approvalPlay {
	t.Helper()

	w := &approvalPlay{play: newPlay(t, p)}
	w.ledger = &ledger{Client: w.kube, used: map[string]int{}}
	w.connect.Resolver = resolverFn(func() (inputs.Inputs, error) {
		i := in(w.wanted)
		i.Approval = true

		return i, nil
	})
	w.connect.kube = w.ledger
	seen := map[string]string{} // The annotation that each check has read.
	checked := w.pool.begins
	w.pool.begins = func(j runs.Run) {
		checked(j)

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
	}

	return w
}

// decide creates an Approval for a digest.
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

// expect compares the state of the approval, and the applies so far.
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

const (
	awaiting = common.ApprovalAwaiting
	rejected = common.ApprovalRejected
	done     = common.ApprovalApplied
	approve  = common.DecisionApprove
	reject   = common.DecisionReject
)

// A step of an object that requires approvals.
type step = func(w *approvalPlay)

// rest reconciles until the object does nothing by itself.
func rest(w *approvalPlay) {
	for turns, idle := 0, 0; turns < 25 && idle < 5; turns++ {
		if w.proceed(); w.pool.report != nil {
			idle = 0
		} else {
			idle++
		}
	}
}

// begins the next run.
func begins(w *approvalPlay) {
	for !w.pool.began() {
		w.proceedOnce()
	}
}

// inVain makes the next check skip every task.
func inVain(w *approvalPlay) {
	begins(w)
	w.end(common.PhaseSucceeded)
	w.pool.report.Run.Hosts.Changed, w.pool.report.Run.Reason = 0, runs.ReasonNotCheckable
	w.reconcile()
}

// Steps: a decision, a change of the inputs, and the next poll.
func approves(w *approvalPlay) { w.decide(w.digest(), approve) }
func rejects(w *approvalPlay)  { w.decide(w.digest(), reject) }
func edits(w *approvalPlay)    { w.wanted = "b" }
func polls(w *approvalPlay)    { w.now = w.now.Add(2 * pollOfPlay) }

// drifts changes the target, and polls.
func drifts(w *approvalPlay) {
	w.target = ""
	polls(w)
}

func agrees(w *approvalPlay) {
	approves(w)
	rest(w)
}

func annotates(k, v string) step { return func(w *approvalPlay) { w.annotate(k, v) } }

// deletes the object.
func deletes(w *approvalPlay) {
	needs.OK(w.t, w.kube.Delete(w.t.Context(), w.object))
}

// applies begins the approved apply.
func applies(w *approvalPlay) {
	for !w.pool.began() || w.pool.job.Mode != common.ModeApply {
		w.proceedOnce()
	}
}

// fails ends the run in progress with a failure.
func fails(w *approvalPlay) {
	if w.pool.job.Mode == common.ModeApply {
		w.touch()
	}

	w.end(common.PhaseFailed)
}

// The state of the approval, and the applies so far.
func expects(state common.ApprovalState) func(applies ...string) step {
	return func(applies ...string) step {
		return func(w *approvalPlay) { w.expect(state, applies...) }
	}
}

// notes records the digest that awaits approval.
func notes(w *approvalPlay) { w.noted = w.digest() }

// approvesNoted approves the recorded digest.
func approvesNoted(w *approvalPlay) { w.decide(w.noted, approve) }

// Whether the recorded digest awaits approval, or another one.
func same(w *approvalPlay) {
	if w.digest() != w.noted {
		w.fatalf("the digest should stay %s, and is %s", w.noted, w.digest())
	}
}

func another(w *approvalPlay) {
	if w.digest() == w.noted {
		w.fatalf("the digest should not stay %s", w.noted)
	}
}

// says fails unless a condition has a reason and a part of a message.
func says(t xpv2.ConditionType, reason xpv2.ConditionReason, message string) step {
	return func(w *approvalPlay) {
		w.read()

		if c := w.object.GetCondition(t); c.Reason != reason || !strings.Contains(c.Message, message) {
			w.fatalf("want reason %s, and %q, got %+v", reason, message, c)
		}
	}
}

// left compares the number of Approvals.
func left(n int) step {
	return func(w *approvalPlay) {
		if len(w.all) != n {
			w.fatalf("want %d Approvals, got %v", n, w.all)
		}
	}
}

// editsStatus changes the status of the object.
func editsStatus(edit func(w *approvalPlay, o *common.AnsibleRunObservation)) step {
	return func(w *approvalPlay) {
		w.read()
		edit(w, w.object.Observation())

		needs.OK(w.t, w.kube.Status().Update(w.t.Context(), w.object))
	}
}

func TestApproval(t *testing.T) {
	version := func(v string) content.Set {
		return content.Set{Content: common.Content{Digest: v, Collections: []common.ContentItem{{Name: "acme.site", Version: v}}}}
	}

	awaits, refuses, applied := expects(awaiting), expects(rejected), expects(done)

	for name, tc := range map[string]struct {
		reason string
		steps  []step
	}{
		"Approved": {"An approved apply should run once.", []step{
			rest, awaits(), says(xpv2.TypeReady, common.ReasonAwaitingApproval, ""), agrees, applied("present a"), left(0),
			says(common.TypeApproved, common.ReasonApproved, "was approved by eve"), func(w *approvalPlay) {
				h := w.object.Observation().History
				if i := slices.IndexFunc(h, func(p common.PastRun) bool { return p.ApprovedBy == "eve" }); i < 0 {
					w.fatalf("the history should say who approved: %+v", h)
				}
			},
		}},
		"Adopted": {"The annotation for adoption should not replace an approval: a check finds out whether the target is in the desired state.", []step{
			annotates(common.AnnotationAdopt, "true"), rest, awaits(), says(xpv2.TypeReady, common.ReasonAwaitingApproval, ""),
		}},
		"EditAfterApproval": {"An approval should not cover other inputs.", []step{
			rest, approves, edits, rest, awaits(), agrees, applied("present b"),
		}},
		"EditDuringCheck": {"A check of former inputs should not await approval.", []step{
			begins, edits, rest, awaits(), agrees, applied("present b"),
		}},
		"OldDigest": {"A used approval should not apply to a later drift, even if the provider cannot delete it.", []step{
			func(w *approvalPlay) { w.keeps = true }, rest, notes, agrees, drifts, rest, awaits("present a"), says(xpv2.TypeReady, xpv2.ReasonAvailable, ""),
			approvesNoted, polls, rest, awaits("present a"), left(2), agrees, applied("present a", "present a"),
		}},
		"DriftUnchecked": {"Drift should await approval until a later check has another result.", []step{
			rest, agrees, drifts, rest, awaits("present a"), notes, polls, begins, fails, rest, awaits("present a"), same, agrees, applied("present a", "present a"),
		}},
		"SamePrediction": {"A later check with the same prediction should keep the digest.", []step{rest, notes, polls, rest, same}},
		"Rejected": {"Nothing should run after a rejection, before an approval.", []step{
			rest, rejects, rest, refuses(), says(common.TypeApproved, common.ReasonRejected, "rejected by eve: it is 1"), agrees, applied("present a"),
		}},
		"Overruled": {"An approval in the same second as a rejection before should count.", []step{rest, rejects, agrees, applied("present a")}},
		"Composed": {"Approvals of a Composition or an Operation should have no effect, and stay: Crossplane would create them again.", []step{
			rest, approves, approves, approves, approves, func(w *approvalPlay) {
				w.all[0].SetLabels(map[string]string{"crossplane.io/composite": "motd"})
				w.all[1].SetOwnerReferences([]metav1.OwnerReference{{Kind: "Motd", Controller: new(true)}})
				w.all[2].SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "ops.crossplane.io/operation/1"}})
				w.all[3].SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "apiextensions.crossplane.io/composed/1"}})
			}, rest, awaits(), left(4), agrees, applied("present a"),
		}},
		"Owned": {"An Approval with its AnsibleRun as owner, as the plugin creates it, should count.", []step{
			rest, approves, func(w *approvalPlay) {
				w.all[0].SetOwnerReferences([]metav1.OwnerReference{{Kind: common.KindAnsibleRun}})
				w.all[0].SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl-ansible"}})
			}, rest, applied("present a"),
		}},
		"Labeled": {"Content may read labels and annotations, so an approval should not cover others.", []step{
			rest, notes, annotates(annotationRead, "B"), approvesNoted, rest, awaits(), another, agrees, applied("present a"),
			annotates(annotationRead, "C"), rest, applied("present a"),
		}},
		"LabeledDuringCheck": {"An approval should cover the metadata at the check.", []step{
			begins, annotates(annotationRead, "B"), func(w *approvalPlay) {
				id := w.object.Observation().LastRun.ID
				rest(w)
				w.expect(awaiting)

				if w.object.Observation().Approval.CheckID == id {
					w.fatalf("what was checked before should be checked again")
				}
			},
		}},

		"ContentChanged": {"Content that changes between the check and the apply should be checked and approved again.", []step{
			func(w *approvalPlay) {
				w.connect.Contents = &fakeContents{resolution: content.Resolution{Set: version("1"), Found: true}}
			}, rest, notes, approves, applies, func(w *approvalPlay) {
				w.connect.Contents = &fakeContents{resolution: content.Resolution{Set: version("2"), Found: true}}
				r := w.pool.report // The run itself finds another version.
				r.Blameless, r.Content = true, new(version("2")).DeepCopy()
				r.Run.Reason, r.Run.InputsDigest = runs.ReasonContentChanged, w.pool.job.Digest(version("2"))
				w.end(common.PhaseFailed)
			}, rest, awaits("present a"), another, agrees, applied("present a", "present a"),
		}},
		"Retried": {"A failed apply should be retried with the same approval.", []step{
			rest, approves, applies, fails, rest, applied("present a", "present a"),
		}},
		"Revoked": {"A retry without its Approval should need another one.", []step{
			rest, approves, applies, fails, func(w *approvalPlay) { w.all = nil }, rest, awaits("present a"),
		}},
		"Killed": {"A provider that is killed between the approval and the apply should apply once.", []step{
			rest, approves, func(w *approvalPlay) {
				for w.pool.report == nil {
					w.reconcile()
				}

				w.restart()
			}, rest, applied("present a"),
		}},
		"EditedStatus": {"An edited status should not approve anything.", []step{
			rest, editsStatus(func(w *approvalPlay, o *common.AnsibleRunObservation) {
				o.Approval.State, o.Approval.By = common.ApprovalApproved, "mallory"
				o.LastApply = &common.Apply{ID: "9", State: common.StatePresent, Result: common.PhaseFailed, InputsDigest: digestOf(w.t, in("a")), Attempts: 1}
				o.Executed, w.executed, w.broken, w.failures = true, true, true, 1
			}), rest, awaits(),
		}},
		"ShownOtherwise": {"An approval of an edited prediction should be invalid.", []step{
			rest, approves, editsStatus(func(_ *approvalPlay, o *common.AnsibleRunObservation) { o.Drift.Changed = 100 }),
			func(w *approvalPlay) { w.reconcile() }, awaits(),
		}},
		"NotCheckable": {"Content that cannot be checked should be applied when it is approved, and the condition should say so.", []step{
			inVain, awaits(), says(xpv2.TypeReady, common.ReasonAwaitingApproval, "cannot be checked, since no task supports check mode"), agrees, applied("present a"),
		}},
		"NotCheckableAsked": {"A requested run that cannot be checked should await approval until a check has another result.", []step{
			rest, agrees, annotates(meta.AnnotationKeyReconcileRequestedAt, "now"), inVain, awaits("present a"), notes, polls, inVain, same,
			agrees, applied("present a", "present a"), polls, inVain, applied("present a", "present a"),
		}},
		"CheckFails": {"A run with a failed check may be approved.", []step{begins, fails, func(w *approvalPlay) {
			w.pool.report.Run.Reason = "TaskFailed"
			w.reconcile()
		}, awaits(), agrees, applied("present a")}},
		"Untried": {"A run without an executed check should not await approval, and should be checked again soon.", []step{
			untriedFor(common.ReasonPodNotStarted), untriedFor(common.ReasonForbidden), untriedFor(common.ReasonInstallFailed), rest, awaits(), agrees, applied("present a"),
		}},
		"DeletionUntried": {"A deletion without an executed check should not await approval.", []step{
			rest, agrees, deletes, begins, untriedFor(common.ReasonForbidden), rest, awaits("present a"),
		}},
		"Deleted": {"A deletion should wait until its own check is approved.", []step{
			rest, notes, agrees, applied("present a"), func(w *approvalPlay) { w.target = "" }, deletes, approvesNoted, rest, awaits("present a"),
			says(common.TypeDeletable, common.ReasonAwaitingApproval, "kubectl ansible approve ansiblerun.ansible.m.crossplane.io/"),
			rejects, rest, refuses("present a"), approves, applies, func(w *approvalPlay) { w.expect(common.ApprovalApproved, "present a", "absent a") },
		}},
		"DeletionCanceled": {"A canceled check of a deletion should be repeated at the next poll.", []step{
			rest, agrees, deletes, begins, func(w *approvalPlay) {
				w.annotate(common.AnnotationCancel, w.object.Observation().LastRun.ID)
				w.reconcile()
				w.reconcile()

				id := w.object.Observation().LastRun.ID
				for due := w.now.Add(pollOfPlay * 8 / 10); w.now.Before(due); {
					w.proceed()
				}

				if r := w.object.Observation().LastRun; r.ID != id {
					w.fatalf("there should be no other check before the poll")
				}
			}, says(common.TypeDeletable, common.ReasonRunFailed, ""), polls, rest, awaits("present a"),
		}},
		"Paused": {"A paused object should not use an approval before it is resumed.", []step{
			rest, func(w *approvalPlay) { w.pause(true) }, agrees, awaits(), func(w *approvalPlay) { w.pause(false) }, rest, applied("present a"),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)

			w := newApprovalPlay(t, common.ObserveAndDelete)
			for i, do := range tc.steps {
				w.told = []string{"step " + strconv.Itoa(i)}
				do(w)
			}
		})
	}
}

// untriedFor ends the next check before it executes content: no approval is awaited, and a condition has the reason.
func untriedFor(reason string) step {
	return func(w *approvalPlay) {
		begins(w)
		w.untried(reason)
		w.reconcile()
		w.reconcile()

		o := w.object.Observation()
		if a := o.Approval; a != nil && a.State != done {
			w.fatalf("nothing should await approval after %s: %+v", reason, a)
		}

		stuck := w.object.GetCondition(common.TypeDeletable).Reason == common.ReasonRunFailed
		if w.object.GetCondition(xpv2.TypeSynced).Status != corev1.ConditionFalse || meta.WasDeleted(w.object) != stuck {
			w.fatalf("the conditions should say what is wrong: %+v", *w.object.Conditions())
		}

		w.now = w.now.Add(time.Minute)
	}
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

// TestLongApprovalSequences has random sequences of events: only approved runs are applied, and a digest is
// applied successfully once.
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

// TestDeleteApproval has providers with and without the right to delete, which Crossplane does not grant.
func TestDeleteApproval(t *testing.T) {
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
			kube := fakeKube(t).WithObjects(a.DeepCopy()).
				WithIndex(a, fieldRun, func(o client.Object) []string { return []string{o.(*v1alpha1.Approval).Spec.RunRef.Name} }).
				WithInterceptorFuncs(interceptor.Funcs{Delete: func(ctx context.Context, c client.WithWatch, o client.Object, os ...client.DeleteOption) error {
					if tc.err != nil {
						return tc.err
					}

					return c.Delete(ctx, o, os...)
				}}).Build()
			c := newConnector(nil, func(c *connector) { c.kube = kube })

			all, err := c.approvalsOf(t.Context(), run)
			if err != nil || len(all) != 1 {
				t.Fatalf("approvalsOf(...): got %v, %v", all, err)
			}

			if err := c.deleteApproval(t.Context(), all[0]); !errors.Is(err, tc.want) {
				t.Errorf("deleteApproval(...): want %v, got %v", tc.want, err)
			}

			if all, err = c.approvalsOf(t.Context(), run); err != nil || len(all) != tc.left {
				t.Errorf("approvalsOf(...): want %d, got %v, %v", tc.left, all, err)
			}
		})
	}
}
