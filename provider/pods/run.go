package pods

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sealed"
)

const (
	// lookEvery is how often a run is looked at without a change, and askEvery how often the API server is asked for its
	// Pod, whatever the watch shows: it may hang, or the provider have lost its rights.
	lookEvery = 15 * time.Second
	askEvery  = time.Minute
	// stuckFor is how long a Pod may fail to start, for example since its image cannot be
	// pulled, until the run is given up.
	stuckFor = 2 * time.Minute
	// idleAfter is how long a run waits before it is decided about anew.
	idleAfter = time.Minute
	// restsFor is how long the next run waits for the end of a Pod that was not seen to stop.
	restsFor = time.Minute
)

// errEnded is the error of a run that has ended, as its report says.
var errEnded = errors.New("the run has ended")

// A run is followed by one call of Execute.
type run struct {
	*Executor

	job    executor.Job
	ref    common.PodReference
	watch  runs.Watch
	report runs.Report

	// pod of the run as it was seen last, of which sight knows; nil before it was made or found. It was asked for at
	// askedAt, and gone is true once the API server does not have it any more.
	pod     *corev1.Pod
	sight   *sight
	askedAt time.Time
	gone    bool
	// given is true once the Pod may have its inputs, so that it may begin. key seals its reports; nil if it is not known.
	given bool
	key   []byte
	// since is when the run was attached to: its tasks before that were counted. It is zero
	// for a run that was begun here.
	since time.Time

	// frames and logged come from the log of the Pod: the reports in it, and its end. Both are nil before that is
	// followed, which stop ends. It was read to its end if read is true.
	frames chan heard
	logged chan struct{}
	stop   context.CancelFunc
	read   bool
	// shown is what the log shows, other than its reports.
	shown *shown

	// plan of a run of which it is certain whether it has begun; empty for others.
	plan string
	// begun is true once the container has started, touched once content may have changed
	// something, and complete once the Pod has sent its last report.
	begun, touched, complete bool
	// stuckSince is since when the Pod has failed to start; zero if it has not.
	stuckSince time.Time
	// troubleText is what events say is wrong, as of troubleAt.
	troubleAt   time.Time
	troubleText string
	// canceled is when the Pod was deleted by the provider, and why says so in its place if there is
	// another reason than a cancelation; the zero time if it was not deleted.
	canceled time.Time
	why      *end
	// renewal of the token is due then; zero if that is not known, since a former provider has made it.
	renewal time.Time
	// lostSince is since when the API server has refused to show a run of which nothing can be left; zero if it does not.
	lostSince time.Time
	// uncanceled is why the run could not be canceled; empty if that has not failed.
	uncanceled string
	// unbelieved is why a report of the Pod was not taken; nil if none was refused.
	unbelieved error
	// unread says why the last report of a Pod that has succeeded cannot be read; empty if it can, or is not missed yet.
	unread string
}

// Execute a run.
func (x *Executor) Execute(ctx context.Context, todo runs.Run, w runs.Watch) (report runs.Report) {
	j := executor.JobOf(todo)

	if w.Progress == nil {
		w.Progress = func(runs.Report) {}
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

	defer func() { r.stop() }()

	// A panic that one job causes must not end the provider, again and again.
	defer redact.Panic(func() {
		r.deleteAnyway(ctx)

		report = r.report
		s := &report.Run
		s.Phase, s.Reason, s.CompletionTime = common.PhaseInterrupted, runs.ReasonInternal, r.time()
		s.Message = "the provider has made a mistake; its log has a stack trace"
		report.Blameless, report.Untouched, report.Plan = true, false, ""
	})

	if w.Tail != nil {
		w.Tail(r.shown.read)
	}

	var release func()

	r.sight, release = x.watches.follow(runKey{string(j.Object.UID), j.ID})
	defer release()

	var err error

	if j.Begun != nil {
		err = r.attach()
	} else {
		err = r.begin(ctx)
	}

	if err != nil {
		return r.notBegun(ctx, err)
	}

	r.shown.know(r.job.Inputs, nil)

	return r.follow(ctx)
}

// begin the run: make its Pod, and give it its inputs. The error says why it has not begun.
func (r *run) begin(ctx context.Context) error {
	r.report = r.job.Run().Report()
	r.report.Run.Pod, r.report.Run.StartTime = &r.ref, r.time()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.watch.Wanted, cancel)()

	if err := r.watched(ctx); err != nil {
		return err
	}

	// Nothing is made for a run that cannot reach what it is to manage.
	if err := r.grantable(ctx); err != nil {
		return err
	}

	p, secrets, err := r.prepare(ctx)
	if err != nil {
		return &refusal{err}
	}

	// Without its inputs a Pod never begins. One that comes late is swept up.
	if _, err := r.post(ctx, p); err != nil {
		return err
	}

	r.pod, r.askedAt = p, r.now()
	r.sight.see(nil, p, false)

	if err := r.give(ctx, secrets); err != nil && !r.given {
		r.deleteAnyway(ctx)

		return err
	}

	return nil
}

// prepare the Pod and the Secrets of the run.
func (r *run) prepare(ctx context.Context) (*corev1.Pod, []*corev1.Secret, error) {
	payload := Payload{
		Spec: r.job.Spec, Request: r.job.Request, Before: r.job.Before, Key: sealed.NewKey(),
		ContentKey: r.contentKey(r.job), Cluster: r.config.Endpoint,
	}
	payload.Before.Content = r.job.Known.Status()
	r.key = payload.Key

	secrets, err := payload.secrets(r.job)
	if err != nil {
		return nil, nil, err
	}

	own, err := r.config.Own(ctx)
	if err != nil {
		return nil, nil, err
	}

	count := len(secrets)
	if r.job.Inputs.Kubernetes != nil {
		count++
	}

	p, err := r.newPod(r.job, own, count)
	if err == nil && p.Spec.NodeName == "" {
		r.plan = r.job.Plan()
	}

	return p, secrets, err
}

// give the Pod its inputs. The first Secret comes last, since it lets the run begin.
func (r *run) give(ctx context.Context, secrets []*corev1.Secret) error {
	r.assign(secrets, r.job, r.pod)

	if err := r.grant(ctx); err != nil {
		return err
	}

	for _, s := range secrets[1:] {
		if _, err := r.post(ctx, s); err != nil {
			return err
		}
	}

	if !r.config.Leads() {
		return errors.New("another provider may lead by now")
	}

	var err error
	r.given, err = r.post(ctx, secrets[0])

	return err
}

// attach to the run that a former provider has begun. A run that is canceled meanwhile may be in progress: it ends once
// it is found.
func (r *run) attach() error {
	r.since = r.now()
	r.report = r.job.Run().Report()
	r.report.Run = *r.job.Begun.DeepCopy()
	r.given = true // So it may be.

	for {
		ctx, stop := context.WithTimeout(r.watch.Provider, requestTimeout)

		err := r.find(ctx)
		if err != nil && !errors.Is(err, errEnded) && r.isLost(ctx, err) {
			err = r.lost()
		}

		stop()

		if err == nil || errors.Is(err, errEnded) || r.isLeft() {
			return err
		}

		r.says(err.Error())

		_ = sleep(r.watch.Provider, lookEvery)
	}
}

// lost ends a run of which nothing is left, or can be known.
func (r *run) lost() error {
	r.gone = true
	r.conclude()

	return errEnded
}

// find the Pod of the run, and its inputs.
func (r *run) find(ctx context.Context) error {
	if err := r.watched(ctx); err != nil {
		return err
	}

	if err := r.ask(ctx); err != nil {
		return err
	}

	if r.pod == nil {
		return r.lost()
	}

	payload, ok, err := r.Executor.given(ctx, r.job, r.pod)
	if ok {
		r.adopt(payload)
	}

	return err
}

// adopt what a run was begun with. Which run of which object it is, says the object.
func (r *run) adopt(p Payload) {
	execution := r.job.Inputs.Execution

	// One that has begun may wait, too.
	if r.report.Run.Phase == common.PhaseQueued {
		r.plan = executor.Job{Spec: p.Spec, Request: p.Request}.Plan()
	}

	r.key = p.Key
	r.job.Attempt, r.job.Timeout, r.job.Request, r.job.Before = p.Spec.Attempt, p.Spec.Timeout, p.Request, p.Before
	r.job.Known = content.Known(p.Before.Content)
	r.job.Object = p.Spec.Object
	r.job.Inputs = p.Spec.Inputs
	r.job.Inputs.Execution = execution

	shown := r.report.Run
	r.report = r.job.Run().Report()
	shown.InputsDigest, shown.MetadataDigest = r.report.Run.InputsDigest, r.report.Run.MetadataDigest
	r.report.Run = shown
}

// notBegun returns the report of a run that was not begun, or has ended, and of one that is left to the next provider.
func (r *run) notBegun(ctx context.Context, err error) runs.Report {
	if errors.Is(err, errEnded) || r.isLeft() {
		return r.report
	}

	s := &r.report.Run
	s.Phase, s.Reason = common.PhaseFailed, runs.ReasonPodNotStarted
	s.Message, s.CompletionTime = err.Error(), r.time()
	r.report.Untouched, r.report.Blameless, r.report.Plan = true, true, ""

	switch {
	case ctx.Err() != nil || r.watch.Wanted.Err() != nil:
		s.Phase, s.Reason, s.Message = common.PhaseCanceled, runs.ReasonNotStarted, "canceled before its Pod could begin"
	case executor.LacksAccess(err):
		s.Reason = runs.ReasonForbidden
		r.report.NotBefore = r.now().Add(runs.AccessAgain)
	case !errors.As(err, new(*refusal)):
		s.Reason = runs.ReasonInternal
	}

	return r.report
}

// follow the run to its end.
func (r *run) follow(ctx context.Context) runs.Report {
	tick := time.NewTimer(0)
	defer tick.Stop()

	done, revoked := ctx.Done(), r.watch.Wanted.Done()

	for {
		select {
		case <-r.sight.changed:
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

		tick.Reset(lookEvery)
	}
}

// isLeft is true once the run is left to the next provider.
func (r *run) isLeft() bool { return r.watch.Provider.Err() != nil }

// look at the Pod, and do what follows from it. It is true when the run has ended.
func (r *run) look(ctx context.Context, cancel bool) bool {
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()

	if err := r.refresh(ctx); err != nil {
		return r.unseen(ctx, err, cancel)
	}

	if started(r.pod) {
		r.begun, r.report.Plan = true, ""

		if r.key != nil {
			r.followLog()
		}
	}

	if r.gone || stopped(r.pod) || neverStarts(r.pod) {
		return r.ended(cancel)
	}

	waits := !r.begun && !installing(r.pod)

	switch {
	case !r.canceled.IsZero():
	case cancel || r.key == nil:
		r.cancel(ctx, nil)
	case waits && r.report.Plan != "" && r.watch.Wanted.Err() != nil:
		r.cancel(ctx, &end{
			common.PhaseCanceled, runs.ReasonNotStarted, "it waited for its Pod, and is decided about anew", true,
		})
	default:
		r.renewDue(ctx)
	}

	switch {
	case r.begun || !r.canceled.IsZero() || r.uncanceled != "":
		message := cmp.Or(ending(r.pod), r.uncanceled)
		if message != "" || r.report.Run.Phase == common.PhaseRunning {
			r.says(message)
		}
	default:
		r.notStarted(ctx)
	}

	return false
}

// refresh what is known of the Pod. It is gone when the API server says so.
func (r *run) refresh(ctx context.Context) error {
	seen, gone := r.sight.last()
	if seen != nil && seen.UID == r.pod.UID {
		r.pod = seen
	}

	if r.gone || !gone && r.now().Sub(r.askedAt) < askEvery {
		return nil
	}

	return r.ask(ctx)
}

// ask the API server for the Pod.
func (r *run) ask(ctx context.Context) error {
	p := &corev1.Pod{}
	before, _ := r.sight.last()
	err := r.config.Client.Get(ctx, client.ObjectKey{Namespace: r.ref.Namespace, Name: r.ref.Name}, p)

	switch {
	case client.IgnoreNotFound(err) != nil:
		return errors.Wrap(err, "cannot get the Pod of the run")
	case err != nil || r.pod == nil && !isOwn(p, r.job.Object.UID) || r.pod != nil && p.UID != r.pod.UID:
		r.gone = r.pod != nil
		r.sight.see(before, r.pod, true)
	default:
		r.sight.see(before, p, false)
		r.pod = p
	}

	r.askedAt, r.lostSince = r.now(), time.Time{}

	return nil
}

// notStarted shows what the run waits for. A Pod that cannot start is given up.
func (r *run) notStarted(ctx context.Context) {
	if installing(r.pod) {
		r.shows(common.PhaseInstalling, "the Pod installs the content")

		return
	}

	message, stuck := waitsFor(r.pod, r.trouble(ctx))

	switch {
	case !stuck:
		r.stuckSince = time.Time{}
	case r.stuckSince.IsZero():
		r.stuckSince = r.now()
	case r.now().Sub(r.stuckSince) > stuckFor:
		r.cancel(ctx, &end{common.PhaseFailed, runs.ReasonPodNotStarted, message, true})

		return
	}

	r.waits(message)
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

// says something about the run, in whatever phase it is, or nothing.
func (r *run) says(message string) {
	if r.report.Run.Message == message {
		return
	}

	r.report.Run.Message = message
	r.watch.Progress(r.report)
}

// cancel the run: delete its Pod. A Pod that has no node, and goes as it was seen, has not begun.
func (r *run) cancel(ctx context.Context, why *end) {
	waits := r.pod.Spec.NodeName == ""
	r.askedAt = time.Time{}

	err := r.deletePod(ctx, r.pod, waits)

	switch {
	case kerrors.IsConflict(err):
		r.again()

		return
	case kerrors.IsNotFound(err):
	case err != nil:
		r.config.Log.Info("Cannot cancel a run, trying again", "pod", r.ref.Namespace+"/"+r.ref.Name, "error", err)
		r.uncanceled = "cannot cancel the run: " + r.explained(ctx, err).Error()

		return
	}

	r.given = r.given && (!waits || err != nil)
	r.canceled, r.why, r.uncanceled, r.report.Plan = r.now(), why, "", ""
	r.again()
}

// again has the run looked at once more.
func (r *run) again() {
	select {
	case r.sight.changed <- struct{}{}:
	default:
	}
}

// deleteAnyway deletes the Pod of a run that does not go on, if there is one. The sweep finds what is left.
func (r *run) deleteAnyway(ctx context.Context) {
	if r.pod == nil {
		return
	}

	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer stop()

	_ = r.deletePod(ctx, r.pod, false)
}

// ended is true once all is known of a run in a Pod that has stopped.
func (r *run) ended(cancel bool) bool {
	switch {
	case cancel && r.unread != "":
		r.canceled = r.now() // Its result is given up.
	case r.frames != nil && !r.read:
		return false
	}

	r.conclude()

	return true
}

// mayHaveBegun is false for a run of which it is certain that its content has not begun: it had no inputs, or its node
// has said that its container did not start. A node says how a Pod has stopped before it goes.
func (r *run) mayHaveBegun() bool {
	switch {
	case r.begun || r.pod != nil && started(r.pod):
		return true
	case !r.given || r.pod != nil && (stopped(r.pod) || neverStarts(r.pod)):
		return false
	}

	return true
}

// conclude the report of a run that has ended without its last one.
func (r *run) conclude() {
	began := r.mayHaveBegun()
	r.touched = r.touched || began && !r.complete

	e := interrupted("its Pod was deleted, or the provider ended before it had made it")
	if r.pod != nil {
		e = endOf(r.pod, r.job.Limit())
	}

	switch {
	case r.key == nil && r.pod != nil:
		e = end{
			common.PhaseInterrupted, runs.ReasonProviderEnded,
			"the provider ended before the run had its inputs, or they were removed", true,
		}
	case r.why != nil && (r.why.reason != runs.ReasonNotStarted || !began):
		e = *r.why
	case !r.canceled.IsZero():
		e = end{common.PhaseCanceled, runner.ReasonCanceled, "canceled", false}
	}

	if r.unbelieved != nil && e.reason == runs.ReasonInternal {
		e.message += "; " + r.unbelieved.Error()
	}

	// Something of it may still work that the cluster does not know any more.
	if r.gone && r.given && (r.pod == nil || !stopped(r.pod)) {
		r.report.NotBefore = r.now().Add(restsFor)
	}

	s := &r.report.Run
	s.Phase, s.Reason, s.Message, s.CompletionTime, s.CurrentTask = e.phase, e.reason, e.message, r.time(), ""
	r.report.Blameless, r.report.Plan = e.blameless, ""
	r.report.Untouched = !r.touched
}

// take a frame. It is true for the last one of a run that has ended by itself.
func (r *run) take(f heard) bool {
	if r.unread = ""; f.unread != nil {
		r.unread = fmt.Sprintf(
			"the Pod has succeeded, and its result is read as soon as its log can be, or given up when the run is canceled: %s",
			clip.Text(f.unread.Error(), maxMessage))
		r.says(r.unread)
		r.again()

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

	// The Pod was told to end, not by the provider. Why, is known when it has ended.
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
func (r *run) adoptReport(got runs.Report) {
	was := r.report
	if k := r.job.Inputs.Kubernetes; k == nil || !k.WatchDependents {
		got.Dependents, got.Kinds = nil, nil
	}

	// Its store has seen no failure before.
	got.Attaching, got.NotBefore, got.Plan = false, time.Time{}, ""
	got.Reported.Conditions = slices.DeleteFunc(got.Reported.Conditions, common.IsOwn)
	got.Before, got.Attempt, got.Request, got.Generation = was.Before, was.Attempt, was.Request, was.Generation

	n, k := &got.Run, was.Run
	n.ID, n.Mode, n.State, n.Trigger, n.Pod, n.StartTime = k.ID, k.Mode, k.State, k.Trigger, k.Pod, k.StartTime
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

	// A watch of the log has begun after the run.
	if n.Phase.Finished() && got.Output == "" && r.shown.watched.Load() {
		got.Output = r.shown.read()
	}

	r.touched = r.touched || !got.Untouched
	got.Untouched = !r.touched
	r.report = got
}

// time returns the present time in seconds, as the API server keeps times.
func (r *run) time() *metav1.Time {
	t := metav1.NewTime(r.now().Truncate(time.Second))

	return &t
}
