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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/feature"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	rfake "github.com/crossplane/crossplane-runtime/v2/pkg/resource/fake"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// steps is a pool in which a run comes as far as it is told to.
type steps struct {
	now    func() time.Time
	job    executor.Job
	report *executor.Report
	queued bool
	turn   bool
	noted  bool
	// lacks is true when the content is not there, installing when the object waits
	// for it.
	lacks, installing bool
}

// Acquire a place if the object's turn has come, or wait for it.
func (p *steps) Acquire(j executor.Job, _ func()) bool {
	switch {
	case p.report == nil:
		p.noted = false
	case p.report.Waits():
		j.ID = p.report.Run.ID
	default:
		return false
	}

	r := executor.NewReport(j)
	p.report = &r

	if p.installing = p.lacks; p.lacks {
		r.Run.Phase = common.PhaseInstalling
		p.queued, p.turn = false, false

		return false
	}

	p.queued = !p.turn

	return p.turn
}

// Submit a job if the object's turn has come.
func (p *steps) Submit(j executor.Job) bool {
	if !p.turn {
		return false
	}

	j.ID = p.report.Run.ID
	r := executor.NewReport(j)
	now := metav1.NewTime(p.now())
	r.Run.StartTime = &now
	p.job, p.report, p.turn, p.noted = j, &r, false, j.Mode == common.ModeCheck

	return true
}

// Report on the run.
func (p *steps) Live(types.UID) (executor.Report, bool) { return executor.Report{}, false }

func (p *steps) Report(types.UID) (executor.Report, bool) {
	if p.report == nil {
		return executor.Report{}, false
	}

	return *p.report, true
}

// Forget the run if it has ended, or is not waited for any more.
func (p *steps) Forget(_ types.UID, id string) {
	if p.report != nil && p.report.Run.ID == id && (p.ended() || p.report.Waits() && !p.queued && !p.turn && !p.installing) {
		p.report = nil
	}
}

// Cancel the run, wherever it is.
func (p *steps) Cancel(types.UID) {
	switch {
	case p.report == nil || p.ended():
	case p.began():
		p.end(common.PhaseCanceled)
	case p.report.Waits():
		p.Withdraw("")
	default:
		p.discard()
	}
}

// Revoke nothing: no run waits in a Pod.
func (p *steps) Revoke(types.UID) {}

// Hold nothing: no object is paused.
func (p *steps) Hold(types.UID, bool) {}

// Withdraw the object if it waits for its turn.
func (p *steps) Withdraw(types.UID) { p.queued, p.turn, p.installing = false, false, false }

// Stopping is no part of it.
func (p *steps) Stopping() bool { return false }

func (p *steps) Attach(executor.Job, func()) {}

// Abandon nothing: the object stays.
func (p *steps) Abandon(types.UID) {}

// Noted lets the run begin.
func (p *steps) Noted(_ types.UID, id string) {
	p.noted = p.noted || p.report != nil && p.report.Run.ID == id
}

func (p *steps) began() bool { return p.report != nil && p.report.Run.Phase == common.PhaseRunning }

func (p *steps) ended() bool { return p.report != nil && p.report.Run.Phase.Finished() }

// announce that the turn of the object has come.
func (p *steps) announce() {
	if p.queued {
		p.queued, p.turn = false, true
	}
}

// install the content.
func (p *steps) install() {
	p.lacks, p.installing = false, false
	p.queued = p.queued || p.report != nil && p.report.Waits()
}

// begin what was noted.
func (p *steps) begin() {
	if p.noted && p.report != nil && p.report.Run.Phase == common.PhaseQueued {
		p.report.Run.Phase = common.PhaseRunning
	}
}

func (p *steps) end(phase common.RunPhase) {
	now := metav1.NewTime(p.now())
	p.report.Run.Phase, p.report.Run.CompletionTime = phase, &now
}

func (p *steps) discard() {
	p.end(common.PhaseCanceled)
	p.report.Run.Reason = executor.ReasonNotStarted
}

// pollOfPlay is longer than any back-off, so that what only a poll would find
// is found out.
const pollOfPlay = time.Hour

// A play is an object that the runtime's reconciler takes through a sequence of
// events, and what is true of its runs.
type play struct {
	t       *testing.T
	kube    client.Client
	object  *v1alpha1.AnsibleRun
	pool    *steps
	connect *connector
	now     time.Time
	offline bool
	paused  bool
	refused bool
	ids     int
	told    []string

	// wanted is what the inputs want of the target, and target how it is.
	wanted, target string
	// broken is true when the last apply that has changed something, or may have,
	// did not succeed.
	broken bool
	// canceled is true when the last reconcile has canceled a run, whose end it does not show yet.
	canceled bool
	// drifted is true when the last check of the inputs has said so, and nothing was
	// done about it.
	drifted bool
	// latest is the last apply that succeeded, which published its id.
	latest string
	// executed is true when something may have been changed.
	executed bool
	// failures are the applies that failed by themselves since one is known to
	// have succeeded.
	failures int64
}

// failed is true for an apply that ended without success.
func failed(a *common.Apply) bool {
	return a != nil && a.Result.Finished() && a.Result != common.PhaseSucceeded
}

func newPlay(t *testing.T, p common.RunPolicy) *play {
	t.Helper()

	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}

	run := object(annotated(common.AnnotationRunPolicy, string(p)))
	run.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionAll})
	run.SetWriteConnectionSecretToReference(&xpv2.LocalSecretReference{Name: "connection"})

	w := &play{t: t, object: run, now: t0, wanted: "a"}
	w.pool = &steps{now: func() time.Time { return w.now }}
	w.kube = fake.NewClientBuilder().WithScheme(s).WithStatusSubresource(run).WithObjects(run).WithInterceptorFuncs(interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, os ...client.UpdateOption) error {
			if w.offline {
				return errBoom
			}

			return c.Update(ctx, o, os...)
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, os ...client.SubResourceUpdateOption) error {
			if w.offline {
				return errBoom
			}

			return c.SubResource(sub).Update(ctx, o, os...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, os ...client.CreateOption) error {
			o.SetUID(uuid.NewUUID())

			return w.secret(o, func() error { return c.Create(ctx, o, os...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, os ...client.PatchOption) error {
			return w.secret(o, func() error { return c.Patch(ctx, o, p, os...) })
		},
	}).Build()
	w.connect = &connector{
		kube:     w.kube,
		resolver: resolverFn(func() (inputs.Inputs, error) { return in(w.wanted), nil }),
		tracker:  nopTracker{},
		contents: nopContents{},
		pool:     w.pool,
		observer: &fakePool{},
		outputs:  &fakeOutputs{},
		recorder: event.NewNopRecorder(),
		secrets:  secrets{kube: w.kube, cached: w.kube},
		kind:     Kinds()[1].GroupVersionKind,
		key:      key,
		wake:     func(types.NamespacedName) {},
		now:      func() time.Time { return w.now },
		newID:    func() string { w.ids++; return strconv.Itoa(w.ids) },
	}
	w.connect.live = newLive(w.connect)
	w.connect.schedule = newSchedule(pollOfPlay, time.Second)

	return w
}

// An act is something that happens.
type act struct {
	name string
	// share of all that happens.
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
		{"begin", 4, func(w *play) { w.pool.begin() }},
		{"touch", 2, (*play).touch},
		{"succeed", 3, func(w *play) { w.end(common.PhaseSucceeded) }},
		{"fail", 2, func(w *play) { w.end(common.PhaseFailed) }},
		{"fail by a fault of the provider", 2, func(w *play) {
			if w.pool.began() {
				w.pool.report.Blameless, w.pool.report.Run.Reason = true, executor.ReasonInternal
				w.end(common.PhaseFailed)
			}
		}},
		{"execute nothing", 2, func(w *play) {
			if w.pool.began() && w.pool.report.Untouched {
				reasons := []string{executor.ReasonPodNotStarted, executor.ReasonForbidden, executor.ReasonInstallFailed}
				w.untried(reasons[w.ids%len(reasons)])
			}
		}},
		{"cancel", 4, (*play).cancel},
		{"restart", 3, (*play).restart},
		{"change", 1, func(w *play) { w.wanted, w.drifted = map[string]string{"a": "b", "b": "a"}[w.wanted], false }},
		{"request", 2, func(w *play) { w.annotate(meta.AnnotationKeyReconcileRequestedAt, strconv.Itoa(len(w.told))) }},
		{"ask for a check", 2, func(w *play) {
			w.annotate(meta.AnnotationKeyReconcileRequestedAt, common.CheckRequest+strconv.Itoa(len(w.told)))
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
		{"settle", 2, (*play).settle},
		{"poll", 1, func(w *play) { w.now = w.now.Add(2 * pollOfPlay) }},
	}
}

func (w *play) read() {
	run := &v1alpha1.AnsibleRun{}
	if err := w.kube.Get(w.t.Context(), client.ObjectKeyFromObject(w.object), run); err != nil {
		w.t.Fatal(err)
	}

	w.object = run
}

func (w *play) annotate(k, v string) {
	w.read()
	meta.AddAnnotations(w.object, map[string]string{k: v})

	if err := w.kube.Update(w.t.Context(), w.object); err != nil {
		w.t.Fatal(err)
	}
}

func (w *play) pause(paused bool) {
	w.paused = paused
	w.annotate(meta.AnnotationKeyReconciliationPaused, strconv.FormatBool(paused))

	if paused {
		w.pool.Withdraw("")
	}
}

// secret writes one, unless that is refused.
func (w *play) secret(o client.Object, write func() error) error {
	if _, ok := o.(*corev1.Secret); ok && w.refused {
		return errBoom
	}

	return write()
}

func (w *play) deleteSecret() {
	s := &corev1.Secret{}
	if err := w.kube.Get(w.t.Context(), w.secretKey(), s); err != nil {
		return
	}

	if err := w.kube.Delete(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
}

// renameSecret to one that was there before, or never.
func (w *play) renameSecret() {
	w.read()

	ref := w.object.GetWriteConnectionSecretToReference()
	if ref.Name == "connection" {
		ref.Name = "connection-too"
	} else {
		ref.Name = "connection"
	}

	if err := w.kube.Update(w.t.Context(), w.object); err != nil {
		w.t.Fatal(err)
	}
}

func (w *play) secretKey() types.NamespacedName {
	return types.NamespacedName{Namespace: w.object.GetNamespace(), Name: w.object.GetWriteConnectionSecretToReference().Name}
}

// published is true when the connection details of the last apply are there.
func (w *play) published() bool {
	s := &corev1.Secret{}
	_ = w.kube.Get(w.t.Context(), w.secretKey(), s)

	return w.latest == string(s.Data["id"])
}

func (w *play) reconcile() {
	o := Options{Options: controller.Options{Logger: logging.NewNopLogger(), Features: &feature.Flags{}, PollInterval: 10 * time.Minute}}
	m := &rfake.Manager{Client: w.kube, Scheme: w.kube.Scheme()}
	r := managed.NewReconciler(m, resource.ManagedKind(Kinds()[1].GroupVersionKind), options(w.kube, "test", w.connect, w.connect.schedule, o)...)

	req := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(w.object)}

	running := w.pool.began()

	// What cannot be written is an error. Who has created something wants to see
	// it at once.
	res, err := r.Reconcile(w.t.Context(), req)
	if res.Requeue { //nolint:staticcheck // The runtime uses it.
		_, err = r.Reconcile(w.t.Context(), req)
	}

	w.read()

	if run := w.object.Observation().LastRun; run != nil && run.StartTime != nil {
		w.pool.Noted("", run.ID)
	}

	// The next reconcile shows what this one has canceled.
	w.canceled = running && w.pool.ended()

	if err == nil && !w.offline && !w.paused {
		w.check()
	}

	if w.canceled && w.pool.job.Mode == common.ModeApply {
		w.broken = w.broken || !w.pool.report.Untouched
	}
}

// touch the target, and say so.
func (w *play) touch() {
	if w.pool.began() {
		w.pool.report.Untouched = false
		w.pool.report.Run.Hosts = &common.HostTotals{OK: 1}
		w.executed = w.executed || w.pool.job.Mode == common.ModeApply
	}
}

// end the run in progress by itself.
func (w *play) end(phase common.RunPhase) {
	if !w.pool.began() {
		return
	}

	want := w.pool.job.Inputs.Parameters.PlaybookInline
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
		// What fails is an error, and looks again at the next poll.
		w.drifted = differs && want == w.wanted && phase == common.PhaseSucceeded

		if differs && phase == common.PhaseSucceeded {
			w.pool.report.Run.Hosts.Changed = 1
		}
	case phase == common.PhaseSucceeded:
		w.target, w.broken, w.drifted = want, false, false
		w.latest = w.pool.report.Run.ID
		w.pool.report.ConnectionDetails = map[string][]byte{"id": []byte(w.latest)}
	default:
		w.broken = w.broken || !w.pool.report.Untouched
		if !w.pool.report.Blameless {
			w.failures++
		}
	}
}

// untried ends the run in progress before anything of its content is executed.
func (w *play) untried(reason string) {
	r := w.pool.report
	r.Run.Reason, r.Blameless = reason, true

	if reason != executor.ReasonPodNotStarted {
		r.NotBefore = w.now.Add(executor.AccessAgain)
	}

	w.end(common.PhaseFailed)
}

// cancel the run, as a provider that is told to stop.
func (w *play) cancel() {
	w.broken = w.broken || w.pool.began() && w.pool.job.Mode == common.ModeApply && !w.pool.report.Untouched
	w.pool.Cancel("")
}

// restart the provider. Of a run that is in progress, according to the status,
// nothing is known any more.
func (w *play) restart() {
	w.read()

	if r := w.object.Observation().LastRun; r != nil && !r.Phase.Finished() && r.StartTime != nil && r.Mode == common.ModeApply {
		w.broken, w.executed = true, true
	}

	*w.pool = steps{now: w.pool.now}
	w.connect.schedule = newSchedule(pollOfPlay, time.Second)
}

// check that the object says what is true.
func (w *play) check() {
	w.t.Helper()

	o, ready := w.object.Observation(), w.object.GetCondition(xpv2.TypeReady)

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

// proceed with what goes well.
func (w *play) proceed() {
	w.reconcile()

	switch {
	case w.pool.installing:
		w.pool.install()
	case w.pool.queued:
		w.pool.announce()
	case w.pool.report == nil:
		w.now = w.now.Add(time.Minute)
	case w.pool.began():
		w.end(common.PhaseSucceeded)
	default:
		w.pool.begin()
	}
}

// settle lets everything go well from now on, and fails unless the object is
// applied and says so before a poll is due.
func (w *play) settle() {
	w.t.Helper()
	w.pause(false)
	w.refused = false

	// What was canceled is not tried again by itself.
	if w.object.GetAnnotations()[common.AnnotationCancel] != "" {
		w.annotate(meta.AnnotationKeyReconcileRequestedAt, "settle"+strconv.Itoa(len(w.told)))
	}

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

// Whatever happens, and in whatever order: the last apply is one that has begun
// or may have, and nothing that has is forgotten.
func TestSequences(t *testing.T) {
	pack := []act{}
	for _, a := range acts() {
		pack = append(pack, slices.Repeat([]act{a}, a.share)...)
	}

	for _, p := range []common.RunPolicy{common.ObserveAndDelete, common.CheckWhenObserve, common.RunOnChange} {
		for seed := range uint64(120) {
			t.Run(fmt.Sprintf("%s/%d", p, seed), func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 0))
				w := newPlay(t, p)

				for range 60 {
					a := pack[r.IntN(len(pack))]
					w.told = append(w.told, a.name)
					a.do(w)
				}

				w.told = append(w.told, "settle")
				w.settle()
			})
		}
	}
}

// What is displayed of a run, and how many hosts it works on at a time, is no reason to run
// anything.
func TestNoInputs(t *testing.T) {
	changes := map[string]func(w *play){
		"Verbosity": func(w *play) { w.object.Parameters().Verbosity = new(int32(3)) },
		"Forks":     func(w *play) { w.object.Parameters().Forks = new(int32(20)) },
	}

	for _, p := range []common.RunPolicy{common.ObserveAndDelete, common.CheckWhenObserve, common.RunOnChange} {
		for name, change := range changes {
			t.Run(string(p)+"/"+name, func(t *testing.T) {
				w := newPlay(t, p)
				w.connect.resolver = ofObject{}
				w.read()
				w.object.Parameters().PlaybookInline = w.wanted

				if err := w.kube.Update(t.Context(), w.object); err != nil {
					t.Fatal(err)
				}

				w.settle()

				jobs := w.ids
				w.read()
				change(w)

				w.object.Generation++
				if err := w.kube.Update(t.Context(), w.object); err != nil {
					t.Fatal(err)
				}

				for range 3 {
					w.reconcile()
				}

				ready := w.object.GetCondition(xpv2.TypeReady)
				if w.ids != jobs || w.pool.report != nil || ready.Reason != xpv2.ReasonAvailable || ready.ObservedGeneration != w.object.Generation {
					w.fatalf("nothing should be run")
				}
			})
		}
	}
}
