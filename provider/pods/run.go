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
	// lookEvery is how often a run is looked at without a change.
	lookEvery = 15 * time.Second
	// stuckFor is how long a Pod may fail to start, for example since its image cannot be
	// pulled, until the run is given up.
	stuckFor = 2 * time.Minute
	// idleAfter is how long a run waits before it is decided about anew.
	idleAfter = time.Minute
	// restsFor is how long the next run waits for the end of a Pod that was not seen to stop.
	restsFor = time.Minute
)

// A run is followed by one goroutine.
type run struct {
	*Backend

	// What is to be carried out. The run says that a former provider has begun it until the inputs that it was given
	// were looked for.
	todo   runs.Run
	watch  runs.Watch
	report runs.Report
	// ctx is that of the run, which is canceled with it.
	ctx context.Context //nolint:containedctx // It is not that of requests.

	// news change what is known of the run, and reports come from its log.
	news    chan func()
	reports chan runs.Report
	// ref names the Pod. Unseen is why the API server does not show it; nil if it does.
	ref    client.ObjectKey
	unseen error
	// pod as it was seen last; nil before it was made or found. Gone is true once the API server does not have it.
	pod  *corev1.Pod
	gone bool
	// made is the Pod that the run makes, and packed what it then gets; nil once it has.
	made   *corev1.Pod
	packed []byte
	// given is true once the Pod may have its inputs, so that it may begin.
	given bool
	// sealKey seals the reports of the run; nil if it is not known.
	sealKey []byte
	// log of the Pod, which is read once that has begun.
	log log
	// begun is true once the container has started, and complete once the Pod has sent its last report. Its log was read
	// to the end if read is true, and unread says that it cannot be, of a Pod that has succeeded.
	begun, complete, read, unread bool
	// why the run is to end, other than that it is canceled or revoked; nil if it is not.
	why *end
	// deleted is true once the provider has deleted the Pod.
	deleted bool
	// lasting is the context of what goes on in the background, until stop.
	lasting context.Context //nolint:containedctx // It outlives each request.
	stop    context.CancelFunc

	// plan of a run of which it is certain whether it has begun; empty for others.
	plan string
	// stuckSince is since when the Pod has failed to start; zero if it has not.
	stuckSince time.Time
	// events say what is wrong, as of askedEvents.
	events      string
	askedEvents time.Time
	// renewal of the token is due then; zero if that is not known, since a former provider has made it.
	renewal time.Time
	// failures of requests in a row.
	failures int
	// again is after how long the run is looked at without news.
	again time.Duration
}

// newRun of what is to be carried out. It is canceled with the context.
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

// key of the run.
func (r *run) key() runKey { return runKey{string(r.todo.Object.UID), r.todo.ID} }

// execute the run: follow it to its end, or to that of the provider.
func (r *run) execute() (report runs.Report) {
	defer r.stop()

	// A panic that one run causes must not end the provider, again and again.
	defer redact.Panic(func() {
		if r.pod != nil {
			ctx, stop := context.WithTimeout(context.Background(), requestTimeout)
			defer stop()

			_ = r.deletePod(ctx, r.pod) // The sweep finds what is left.
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

// look at the run, and do what is next. It is true when the run has ended, or is left.
func (r *run) look() (over bool) {
	ctx, stop := context.WithTimeout(r.watch.Provider, requestTimeout)
	defer stop()

	r.again = lookEvery
	over, err := r.step(ctx)

	switch {
	case r.watch.Provider.Err() != nil: // The next provider follows it.
		return true
	case err != nil:
		r.failed(ctx, err)
	default:
		r.failures = 0
	}

	return over
}

// step does what is next for the run. It is true when the run has ended. A revoked run with its inputs goes on unless
// it is idle.
func (r *run) step(ctx context.Context) (ended bool, err error) {
	over := r.gone || r.pod != nil && isOver(r.pod)
	ends := r.canceled() || r.revoked() && (r.report.Plan != "" || !r.given) || r.why != nil

	switch {
	case r.unseen != nil:
		return false, r.unseen
	case r.pod == nil && r.todo.Begun != nil && !r.gone: // It is seen soon.
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

// giveUp a run: it is to end.
func (r *run) giveUp(why end) { r.why, r.again = &why, 0 }

// sees how the Pod is. A status may name the Pod of a neighbour, and another Pod have its name by now.
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

// find what a former provider has given the Pod.
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

// adopt what a run was begun with. Which run of which object it is, says the object.
func (r *run) adopt(p Payload) {
	was, shown := r.todo, r.report.Run
	r.sealKey = p.Key

	r.todo.Spec, r.todo.Request, r.todo.Before.Run = p.Spec, p.Request, p.Before

	// One that has begun may wait, too.
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

// create the Pod. Nothing is made for a run that cannot reach what it is to manage.
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

// prepare the Pod and its inputs.
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

// give the Pod its inputs. The first Secret comes last, since it lets the run begin.
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

	r.given = r.given || !isRefusal(err) && !isQuota(err) // The answer to an earlier request may be lost.

	return err
}

// await the start of the run, and show what it waits for, or its end. A Pod that cannot start is given up.
func (r *run) await(ctx context.Context) {
	switch {
	case r.deleted:
		r.saysEnding()
		return
	case installing(r.pod):
		r.plan = "" // It goes on as it is.
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

// follow the log of the run.
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

// logRead says why the log broke off, unless it was read to its last report: after how many tries, and whether the
// container had ended before. Without the last report of a Pod that has succeeded the run would be repeated.
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

// remove the Pod.
func (r *run) remove(ctx context.Context) error {
	if err := r.deletePod(ctx, r.pod); err != nil {
		return err
	}

	r.deleted, r.report.Plan, r.again = true, "", 0

	return nil
}

// conclude the report of a run that has ended without its last one.
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

	// Something of it may still work that the cluster does not know any more.
	if r.gone && began && (r.pod == nil || !stopped(r.pod)) {
		r.report.NotBefore = time.Now().Add(restsFor)
	}

	r.finish(e, began && !r.complete)
}

// mayHaveBegun is false for a run of which it is certain that its content has not begun: it had no inputs or no node,
// or its node has said that its container did not start. A node says how a Pod has stopped before it goes.
func (r *run) mayHaveBegun() bool {
	return r.begun || r.given && (r.pod == nil || !isOver(r.pod))
}

// finish the report. The run may have touched something.
func (r *run) finish(e end, touched bool) {
	s := &r.report.Run
	s.Phase, s.Reason, s.Message, s.CompletionTime, s.CurrentTask = e.phase, e.reason, e.message, now(), ""
	r.report.Blameless, r.report.Untouched, r.report.Plan = e.blameless, r.report.Untouched && !touched, ""
}

// waits shows what goes on before the run begins.
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

// says something about the run, in whatever phase it is, or nothing.
func (r *run) says(message string) {
	if r.report.Run.Message != message {
		r.report.Run.Message = message
		r.watch.Progress(r.report)
	}
}

// saysEnding says what keeps the run from its end, or from being seen.
func (r *run) saysEnding() {
	if message := ending(r.pod); message != "" || r.report.Run.Phase == common.PhaseRunning {
		r.says(message)
	}
}

// take a report from the log. It is true for the last one of a run that has ended by itself.
func (r *run) take(got runs.Report) bool {
	r.unread = false

	r.begun, r.complete = true, got.Run.Phase.Finished()
	r.adoptReport(got)

	switch {
	case !r.complete:
		r.watch.Progress(r.report)
		return false
	case got.Run.Phase == common.PhaseCanceled && !r.deleted:
		// The Pod was told to end, not by the provider. Why, is known when it has ended.
		r.report.Run.Phase, r.report.Run.CompletionTime = common.PhaseRunning, nil
		return false
	}

	return true
}

// adoptReport takes over what the Pod reports. Which run it is about, and its digest, is known
// here. Conditions of Crossplane and the provider are not for content to report.
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

	// A watch of the log has begun after the run.
	if n.Phase.Finished() && got.Output == "" && r.log.watched.Load() {
		got.Output = r.tail()
	}

	got.Untouched = got.Untouched && was.Untouched
	r.report = got
}

// now is the present time in seconds, as the API server keeps times.
func now() *metav1.Time { return new(metav1.Now().Rfc3339Copy()) }
