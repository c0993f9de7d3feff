package pods

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sealed"
)

const (
	// lookEvery is the interval of steps of a run without a change.
	lookEvery = 15 * time.Second
	// stuckFor is the time for which a Pod may fail to start, for example because its image cannot be pulled, before the
	// run is given up.
	stuckFor = 2 * time.Minute
	// idleAfter is the time after which a waiting run is decided about again.
	idleAfter = time.Minute
	// restsFor is the delay of the next run after a Pod that was not seen to stop.
	restsFor = time.Minute
)

// A run is the state of one run. One goroutine follows it, and only this goroutine changes it.
type run struct {
	*Backend

	// The run to execute. Its field Begun is set for a run of the predecessor until its payload was searched.
	todo   runs.Run
	watch  runs.Watch
	report runs.Report
	// ctx is the context of the run. Its end cancels the run.
	ctx context.Context //nolint:containedctx // Requests have other contexts.
	// news has functions that change the state of the run, and reports has the reports in its log.
	news    chan func()
	reports chan runs.Report
	// ref is the key of the Pod. unseen is the error of the last attempt to read the Pod; nil for none.
	ref    client.ObjectKey
	unseen error
	// pod is the last state of the Pod; nil before it was created or found. gone is true once it does not exist any more.
	pod  *corev1.Pod
	gone bool
	// made is the Pod to create, and packed its payload; nil once its Secrets are created.
	made   *corev1.Pod
	packed []byte
	// given is true once the first Secret may exist, so that the Pod may begin.
	given bool
	// sealKey seals the reports of the run; nil if it is not known.
	sealKey []byte
	// log of the Pod, which is read once the run has begun.
	log log
	// begun is true once the container has started, and complete once the Pod has sent its last report. read is true once
	// the log was read to its end, and unread if the log of a Pod that has succeeded cannot be read.
	begun, complete, read, unread bool
	// why is the end of a run that is given up; nil for others, also for a canceled or revoked run.
	why *end
	// deleted is true once the provider has deleted the Pod.
	deleted bool
	// lasting is the context of the goroutines of the run. stop ends it.
	lasting context.Context //nolint:containedctx // It outlives each request.
	stop    context.CancelFunc
	// plan of a run that can be revoked, because it is certain whether it has begun; empty for others.
	plan string
	// stuckSince is the time since which the Pod has failed to start; zero if it has not.
	stuckSince time.Time
	// events is the last trouble in the events of the Pod, read at askedEvents.
	events      string
	askedEvents time.Time
	// renewal is the time at which the token is renewed; zero for the token of a predecessor, which is renewed at once.
	renewal time.Time
	// failures is the number of failed requests in a row.
	failures int
	// again is the time until the next step without news.
	again time.Duration
}

// newRun returns the state of a run. The end of the context cancels it.
func (x *Backend) newRun(ctx context.Context, todo runs.Run, w runs.Watch) *run {
	r := &run{
		Backend: x, todo: todo, ctx: ctx, watch: w, report: todo.Report(), news: make(chan func()),
		reports: make(chan runs.Report), ref: client.ObjectKey{Namespace: todo.Pod().Namespace, Name: todo.Pod().Name},
	}
	r.lasting, r.stop = context.WithCancel(w.Provider)
	r.report.Tail = r.tail

	if todo.Begun == nil {
		r.report.Run.Pod, r.report.Run.StartTime = todo.Pod(), now()
		return r
	}

	r.given = true

	return r
}

// key returns the key of the run in Backend.mine.
func (r *run) key() runKey { return runKey{string(r.todo.Object.UID), r.todo.ID} }

// execute follows the run to its end, or to the end of the provider.
func (r *run) execute() (report runs.Report) {
	defer r.stop()

	// A panic that one run causes must not end the provider, again and again.
	defer redact.Panic(func() {
		if r.pod != nil {
			ctx, stop := context.WithTimeout(context.Background(), requestTimeout)
			defer stop()

			_ = r.deletePod(ctx, r.pod) // The sweep tries again.
		}

		r.finish(end{
			common.PhaseInterrupted, common.ReasonInternal, "the provider has made a mistake; its log has a stack trace", true,
		}, true)

		report = r.report
	})

	if r.todo.Begun != nil {
		go r.observe(nil)
	}

	timer := time.NewTimer(0)
	defer timer.Stop()

	canceled, revoked := r.ctx.Done(), r.watch.Wanted.Done()

	for {
		select {
		case got := <-r.reports:
			if r.take(got) {
				return r.report
			}

			continue
		case news := <-r.news:
			news()
		case <-timer.C:
		case <-canceled:
			canceled = nil
		case <-revoked:
			revoked = nil
		case <-r.watch.Provider.Done():
		}

		if r.look() {
			return r.report
		}

		timer.Reset(r.again)
	}
}

// look executes the next step of the run. It returns true when the run has ended, or when the provider ends.
func (r *run) look() (over bool) {
	ctx, stop := context.WithTimeout(r.watch.Provider, requestTimeout)
	defer stop()

	r.again = lookEvery
	over, err := r.step(ctx)

	switch {
	case r.watch.Provider.Err() != nil: // The next provider follows the run.
		return true
	case err != nil:
		r.failed(ctx, err)
	default:
		r.failures = 0
	}

	return over
}

// step executes the next step for the state of the run. It returns true when the run has ended. A revoked run that has
// its inputs goes on unless it is idle.
func (r *run) step(ctx context.Context) (ended bool, err error) {
	over := r.gone || r.pod != nil && isOver(r.pod)
	ends := r.canceled() || r.revoked() && (r.report.Plan != "" || !r.given) || r.why != nil

	switch {
	case r.unseen != nil:
		return false, r.unseen
	case r.pod == nil && r.todo.Begun != nil && !r.gone: // observe reads the Pod.
	case r.pod == nil && (r.gone || ends):
		r.conclude()
		return true, nil
	case r.pod == nil:
		return false, r.create(ctx)
	case r.todo.Begun != nil:
		return false, r.find(ctx)
	case over && r.begun && r.sealKey != nil && !r.read && (!r.unread || !r.canceled()):
		return false, r.follow(ctx)
	case over:
		r.conclude()
		return true, nil
	case !r.deleted && (ends || r.sealKey == nil):
		return false, r.remove(ctx)
	case r.packed != nil && !r.deleted:
		return false, r.give(ctx)
	case r.begun:
		return false, r.follow(ctx)
	default:
		r.await(ctx)
	}

	return false, nil
}

func (r *run) canceled() bool { return r.ctx.Err() != nil }
func (r *run) revoked() bool  { return r.watch.Wanted.Err() != nil }

// giveUp sets the end of a run that cannot succeed.
func (r *run) giveUp(why end) { r.why, r.again = &why, 0 }

// sees records the state of the Pod; nil if it does not exist. A Pod of another object, which a forged status may name,
// or a new Pod with the same name counts as gone.
func (r *run) sees(p *corev1.Pod, err error) {
	r.unseen = err

	switch {
	case err != nil:
	case p == nil, r.pod == nil && p.Labels[labelObject] != string(r.todo.Object.UID), r.pod != nil && p.UID != r.pod.UID:
		r.gone = true
	default:
		if r.pod = p; started(p) {
			r.begun, r.report.Plan = true, ""
		}
	}
}

// find reads the payload that the predecessor has given to the Pod.
func (r *run) find(ctx context.Context) error {
	payload, err := r.payloadOf(ctx, r.todo, r.pod)
	if err != nil {
		return err
	}

	if r.todo.Begun, r.again = nil, 0; payload != nil {
		r.adopt(*payload)
	}

	r.mask(nil)

	return nil
}

// adopt takes over the inputs of a run from its payload. The identity of the run and of its object comes from the
// status.
func (r *run) adopt(p Payload) {
	was, shown := r.todo, r.report.Run
	r.sealKey = p.Key

	r.todo.Spec, r.todo.Request, r.todo.Before.Run = p.Spec, p.Request, p.Before

	// A run of the predecessor may still wait, so that it can be revoked.
	if shown.Phase == common.PhaseQueued {
		r.plan = r.todo.Plan()
	}

	r.todo.ID, r.todo.Mode, r.todo.State, r.todo.Trigger = was.ID, was.Mode, was.State, was.Trigger
	r.todo.Inputs.Execution = was.Inputs.Execution

	r.report = r.todo.Report()
	r.report.Tail = r.tail
	shown.InputsDigest, shown.MetadataDigest = r.report.Run.InputsDigest, r.report.Run.MetadataDigest
	r.report.Run = shown
}

// create creates the Pod, unless the run cannot get a token for the API server.
func (r *run) create(ctx context.Context) error {
	if k := r.todo.Inputs.Kubernetes; k != nil {
		if _, err := r.config.Cluster.Token(ctx, *k, 0, nil); err != nil {
			return err
		}
	}

	if r.made == nil {
		if err := r.prepare(ctx); err != nil {
			return &refusal{err}
		}
	}

	if err := r.post(ctx, r.made); err != nil {
		return err
	}

	r.pod, r.again = r.made, 0
	go r.observe(r.made)

	return nil
}

// prepare makes the Pod object and the payload.
func (r *run) prepare(ctx context.Context) (err error) {
	payload := Payload{
		Spec: r.todo.Spec, Request: r.todo.Request, Before: r.todo.Before.Run, Key: sealed.NewKey(),
		ContentKey: r.contentKey(r.todo), Cluster: r.config.Endpoint,
	}
	r.sealKey = payload.Key

	if r.packed, err = payload.pack(); err != nil {
		return err
	}

	own, err := r.config.Own(ctx)
	if err != nil {
		return err
	}

	count := (len(r.packed) + maxPart - 1) / maxPart
	if r.todo.Inputs.Kubernetes != nil {
		count++
	}

	if r.made, err = r.newPod(r.todo, own, count); err != nil {
		return err
	}

	if r.made.Spec.NodeName == "" {
		r.plan = r.todo.Plan()
	}

	r.mask(nil)

	return nil
}

// give creates the Secrets of the Pod. The first Secret is created last, since it lets the run begin.
func (r *run) give(ctx context.Context) error {
	if err := r.grant(ctx); err != nil {
		return err
	}

	secrets := r.secrets(r.todo, r.pod, r.packed)
	for _, s := range secrets[1:] {
		if err := r.post(ctx, s); err != nil {
			return err
		}
	}

	if !r.config.Leads() {
		return &refusal{errors.New("another provider may lead by now")}
	}

	err := r.post(ctx, secrets[0])
	if err == nil {
		r.packed, r.again = nil, 0
	}

	r.given = r.given || !isRefusal(err) && !isQuota(err) // A failed request may have created the Secret.

	return err
}

// await shows why the run has not begun yet, or why its Pod has not ended yet. It gives up a Pod that cannot start.
func (r *run) await(ctx context.Context) {
	switch {
	case r.deleted:
		r.saysEnding()
		return
	case installing(r.pod):
		r.plan = "" // An installation is not revoked.
		r.waits(common.PhaseInstalling, "the Pod installs the content")

		r.renewDue(ctx)

		return
	}

	message, stuck := waitsFor(r.pod, r.trouble(ctx))

	switch {
	case !stuck:
		r.stuckSince = time.Time{}
	case r.stuckSince.IsZero():
		r.stuckSince = time.Now()
	case time.Since(r.stuckSince) > stuckFor:
		r.giveUp(end{common.PhaseFailed, common.ReasonPodNotStarted, message, true})
	}

	r.waits(common.PhaseQueued, message)
	r.renewDue(ctx)
}

// follow starts to read the log of the run, and shows why the run has not ended yet.
func (r *run) follow(ctx context.Context) (err error) {
	if r.log.reader == nil {
		if r.log.reader, err = sealed.NewReader(r.sealKey, r.todo.ID, string(r.pod.UID)); err != nil {
			return err
		}

		r.log.pace = rate.NewLimiter(logRate, logBurst)

		go r.readLog(r.lasting)
	}

	if r.gone || isOver(r.pod) {
		r.log.over.Store(true)
		return nil
	}

	r.saysEnding()

	if !r.deleted {
		r.renewDue(ctx)
	}

	return nil
}

// logRead records that the log was read to its last report, or broke off with an error after some tries; over is true
// if the container had ended before. If the log of a Pod that has succeeded cannot be read, the run waits for it, since
// it would be repeated without its last report.
func (r *run) logRead(err error, tries int, over bool) {
	missing := errors.Is(err, io.EOF) || kerrors.IsNotFound(err) || kerrors.IsBadRequest(err)

	switch {
	case err == nil, over && missing && tries >= logTries:
		r.read = true
	case !over || missing || tries < logPatience:
	case r.gone || !succeeded(r.pod):
		r.read = true
	default:
		r.unread = true
		r.says(fmt.Sprintf(
			"the Pod has succeeded, and its result is read as soon as its log can be, or given up when the run is canceled: %s",
			clip.Text(err.Error(), maxMessage)))
	}
}

// remove deletes the Pod.
func (r *run) remove(ctx context.Context) error {
	if err := r.deletePod(ctx, r.pod); err != nil {
		return err
	}

	r.deleted, r.report.Plan, r.again = true, "", 0

	return nil
}

// conclude makes the last report of a run that has ended without one.
func (r *run) conclude() {
	began := r.mayHaveBegun()
	e := interrupted("its Pod was deleted, or the provider ended before it had made it")

	if r.pod != nil {
		e = endOf(r.pod, r.todo.Limit())
	}

	switch {
	case r.sealKey == nil && r.pod != nil:
		e = end{
			common.PhaseInterrupted, runs.ReasonProviderEnded,
			"the provider ended before the run had its inputs, or they were removed", true,
		}
	case r.why != nil:
		e = *r.why
	case !r.given && (r.canceled() || r.revoked()), r.deleted && !r.canceled() && !began:
		e = end{
			common.PhaseCanceled, runs.ReasonNotStarted, "it was canceled, or is decided about anew, before it began", true,
		}
	case r.deleted, r.canceled() && r.unread:
		e = end{common.PhaseCanceled, runner.ReasonCanceled, "canceled", false}
	}

	// Its processes may still run on a node, without the cluster knowing it.
	if r.gone && began && (r.pod == nil || !stopped(r.pod)) {
		r.report.NotBefore = time.Now().Add(restsFor)
	}

	r.finish(e, began && !r.complete)
}

// mayHaveBegun is false if the content of the run has certainly not begun: the Pod had no inputs or no node, or the
// kubelet has reported that its container did not start. The kubelet reports the end of a Pod before the Pod is
// removed.
func (r *run) mayHaveBegun() bool {
	return r.begun || r.given && (r.pod == nil || !isOver(r.pod))
}

// finish completes the report. touched is true if the run may have changed something.
func (r *run) finish(e end, touched bool) {
	s := &r.report.Run
	s.Phase, s.Reason, s.Message, s.CompletionTime, s.CurrentTask = e.phase, e.reason, e.message, now(), ""
	r.report.Blameless, r.report.Untouched, r.report.Plan = e.blameless, r.report.Untouched && !touched, ""
}

// waits shows the state of a run that has not begun. After idleAfter, the report has the plan of the run, so that the
// run can be revoked.
func (r *run) waits(phase common.RunPhase, message string) {
	was := r.report.Plan
	r.report.Run.Phase, r.report.Plan = phase, ""

	if t := r.report.Run.StartTime; t != nil && time.Since(t.Time) >= idleAfter {
		r.report.Plan = r.plan
	}

	if r.report.Plan != was || r.report.Run.Message != message {
		r.report.Run.Message = message
		r.watch.Progress(r.report)
	}
}

// says sets the message of the run, which may be empty, in any phase.
func (r *run) says(message string) {
	if r.report.Run.Message != message {
		r.report.Run.Message = message
		r.watch.Progress(r.report)
	}
}

// saysEnding shows why the run does not end, or why its end is not known.
func (r *run) saysEnding() {
	if message := ending(r.pod); message != "" || r.report.Run.Phase == common.PhaseRunning {
		r.says(message)
	}
}

// take takes over a report from the log. It returns true for the last report of a run that has ended by itself.
func (r *run) take(got runs.Report) bool {
	r.unread = false

	r.begun, r.complete = true, got.Run.Phase.Finished()
	r.adoptReport(got)

	switch {
	case !r.complete:
		r.watch.Progress(r.report)
		return false
	case got.Run.Phase == common.PhaseCanceled && !r.deleted:
		// Not the provider has deleted the Pod. The state of the Pod will tell the reason.
		r.report.Run.Phase, r.report.Run.CompletionTime = common.PhaseRunning, nil
		return false
	}

	return true
}

// adoptReport takes over a report of the Pod, except for the identity and the digests of the run, which the provider
// knows. Content must not report conditions of Crossplane and of the provider.
func (r *run) adoptReport(got runs.Report) {
	was := r.report
	if k := r.todo.Inputs.Kubernetes; k == nil || !k.WatchDependents {
		got.Dependents, got.Kinds = nil, nil
	}

	got.Reported.Conditions = slices.DeleteFunc(got.Reported.Conditions, common.IsOwn)
	got.Before, got.Attempt, got.Request, got.Generation = was.Before, was.Attempt, was.Request, was.Generation
	got.Tail = was.Tail

	n, k := &got.Run, was.Run
	n.ID, n.Mode, n.State, n.Trigger, n.Pod, n.StartTime = k.ID, k.Mode, k.State, k.Trigger, k.Pod, k.StartTime
	n.InputsDigest, n.MetadataDigest = k.InputsDigest, k.MetadataDigest

	if got.Content != nil {
		n.InputsDigest = r.todo.Digest(content.Known(got.Content))
	}

	// The clock of a node may be wrong.
	if now := now(); n.Phase.Finished() &&
		(n.CompletionTime == nil || now.Before(n.CompletionTime) || n.CompletionTime.Before(n.StartTime)) {
		n.CompletionTime = now
	}

	if len(got.ConnectionDetails) > 0 {
		r.mask(got.ConnectionDetails)
	}

	// A user began to watch the log after the start of the run, so that the Pod has not kept its output.
	if n.Phase.Finished() && got.Output == "" && r.log.watched.Load() {
		got.Output = r.tail()
	}

	got.Untouched = got.Untouched && was.Untouched
	r.report = got
}

// now returns the present time in seconds, the precision of the API server.
func now() *metav1.Time { return new(metav1.Now().Rfc3339Copy()) }
