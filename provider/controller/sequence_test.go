package controller

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pool"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// seeds of random sequences, for each policy.
var seeds = flag.Uint64("seeds", 15, "random sequences of events for each policy")

// pollOfPlay is longer than any back-off, so that a missing retry
// is detected.
const pollOfPlay = time.Hour

// lasting is the duration of the daily window of a play.
const (
	lasting = 2 * time.Hour
	day     = 24 * time.Hour
)

// A play is an object that the reconciler of crossplane-runtime takes through a sequence of
// events, and the expected state of its runs.
type play struct {
	*world

	paused bool
	told   []string

	// broken is true when the last apply that has changed something, or may have,
	// did not succeed.
	broken bool
	// canceled is true when the last reconcile has canceled a run that has not ended yet.
	canceled bool
	// drifted is true when the last check of the inputs has said so, and nothing was
	// done about it.
	drifted bool
	// latest is the id of the last successful apply, which published it.
	latest string
	// executed is true once content may have changed something.
	executed bool
	// failures are the applies that failed by themselves since one is known to
	// have succeeded.
	failures int64

	// opens is a time at which the window opens; zero for no window.
	opens time.Time
	// limit is the limit of attempts; 0 for none.
	limit int64
	// tried is how often an apply of the inputs with the digest failed by itself, and counted
	// the last run that did.
	tried   int64
	digest  string
	counted string
	// cut is true when the last apply that began was cut off, or ended without a fault of its content.
	cut bool
	// found are the inputs for which a check that was asked for has ended without being clean, if
	// nothing has begun since.
	found string
	// removed is true when a run of the deletion has succeeded.
	removed bool
}

// failed is true for an apply that ended without success.
func failed(a *common.Apply) bool {
	return a != nil && a.Result.Finished() && a.Result != common.PhaseSucceeded
}

func newPlay(t *testing.T, p common.RunPolicy) *play {
	t.Helper()

	run := object(annotated(common.AnnotationRunPolicy, string(p)), managedFully)
	run.SetWriteConnectionSecretToReference(&xpv2.LocalSecretReference{Name: "connection"})

	w := &play{world: newWorld(t, run)}
	w.pool.begins = w.begins
	w.connect.schedule = newSchedule(pollOfPlay, time.Second)

	return w
}

// An act is a random event.
type act struct {
	name string
	// share is the weight of the act.
	share int
	do    func(w *play)
}

func acts() []act {
	return []act{
		{"reconcile", 8, (*play).reconcile},
		{"go on", 16, (*play).proceed},
		{"reconcile without being able to write", 2, func(w *play) {
			w.offline = true
			w.reconcile()
			w.offline = false
		}},
		{"lose the content", 1, func(w *play) { w.pool.lacks = true }},
		{"install", 2, func(w *play) { w.pool.install() }},
		{"announce", 5, func(w *play) { w.pool.announce() }},
		{"begin", 4, (*play).begin},
		{"touch", 2, (*play).touch},
		{"succeed", 3, func(w *play) { w.end(common.PhaseSucceeded) }},
		{"fail", 2, func(w *play) { w.end(common.PhaseFailed) }},
		{"fail by a fault of the provider", 2, func(w *play) {
			if w.pool.began() {
				w.pool.report.Blameless, w.pool.report.Run.Reason = true, common.ReasonInternal
				w.end(common.PhaseFailed)
			}
		}},
		{"execute nothing", 2, func(w *play) {
			if w.pool.began() && w.pool.report.Untouched {
				reasons := []string{common.ReasonPodNotStarted, common.ReasonForbidden, common.ReasonInstallFailed}
				w.untried(reasons[w.ids%len(reasons)])
			}
		}},
		{"cancel", 4, (*play).cancel},
		{"restart", 3, (*play).restart},
		{"change", 1, func(w *play) { w.wanted, w.drifted = map[string]string{"a": "b", "b": "a"}[w.wanted], false }},
		{"request", 2, func(w *play) { w.annotate(meta.AnnotationKeyReconcileRequestedAt, strconv.Itoa(len(w.told))) }},
		{"ask for a check", 2, func(w *play) {
			w.annotate(meta.AnnotationKeyReconcileRequestedAt, common.PreviewRequest+strconv.Itoa(len(w.told)))
		}},
		{"cancel by an annotation", 2, func(w *play) {
			w.read()

			if r := w.object.Observation().LastRun; r != nil && r.StartTime != nil {
				w.annotate(common.AnnotationCancel, r.ID)
			}
		}},
		{"refuse Secrets", 1, func(w *play) { w.refused = !w.refused }},
		{"delete the Secret", 1, (*play).deleteSecret},
		{"another Secret", 1, (*play).renameSecret},
		{"pause", 2, func(w *play) { w.pause(!w.paused) }},
		{"drift", 3, func(w *play) { w.target, w.now = "", w.now.Add(2*pollOfPlay) }},
		{"wait", 3, func(w *play) { w.now = w.now.Add(6 * time.Second) }},
		{"settle", 2, func(w *play) {
			if !w.deleted {
				w.settle()
			}
		}},
		{"open a window", 2, func(w *play) { w.window(w.now.Truncate(time.Minute)) }},
		{"close a window", 3, func(w *play) { w.window(w.now.Truncate(time.Minute).Add(-lasting)) }},
		{"remove the window", 1, func(w *play) { w.window(time.Time{}) }},
		{"come to an edge of the window", 2, func(w *play) {
			if w.now = w.now.Add(w.untilOpen()); w.untilOpen() == 0 {
				w.now = w.now.Add(w.left() - time.Second*time.Duration(len(w.told)%2))
			}
		}},
		{"limit", 2, func(w *play) { w.retries(1 + int64(len(w.told)%2)) }},
		{"no limit", 1, func(w *play) { w.retries(0) }},
		{"give up, request, and cut off", 1, (*play).cutOff},
		{"fail again and again", 2, func(w *play) {
			for range 16 {
				w.goOn(common.PhaseFailed)
			}
		}},
		{"poll", 1, func(w *play) { w.now = w.now.Add(2 * pollOfPlay) }},
	}
}

// window sets a window that opens at a time each day, or none.
func (w *play) window(opens time.Time) {
	w.opens = opens

	w.update(func(run common.AnsibleRun) {
		p := run.Parameters()
		if p.Window = nil; !opens.IsZero() {
			p.Window = &common.Window{
				Times: common.Times{Cron: fmt.Sprintf("%d %d * * *", opens.Minute(), opens.Hour())}, Duration: metav1.Duration{Duration: lasting}, Changes: common.ChangesWait,
			}
		}
	})
}

// retries sets the limit of attempts; 0 for none.
func (w *play) retries(limit int64) {
	w.limit = limit

	w.update(func(run common.AnsibleRun) {
		p := run.Parameters()
		if p.RetryLimit = nil; limit > 0 {
			p.RetryLimit = new(int32(limit))
		}
	})
}

// left returns the time until the window closes; 0 or less if it is closed.
func (w *play) left() time.Duration { return lasting - w.now.Sub(w.opens)%day }

// untilOpen returns the time until the window opens.
func (w *play) untilOpen() time.Duration {
	if w.opens.IsZero() || w.left() > 0 {
		return 0
	}

	return w.left() - lasting + day
}

// asked is true for an object with an unanswered request.
func (w *play) asked() bool {
	a := w.object.GetAnnotations()[meta.AnnotationKeyReconcileRequestedAt]

	return a != w.object.Observation().HandledRequest && !strings.HasPrefix(a, common.PreviewRequest)
}

// begins is called before a run begins.
func (w *play) begins(j runs.Run) {
	w.t.Helper()
	w.read()

	if j.Trigger == common.TriggerPreview || w.asked() {
		return
	}

	free := j.Inputs.Approval && j.Mode == common.ModeCheck && j.Trigger != common.TriggerPoll // It begins early, so that there is time for the approval.
	if !j.Inputs.Approval && j.Mode == common.ModeApply && j.State == common.StatePresent {
		free = w.found != "" && w.found == j.Inputs.Parameters.PlaybookInline
	}

	if !free && w.untilOpen() > 0 {
		w.fatalf("%s run (%s, %s) begins at %s, while the window is closed", j.State, j.Mode, j.Trigger, w.now)
	}

	if j.Mode == common.ModeApply && w.spent() && w.digest == w.pool.report.Run.InputsDigest {
		w.fatalf("%s run begins after %d attempts of %d", j.State, w.tried, w.limit)
	}
}

// spent is true when the attempts with the last inputs are exhausted.
func (w *play) spent() bool { return w.limit > 0 && w.tried >= w.limit && !w.cut }

// begin begins the run with a start time in the status.
func (w *play) begin() {
	w.pool.begin()

	r := w.pool.report
	if !w.pool.began() || r.Run.Trigger == common.TriggerPreview {
		return
	}

	w.found = ""

	if r.Run.Mode == common.ModeApply {
		w.cut = false

		if w.digest != r.Run.InputsDigest {
			w.tried, w.digest = 0, r.Run.InputsDigest
		}
	}
}

func (w *play) pause(paused bool) {
	w.paused = paused
	w.annotate(meta.AnnotationKeyReconciliationPaused, strconv.FormatBool(paused))

	if paused {
		w.pool.Want(pool.Want{Shown: w.object.Observation().LastRun})
	}
}

func (w *play) deleteSecret() {
	s := &corev1.Secret{}
	if err := w.kube.Get(w.t.Context(), w.secretKey(), s); err != nil {
		return
	}

	needs.OK(w.t, w.kube.Delete(w.t.Context(), s))
}

// renameSecret changes the name of the connection Secret, to a former or a new one.
func (w *play) renameSecret() {
	w.update(func(common.AnsibleRun) {
		other := map[string]string{"connection": "connection-too", "connection-too": "connection"}
		w.secretRef().Name = other[w.secretRef().Name]
	})
}

func (w *play) secretRef() *xpv2.LocalSecretReference {
	run, _ := w.object.(*v1alpha1.AnsibleRun)

	return run.Spec.WriteConnectionSecretToReference
}

func (w *play) secretKey() types.NamespacedName {
	return types.NamespacedName{Namespace: w.object.GetNamespace(), Name: w.secretRef().Name}
}

// published is true when the Secret has the connection details of the last apply.
func (w *play) published() bool {
	s := &corev1.Secret{}
	_ = w.kube.Get(w.t.Context(), w.secretKey(), s)

	return w.latest == string(s.Data["id"])
}

func (w *play) reconcile() {
	r := runtimeOf(w.kube, w.connect)
	req := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(w.object)}

	running := w.pool.began()

	// A failed write is an error. A reconcile that requests another one at
	// once gets it.
	res, err := r.Reconcile(w.t.Context(), req)
	if res.Requeue { //nolint:staticcheck // The runtime uses it.
		_, err = r.Reconcile(w.t.Context(), req)
	}

	if w.read(); w.gone {
		if w.executed && !w.removed {
			w.fatalf("the object is gone, and what it has made is not")
		}

		return
	}

	// The next reconcile records the canceled run.
	w.canceled = running && w.pool.ended()

	if err == nil && !w.offline && !w.paused {
		w.check()
	}

	if w.canceled && w.pool.job.Mode == common.ModeApply {
		w.broken = w.broken || !w.pool.report.Untouched
	}
}

// touch changes the target, and reports that.
func (w *play) touch() {
	if w.pool.began() {
		w.pool.report.Untouched = false
		w.pool.report.Run.Hosts = &common.HostTotals{OK: 1}
		w.executed = w.executed || w.pool.job.Mode == common.ModeApply
	}
}

// end ends the run in progress by itself.
func (w *play) end(phase common.RunPhase) {
	if !w.pool.began() {
		return
	}

	want := w.pool.job.Inputs.Parameters.PlaybookInline
	if w.pool.job.State == common.StateAbsent {
		want = ""
	}

	differs := w.target != want

	if phase == common.PhaseSucceeded {
		w.touch()
	}

	w.pool.end(phase)

	switch {
	case w.pool.job.Trigger == common.TriggerPreview:
		if differs && phase == common.PhaseSucceeded {
			w.pool.report.Run.Hosts.Changed = 1
		}
	case w.pool.job.Mode == common.ModeCheck:
		// After an error, the next reconcile is at the next poll.
		w.drifted = differs && want == w.wanted && phase == common.PhaseSucceeded

		if differs && phase == common.PhaseSucceeded {
			w.pool.report.Run.Hosts.Changed = 1
		}

		o := w.object.Observation()
		if phase != common.PhaseSucceeded {
			differs = o.AppliedDigest == ""
		}

		if w.pool.job.Trigger == common.TriggerRequested && (differs || failed(o.LastApply)) {
			w.found = want
		}
	case phase == common.PhaseSucceeded:
		w.tried, w.removed = 0, w.pool.job.State == common.StateAbsent
		w.target, w.broken, w.drifted = want, false, false
		w.latest = w.pool.report.Run.ID
		w.pool.report.ConnectionDetails = map[string][]byte{"id": []byte(w.latest)}
	default:
		w.broken = w.broken || !w.pool.report.Untouched
		if w.cut = w.pool.report.Blameless; !w.cut {
			w.failures++
			w.tried++
			w.counted = w.pool.report.Run.ID
		}
	}
}

// untried ends the run in progress before its content is executed.
func (w *play) untried(reason string) {
	r := w.pool.report
	r.Run.Reason, r.Blameless = reason, true

	if reason == common.ReasonForbidden || reason == common.ReasonInstallFailed {
		r.NotBefore = w.now.Add(runs.AccessAgain)
	}

	w.end(common.PhaseFailed)
}

// cancel cancels the run like a stopping provider.
func (w *play) cancel() {
	if w.pool.began() && w.pool.job.Mode == common.ModeApply {
		w.broken, w.cut = w.broken || !w.pool.report.Untouched, true
	}

	w.pool.cancel()
}

// cutOff cuts off a requested run after the last attempt, in one of the ways that do not count as attempts.
func (w *play) cutOff() {
	w.retries(1)

	for i := 0; i < 12 && !w.spent() && !w.gone; i++ {
		w.goOn(common.PhaseFailed)
	}

	if w.gone {
		return
	}

	w.annotate(meta.AnnotationKeyReconcileRequestedAt, strconv.Itoa(len(w.told)))

	for i := 0; i < 12 && !w.gone && !w.pool.began(); i++ {
		w.goOn(common.PhaseFailed)
	}

	if !w.pool.began() {
		return
	}

	switch w.ids % 4 {
	case 0:
		w.cancel()
	case 1:
		w.restart()
	case 2:
		w.untried(common.ReasonForbidden)
	default:
		w.untried(common.ReasonInternal)
	}
}

// restart restarts the provider. A run in progress in the status
// is not known to the new provider.
func (w *play) restart() {
	w.read()

	if r := w.object.Observation().LastRun; r != nil && !r.Phase.Finished() && r.StartTime != nil && r.Mode == common.ModeApply {
		w.broken, w.executed, w.cut = true, true, true

		// The failure was not recorded.
		if w.counted == r.ID {
			w.tried--
		}
	}

	*w.pool = fakePool{now: w.pool.now, begins: w.pool.begins}
	w.connect.schedule = newSchedule(pollOfPlay, time.Second)
}

// check compares the object with the expected state.
func (w *play) check() {
	w.t.Helper()

	o, ready := w.object.Observation(), w.object.GetCondition(xpv2.TypeReady)

	waits := ready
	if w.deleted {
		waits = w.object.GetCondition(common.TypeDeletable)
	}

	if opens := w.now.Add(w.untilOpen()).UTC().Format(time.RFC3339); waits.Reason == common.ReasonWaitingForWindow && (w.untilOpen() == 0 || !strings.Contains(waits.Message, opens)) {
		w.fatalf("it should not say at %s that it %s", w.now, waits.Message)
	}

	// During another run, the condition may stay unchanged.
	if waits.Reason == common.ReasonRetriesExhausted && w.pool.report == nil && w.object.GetAnnotations()[common.AnnotationCancel] != o.LastApply.ID &&
		(w.cut || w.limit == 0 || w.failures < w.limit) {
		w.fatalf("the object gives up after %d attempts of %d, cut off: %t", w.failures, w.limit, w.cut)
	}

	if w.deleted {
		return
	}

	if !w.broken && failed(o.LastApply) && !o.LastApply.Untouched {
		w.fatalf("no apply failed that changed something, but the object says so")
	}

	if !w.broken && common.Failed(ready) && o.AppliedDigest == digestOf(w.t, in(w.wanted)) {
		w.fatalf("what was applied is untouched, but not ready")
	}

	if w.broken && !w.pool.began() && !w.canceled && !failed(o.LastApply) {
		w.fatalf("an apply failed, or may have, and the object has forgotten it")
	}

	if a := o.LastApply; a != nil && a.Result == common.PhaseSucceeded {
		w.failures = 0
	}

	if failed(o.LastApply) && o.LastApply.Attempts > w.failures {
		w.fatalf("%d applies failed, but the object counts %d attempts", w.failures, o.LastApply.Attempts)
	}

	if r := o.LastRun; r != nil && r.Trigger == common.TriggerPreview && r.Phase.Finished() {
		w.fatalf("a preview that has ended should not be the last run")
	}

	if o.Executed != w.executed {
		w.fatalf("executed should be %t", w.executed)
	}
}

func (w *play) fatalf(format string, args ...any) {
	w.t.Helper()

	o := w.object.Observation()
	w.t.Fatalf("%s\nafter: %s\nready: %+v\nlast run: %+v\nlast apply: %+v", fmt.Sprintf(format, args...),
		strings.Join(w.told, ", "), w.object.GetCondition(xpv2.TypeReady), o.LastRun, o.LastApply)
}

// proceed continues, with successful runs.
func (w *play) proceed() { w.goOn(common.PhaseSucceeded) }

// goOn continues with the next event. Runs end in a phase.
func (w *play) goOn(phase common.RunPhase) {
	if w.reconcile(); w.gone {
		return
	}

	switch {
	case w.pool.installing:
		w.pool.install()
	case w.pool.queued:
		w.pool.announce()
	case w.pool.report == nil:
		w.now = w.now.Add(time.Minute)
	case w.pool.began():
		w.end(phase)
	default:
		w.begin()
	}
}

// settle lets all runs succeed from now on, and fails unless the object is
// applied and says so before a poll is due.
func (w *play) settle() {
	w.t.Helper()
	w.resume()

	for due := w.now.Add(pollOfPlay * 8 / 10); w.now.Before(due); {
		w.proceed()

		o := w.object.Observation()
		asked := w.object.GetAnnotations()[meta.AnnotationKeyReconcileRequestedAt]

		if w.pool.report == nil && !w.broken && !w.drifted && w.published() && !failed(o.LastApply) && o.HandledRequest == asked &&
			o.AppliedDigest == digestOf(w.t, in(w.wanted)) && w.object.GetCondition(xpv2.TypeReady).Reason == xpv2.ReasonAvailable {
			return
		}
	}

	w.fatalf("the object should be applied in the end")
}

// resume waits for runs that begin in the window, and requests the others, which do not wait.
func (w *play) resume() {
	w.t.Helper()
	w.pause(false)
	w.refused = false

	// A canceled or exhausted run is not retried by itself.
	if w.object.GetAnnotations()[common.AnnotationCancel] != "" || w.limit > 0 && w.failures >= w.limit && !w.cut {
		w.annotate(meta.AnnotationKeyReconcileRequestedAt, "settle"+strconv.Itoa(len(w.told)))
	}

	if w.untilOpen() > 0 {
		for range 40 {
			if w.proceed(); w.gone {
				return
			}
		}

		if w.asked() {
			w.fatalf("a request should not wait for the window")
		}
	}

	// An hour of the window must be left.
	if w.now = w.now.Add(w.untilOpen()); !w.opens.IsZero() && w.left() < time.Hour {
		w.now = w.now.Add(w.left() - lasting + day)
	}
}

// remove waits until the deleted object is gone: all runs succeed from now on, and it is gone before the next poll.
func (w *play) remove() {
	w.t.Helper()
	w.resume()

	for due := w.now.Add(pollOfPlay * 8 / 10); w.now.Before(due) && !w.gone; {
		w.proceed()
	}

	if !w.gone {
		w.fatalf("the object should be gone in the end")
	}
}

// delete deletes the object.
func (w *play) delete() {
	w.world.delete()
	w.failures = 0
}

// TestLongSequences has random sequences of events: the last apply is one that has begun
// or may have begun, and no such apply is forgotten.
func TestLongSequences(t *testing.T) {
	pack := []act{}
	for _, a := range acts() {
		pack = append(pack, slices.Repeat([]act{a}, a.share)...)
	}

	for _, p := range []common.RunPolicy{common.ObserveAndDelete, common.CheckWhenObserve, common.RunOnChange} {
		for seed := range *seeds {
			t.Run(fmt.Sprintf("%s/%d", p, seed), func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 0))
				w := newPlay(t, p)

				happens := func(times int) {
					for ; times > 0 && !w.gone; times-- {
						a := pack[r.IntN(len(pack))]
						w.told = append(w.told, a.name)
						a.do(w)
					}
				}

				happens(60)

				if seed%3 > 0 {
					w.told = append(w.told, "settle")
					w.settle()

					return
				}

				w.told = append(w.told, "delete")
				w.delete()
				happens(30)

				if !w.gone {
					w.told = append(w.told, "remove")
					w.remove()
				}
			})
		}
	}
}
