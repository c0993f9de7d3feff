package pods

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

const (
	// lookEvery is how often a run is looked at without a change.
	lookEvery = 15 * time.Second
	// podPatience is how long a Job may be without a Pod until the reason is looked up.
	podPatience = 3 * time.Second
	// imagePatience is how long a Pod may fail to start, for example since its image cannot be
	// pulled, until the run is given up.
	imagePatience = 2 * time.Minute
	// heldFor is how long the Job of a canceled run is waited for when nothing of it runs.
	heldFor = 30 * time.Second
	// rightsTries is how often rights are asked for again, every retryEvery, before a run lacks them: an API server
	// that has just started knows no roles yet, and allows nothing.
	rightsTries = 2
	// maxEvents is how many events about a Job are read.
	maxEvents = 10
	// page is how many Secrets are listed at a time.
	page = 100
	// idleAfter is how long a run waits before it is decided about anew, and eventsEvery how often events are read then.
	idleAfter   = time.Minute
	eventsEvery = time.Minute
	// retryEvery is how long to wait before a request that has failed is sent again.
	retryEvery = 2 * time.Second
)

// A run is followed by one call of Execute.
type run struct {
	*Executor

	job    executor.Job
	ref    common.JobReference
	watch  executor.Watch
	scope  *scope
	report executor.Report
	// key of the reports; nil when it is not known, since the run has no Secrets.
	key []byte
	// uid of the Job; empty when it is not known, since the run has no Secrets.
	uid types.UID
	// since is when a run was attached to, whose tasks before that were counted; zero for one
	// that was begun here.
	since time.Time

	// frames and logged come from the log of a Pod: the reports in it, and its end.
	frames chan heard
	logged chan struct{}
	// following is the Pod whose log is followed; nil for none. stop ends that.
	following *corev1.Pod
	stop      context.CancelFunc
	// read is true once the log was read to its end.
	read bool

	// shown is what the log shows, other than its reports.
	shown *shown

	// plan of a run of which it is certain whether it has begun; empty for others.
	plan string
	// asked is true once the API server was asked for the Job, so that it may be there.
	asked bool
	// meant is the Pod that may run; empty when none was let run here.
	meant types.UID
	// begun is true once the container may have started, touched once content may have changed
	// something, and complete once the Pod has sent its last report.
	begun, touched, complete bool
	// stuckSince is since when the Pod has failed to start; zero if it has not.
	stuckSince time.Time
	// troubled is the Job or Pod of which events say what is wrong, as of askedAt.
	troubled    types.UID
	askedAt     time.Time
	troubleText string
	// canceled is when the Job was deleted by the provider, and why says so in its place if there is
	// another reason than a cancelation; the zero time if it was not deleted.
	canceled time.Time
	why      *end
	// renewal of the token is due then; zero if that is not known, since a former provider has made it.
	renewal time.Time
	// disruption is why Kubernetes ends the Pod, which may be gone when the run has ended; empty if it does not.
	disruption string
	// hidden is true while the API server refuses to show the run, and lostSince is since when nothing can
	// be left of it meanwhile; zero if that is not so.
	hidden    bool
	lostSince time.Time
	// uncanceled is why the run could not be canceled; empty if that has not failed.
	uncanceled string
	// unbelieved is why a report of the Pod was not taken; nil if none was refused.
	unbelieved error
	// unread says why the last report of a Pod that has succeeded cannot be read; empty if it can, or is not missed yet.
	unread string
}

// Execute a job.
func (x *Executor) Execute(ctx context.Context, j executor.Job, w executor.Watch) (report executor.Report) {
	if w.Progress == nil {
		w.Progress = func(executor.Report) {}
	}

	if w.Provider == nil {
		w.Provider = context.Background()
	}

	if w.Wanted == nil {
		w.Wanted = context.Background()
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.Provider, cancel)()

	r := &run{Executor: x, job: j, ref: *j.Reference(), watch: w, stop: func() {}, shown: &shown{}}
	if j.Begun != nil {
		r.since = x.now()
	}

	defer func() { r.stop() }()

	// A panic that one job causes must not end the provider, again and again.
	defer redact.Panic(func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
		defer stop()

		_ = r.delete(ctx)
		report = r.report
		s := &report.Run
		s.Phase, s.Reason, s.CompletionTime = common.PhaseInterrupted, executor.ReasonInternal, r.time()
		s.Message = "the provider has made a mistake; its log has a stack trace"
		report.Blameless, report.Untouched, report.Plan = true, false, ""
	})

	if w.Tail != nil {
		w.Tail(r.shown.read)
	}

	changes, release := x.scopes.follow(runKey{string(j.Object.UID), j.ID})
	defer release()

	revocable := context.AfterFunc(w.Wanted, cancel)
	err := r.begin(ctx)

	revocable()

	if err != nil {
		if errors.Is(err, errLost) {
			r.conclude(view{})

			return r.report
		}

		// A request that was canceled may have arrived, so that the run may begin. It has ended when
		// its Job is gone.
		if !r.asked || ctx.Err() == nil || r.isLeft() {
			return r.notBegun(ctx, err)
		}

		// Before its gate was opened, a run cannot begin.
		r.touched = !r.isRevoked()
	}

	r.shown.know(r.job.Inputs, nil)

	return r.follow(ctx, changes)
}

// notBegun returns the report of a run that was not begun, and of a run that was begun and is
// left to the next provider.
func (r *run) notBegun(ctx context.Context, err error) executor.Report {
	if r.isLeft() {
		return r.report
	}

	s := &r.report.Run
	s.Phase, s.Reason = common.PhaseFailed, executor.ReasonPodNotStarted
	s.Message, s.CompletionTime = err.Error(), r.time()
	r.report.Untouched, r.report.Blameless, r.report.Plan = true, true, ""

	switch {
	case ctx.Err() != nil:
		s.Phase, s.Reason, s.Message = common.PhaseCanceled, executor.ReasonNotStarted, "canceled before its Job was made"
	case executor.LacksAccess(err):
		s.Reason = executor.ReasonForbidden
		r.report.NotBefore = r.now().Add(executor.AccessAgain)
	case !errors.As(err, new(*refusal)):
		s.Reason = executor.ReasonInternal
	}

	return r.report
}

// follow the run to its end.
func (r *run) follow(ctx context.Context, changes <-chan struct{}) executor.Report {
	first := podPatience
	if !r.since.IsZero() {
		first = 0
	}

	tick := time.NewTimer(first)
	defer tick.Stop()

	done, revoked := ctx.Done(), r.watch.Wanted.Done()

	for {
		select {
		case <-changes:
		case <-tick.C:
		case h := <-r.frames:
			if r.take(h) {
				return r.report
			}

			continue
		case <-r.logged:
			r.read, r.logged = true, nil
		case <-done:
			done = nil
		case <-revoked:
			revoked = nil
		case <-r.watch.Provider.Done():
		}

		if r.isLeft() || r.look(r.watch.Provider, ctx.Err() != nil) {
			return r.report
		}

		tick.Reset(r.pause())
	}
}

// isLeft is true once the run is left to the next provider.
func (r *run) isLeft() bool { return r.watch.Provider.Err() != nil }

// pause until the run is looked at again without a change.
func (r *run) pause() time.Duration {
	switch {
	case r.hidden:
		return executor.AccessAgain
	case !r.begun && r.report.Plan == "":
		return podPatience
	case r.read:
		return time.Second
	}

	return lookEvery
}

// take a frame. It is true for the last one of a run that has ended by itself.
func (r *run) take(f heard) bool {
	if r.unread = ""; f.unread != nil {
		r.unread = fmt.Sprintf(
			"the Pod has succeeded, and its result is read as soon as its log can be, or given up when the run is canceled: %s",
			clip.Text(f.unread.Error(), maxMessage))
		r.says(r.unread)

		return false
	}

	if f.unbelieved != nil {
		r.unbelieved = f.unbelieved
		return false
	}

	if r.watch.Task != nil && f.Time.After(r.since) {
		for _, t := range f.Tasks {
			r.watch.Task(t)
		}
	}

	r.begun, r.complete = true, f.Final
	r.adoptReport(f.Report)

	if f.Final && (f.Report.Run.Phase != common.PhaseCanceled || !r.canceled.IsZero()) {
		return true
	}

	// The Pod was told to end by somebody else. Why, is known when it has ended.
	if r.report.Run.Phase.Finished() {
		r.report.Run.Phase = common.PhaseRunning
		r.report.Run.CompletionTime = nil

		return false
	}

	r.watch.Progress(r.report)

	return false
}

// adoptReport takes over what the Pod reports. Which run it is about, and its digest, is known
// here. Conditions of Crossplane and the provider are not for content to report.
func (r *run) adoptReport(got executor.Report) {
	was := r.report
	if k := r.job.Inputs.Kubernetes; k == nil || !k.WatchDependents {
		got.Dependents, got.Kinds = nil, nil
	}

	// Its store has seen no failure before.
	got.Attaching, got.NotBefore, got.Plan = false, time.Time{}, ""
	got.Reported.Conditions = slices.DeleteFunc(got.Reported.Conditions, common.IsOwn)
	got.Before, got.Attempt, got.Request, got.Generation = was.Before, was.Attempt, was.Request, was.Generation

	n, k := &got.Run, was.Run
	n.ID, n.Mode, n.State, n.Trigger, n.Job, n.StartTime = k.ID, k.Mode, k.State, k.Trigger, k.Job, k.StartTime
	n.InputsDigest, n.MetadataDigest = k.InputsDigest, k.MetadataDigest

	if got.Content != nil {
		n.InputsDigest = r.job.Digest(content.Known(got.Content))
	}

	// The clock of a node may be wrong.
	if now := r.time(); n.Phase.Finished() &&
		(n.CompletionTime == nil || now.Before(n.CompletionTime) || n.CompletionTime.Before(n.StartTime)) {
		n.CompletionTime = now
	}

	if len(got.ConnectionDetails) > 0 {
		r.shown.know(r.job.Inputs, got.ConnectionDetails)
	}

	// Somebody has begun to watch after the run began.
	if n.Phase.Finished() && got.Output == "" && r.shown.watched.Load() {
		got.Output = r.shown.read()
	}

	r.touched = r.touched || !got.Untouched
	got.Untouched = !r.touched
	r.report = got
}

// look at what the cluster shows of the run, and do what follows from it. It is true when the
// run has ended.
func (r *run) look(ctx context.Context, cancel bool) bool {
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()

	// Who gives it up meanwhile is heard next time: what is known by then may be old.
	revoked := r.isRevoked()
	v, err := r.known(ctx, cancel || revoked)

	unwanted := err == nil && revoked && !v.started() && !v.installing()

	// A run that has ended by itself has a result, which is read with its key.
	switch ended := err == nil && v.over() && v.started(); {
	case !r.canceled.IsZero():
		r.deleteLate(ctx, v)
	case unwanted:
		r.cancel(ctx,
			&end{common.PhaseCanceled, executor.ReasonNotStarted, "it waited for its Pod, and is decided about anew", true})
	case cancel && (r.key == nil || !ended || r.unread != ""):
		r.touched = r.touched || err != nil && r.mayHaveBegun()
		r.cancel(ctx, nil)
	}

	if err != nil {
		return r.unseen(ctx, err)
	}

	if !v.over() && r.canceled.IsZero() {
		r.renewDue(ctx)
	}

	if !r.since.IsZero() && v.everSuspended() {
		r.plan = ""
	}

	r.disruption = cmp.Or(v.disruption(), r.disruption)

	if v.started() {
		r.begun, r.meant, r.report.Plan = true, v.pod.UID, ""
		r.followLog(v.pod)
	}

	if r.begun && r.key == nil {
		r.says("the inputs of the run were removed, so that its reports cannot be read; it ends with its Pod")
	}

	// A node may answer again.
	if message := cmp.Or(v.ending(), r.uncanceled, r.unread); message != "" || r.begun && r.key != nil &&
		r.report.Run.Phase == common.PhaseRunning {
		r.says(message)
	}

	switch {
	case v.over() && (r.following == nil || r.read):
		return r.ended(ctx)
	case v.unproved:
		return false
	case v.suspended() || r.startsOver(ctx, v):
		// The Job makes another Pod, now or when it is resumed.
		r.touched = r.touched || r.begun || !v.suspended()
		r.begun = r.begun && v.pod != nil && v.suspended()

		if v.stopped() || !v.suspended() {
			r.meant = ""
		}
	case r.begun:
		return false
	}

	if !unwanted && !cancel {
		r.notStarted(ctx, v)
	}

	return false
}

// startsOver is true for a run whose Job makes another Pod. The API server has to agree with the cache that nothing is
// left of the one that was let run.
func (r *run) startsOver(ctx context.Context, v view) bool {
	if r.meant == "" && !r.begun || !v.startsOver(r.meant) {
		return false
	}

	live, err := r.live(ctx)

	return err == nil && live.startsOver(r.meant)
}

// notStarted shows what the run waits for. A Pod that cannot start is given up.
func (r *run) notStarted(ctx context.Context, v view) {
	if !r.canceled.IsZero() {
		return
	}

	if r.key == nil {
		r.cancelWithout(ctx)
		return
	}

	if err := r.open(ctx, v); err != nil {
		r.waits(err.Error())
		return
	}

	v.trouble = r.trouble(ctx, v)
	message, stuck := v.waiting()

	switch {
	case !stuck:
		r.stuckSince = time.Time{}
	case r.stuckSince.IsZero():
		r.stuckSince = r.now()
	case r.now().Sub(r.stuckSince) > imagePatience:
		r.cancel(ctx, &end{common.PhaseFailed, executor.ReasonPodNotStarted, message, true})
		return
	}

	if v.installing() {
		r.shows(common.PhaseInstalling, "the Pod installs the content")

		return
	}

	r.waits(message)
}

// cancelWithout its inputs a run that was not seen to start: it never does, unless its gate was opened while it had
// them. Of a Pod that is gone nobody knows.
func (r *run) cancelWithout(ctx context.Context) {
	v, err := r.live(ctx)
	if err != nil {
		return
	}

	why := end{
		common.PhaseInterrupted, executor.ReasonNotStarted,
		"the provider ended before the run had its inputs", true,
	}
	if v.pod == nil || !isGated(v.pod) || v.everSuspended() {
		r.touched = true
		why.reason, why.message = executor.ReasonProviderEnded, "the provider ended, and the inputs of the run were "+
			"removed before its Pod was seen to start"
	}

	r.cancel(ctx, &why)
}

// open the gate of the Pod that is to run, and of no other one: a Job has one Pod as a rule, and
// sometimes Kubernetes makes two.
func (r *run) open(ctx context.Context, v view) error {
	if v.pod == nil || !isGated(v.pod) || r.meant != "" || v.suspended() {
		return nil
	}

	// A former provider may have opened that of another one.
	if !r.since.IsZero() {
		live, err := r.live(ctx)
		if err != nil || live.pod == nil || !isGated(live.pod) {
			return err
		}

		v = live
	}

	patch := fmt.Sprintf(`{"metadata":{"uid":%q},"spec":{"schedulingGates":[{"$patch":"delete","name":%q}]}}`,
		v.pod.UID, gate)

	err := r.config.Client.Patch(ctx, v.pod.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, []byte(patch)))
	if err != nil {
		// It may have arrived.
		if !isRefusal(err) {
			r.plan = ""
		}

		return errors.Wrap(err, "cannot let the Pod be scheduled")
	}

	r.meant = v.pod.UID

	return nil
}

// waits shows what the run waits for.
func (r *run) waits(message string) { r.shows(common.PhaseQueued, message) }

// shows what goes on before the run begins.
func (r *run) shows(phase common.RunPhase, message string) {
	if r.begun {
		return
	}

	// What has installed its content goes on as it is.
	if phase == common.PhaseInstalling {
		r.plan = ""
	}

	was := r.report.Plan
	r.report.Run.Phase, r.report.Plan = phase, ""

	if phase == common.PhaseQueued && r.isIdle() {
		r.report.Plan = r.plan
	}

	if r.report.Plan == was {
		r.says(message)
		return
	}

	r.report.Run.Message = message
	r.watch.Progress(r.report)
}

// isIdle is true for a run that has waited for long, and for nothing else. A run that was attached to has done so once
// it was looked at for as long.
func (r *run) isIdle() bool {
	since := r.since
	if t := r.report.Run.StartTime; t != nil && since.Before(t.Time) {
		since = t.Time
	}

	return !r.touched && r.now().Sub(since) >= idleAfter
}

// mayHaveBegun is true for a run that was let run, and of which it is not known that it has begun. A Pod that has no
// gate is let run with its Job.
func (r *run) mayHaveBegun() bool {
	return !r.begun && (r.meant != "" || !r.since.IsZero() || r.asked && r.plan == "")
}

// isRevoked is true for a run that waits, while another one is due in place of it.
func (r *run) isRevoked() bool { return r.report.Plan != "" && r.watch.Wanted.Err() != nil }

// says something about the run, in whatever phase it is, or nothing.
func (r *run) says(message string) {
	if r.report.Run.Message == message {
		return
	}

	r.report.Run.Message = message
	r.watch.Progress(r.report)
}

// cancel the run. It has ended when nothing is left of its Job.
func (r *run) cancel(ctx context.Context, why *end) {
	if err := r.delete(ctx); err != nil {
		r.config.Log.Info("Cannot cancel a run, trying again", "job", r.ref.Namespace+"/"+r.ref.Name, "error", err)
		r.uncanceled = "cannot cancel the run: " + r.explained(ctx, err).Error()

		return
	}

	r.canceled, r.why, r.uncanceled, r.report.Plan = r.now(), why, "", ""
}

// deleteLate deletes the Job of a run that was canceled, if a request that was canceled, too, has made it after that.
func (r *run) deleteLate(ctx context.Context, v view) {
	if v.job != nil && !v.unproved && v.job.DeletionTimestamp == nil {
		_ = r.delete(ctx)
	}
}

// ended is true if nothing of the run is left by the API server's own word. Caches may lag
// behind, and do not agree with each other.
func (r *run) ended(ctx context.Context) bool {
	v, err := r.live(ctx)
	if err != nil {
		return r.unseen(ctx, err)
	}

	if !v.over() || v.pod != nil && !v.stopped() {
		return false
	}

	// Nothing runs any more, but Kubernetes removes no Job that somebody holds with a finalizer, or
	// with an object that the Job owns.
	held := !v.gone() && !v.unproved
	if !r.canceled.IsZero() && held && r.now().Sub(r.canceled) < heldFor {
		return false
	}

	// The cache may have shown the end of the Job before it showed that the Pod had started.
	if v.started() && r.followLog(v.pod) {
		return false
	}

	r.conclude(v)

	return true
}

// conclude the report of a run that has ended without its last one.
func (r *run) conclude(v view) {
	// Reports may be lost.
	waited := r.why != nil && r.why.reason == executor.ReasonNotStarted
	r.touched = r.touched || (r.begun || v.started() || !r.since.IsZero() && v.pod == nil && !waited) && !r.complete

	e := v.end(r.job.Limit())

	switch {
	case r.why != nil && (!waited || !r.touched):
		e = *r.why
	case !r.canceled.IsZero():
		e = end{common.PhaseCanceled, runner.ReasonCanceled, "canceled", false}
	case v.pod == nil && v.job != nil && r.disruption != "":
		e.message = r.disruption
	case v.gone() && r.key == nil:
		e.message = "its Job was deleted, or the provider ended before it had made it"
	}

	if r.unbelieved != nil && e.reason == executor.ReasonInternal {
		e.message += "; " + r.unbelieved.Error()
	}

	s := &r.report.Run
	s.Phase, s.Reason, s.Message, s.CompletionTime, s.CurrentTask = e.phase, e.reason, e.message, r.time(), ""
	r.report.Blameless, r.report.Plan = e.blameless, ""
	r.report.Untouched = !r.touched
}

// delete the Job of the run, and wait for nothing.
func (r *run) delete(ctx context.Context) error {
	j := &batchv1.Job{}

	err := r.config.Client.Get(ctx, client.ObjectKey{Namespace: r.ref.Namespace, Name: r.ref.Name}, j)
	if err != nil || !r.owns(j) || j.DeletionTimestamp != nil {
		return errors.Wrap(client.IgnoreNotFound(err), "cannot get the Job of the run")
	}

	return r.deleteJob(ctx, j)
}

// time returns the present time in seconds, as the API server keeps times.
func (r *run) time() *metav1.Time {
	t := metav1.NewTime(r.now().Truncate(time.Second))

	return &t
}
