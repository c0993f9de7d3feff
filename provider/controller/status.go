package controller

import (
	"context"
	"slices"
	"strings"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/provider/cached"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/lifecycle"
)

// maxRefusal is the length of each message in a reduced status, in bytes.
const maxRefusal = 1 << 10

// A statusManager is a manager whose client writes a reduced status when the API server
// refuses one for good. Without that the object would never change again, since each
// decision depends on its status.
type statusManager struct {
	ctrl.Manager

	schedule *schedule
}

// GetClient returns the client.
func (m statusManager) GetClient() client.Client {
	return statusClient{m.Manager.GetClient(), m.schedule}
}

type statusClient struct {
	client.Client

	schedule *schedule
}

// Status returns a writer of statuses.
func (c statusClient) Status() client.SubResourceWriter {
	return statusWriter{c.Client.Status(), c.Client, c.schedule}
}

type statusWriter struct {
	client.SubResourceWriter

	reader   client.Reader
	schedule *schedule
}

// Update the status of an object, unless it is as it was read: most reconciles find nothing
// new, and the API server would read the object to find the same. If the API server refuses the result of a run that
// has ended, the reduced status is written, and the error has the object looked at again.
func (w statusWriter) Update(ctx context.Context, o client.Object, opts ...client.SubResourceUpdateOption) error {
	if cached.Shows(ctx, w.reader, o) {
		return nil
	}

	err := w.write(ctx, o, opts)
	if err != nil {
		// The object is to be retried soon, also after a conflict, which the runtime hides.
		_, _ = w.schedule.takeMissing(client.ObjectKeyFromObject(o))
	}

	run, ok := o.(common.AnsibleRun)
	if !ok || run.Observation().LastRun == nil && run.Observation().Preview == nil || !refused(err) {
		return err
	}

	was, ok := o.DeepCopyObject().(common.AnsibleRun)
	if !ok {
		return err
	}

	// The API server has accepted the status that the object has now.
	if gerr := w.reader.Get(ctx, client.ObjectKeyFromObject(o), was); gerr != nil {
		return errors.Wrap(gerr, "cannot read the status that an object has, to replace one that was refused")
	}

	reduce(run, was, err)

	if uerr := w.write(ctx, o, opts); uerr != nil {
		return errors.Wrap(uerr, "cannot record that a status was refused")
	}

	if last := run.Observation().LastRun; last == nil || last.Phase.Finished() {
		return errors.Wrap(err, "the status was recorded without what the content published")
	}

	return nil
}

func (w statusWriter) write(ctx context.Context, o client.Object, opts []client.SubResourceUpdateOption) error {
	err := w.SubResourceWriter.Update(ctx, o, opts...)
	if err == nil {
		w.schedule.wrote(o)
	}

	return err // The runtime looks for conflicts.
}

// refused is true for a request that the API server would refuse again.
func refused(err error) bool {
	// The API server reports a refusal by etcd as an internal error.
	return kerrors.IsInvalid(err) || kerrors.IsBadRequest(err) || kerrors.IsRequestEntityTooLargeError(err) ||
		err != nil && strings.Contains(err.Error(), "etcdserver: request is too large")
}

// reduce a status that was refused to what the provider itself knows of the run. Everything
// that content may have written is as it was. A successful run with state present becomes a
// failed one, since its outputs are lost.
func reduce(run, was common.AnsibleRun, why error) {
	o, before := run.Observation(), was.Observation()
	message := clip.Text("the API server refused the status: "+why.Error(), maxRefusal)

	if p := o.Preview; p != nil && p.Run != nil &&
		(before.Preview == nil || before.Preview.Run == nil || before.Preview.RunID != p.RunID) {
		reducePreview(o, before, message)
		return
	}

	if o.LastRun == nil {
		return
	}

	last := &common.Run{
		ID: o.LastRun.ID, Mode: o.LastRun.Mode, State: o.LastRun.State, Trigger: o.LastRun.Trigger, Phase: o.LastRun.Phase,
		InputsDigest: o.LastRun.InputsDigest, MetadataDigest: o.LastRun.MetadataDigest,
		StartTime: o.LastRun.StartTime, CompletionTime: o.LastRun.CompletionTime, Pod: o.LastRun.Pod, Hosts: o.LastRun.Hosts,
		Reason: executor.ReasonStatusRefused, Message: message,
	}
	now := common.AnsibleRunObservation{
		UID: o.UID, LastRun: last, LastApply: o.LastApply, Executed: o.Executed, Interruptions: o.Interruptions,
		AppliedDigest: o.AppliedDigest, HandledRequest: o.HandledRequest,
		ConnectionDetails: o.ConnectionDetails, Content: before.Content, Drift: before.Drift, Outputs: before.Outputs,
		WithheldOutputs: before.WithheldOutputs, WithheldReported: before.WithheldReported,
		KeptOutput: before.KeptOutput,
		Approval:   before.Approval, History: o.History, Preview: o.Preview,
		Dependents: before.Dependents, Reported: before.Reported, NextRunTime: before.NextRunTime,
	}

	fails := last.Phase == common.PhaseSucceeded && last.State == common.StatePresent
	if fails {
		last.Phase = common.PhaseFailed
		now.AppliedDigest = before.AppliedDigest

		if a := now.LastApply; a != nil && a.ID == last.ID {
			lifecycle.Finish(&now, common.PhaseFailed, last.CompletionTime)
		}
	}

	*o = now
	lifecycle.Remember(o, historyLimit(run))
	*run.Conditions() = keepOwn(*run.Conditions(), *was.Conditions())

	if fails && last.Mode == common.ModeApply {
		run.SetConditions(common.RunFailed().WithObservedGeneration(run.GetGeneration()))
	}
}

// reducePreview reduces a status to that before the result of a preview came, and that it could not be shown.
func reducePreview(o, before *common.AnsibleRunObservation, message string) {
	now := before.DeepCopy()
	now.LastRun, now.HandledRequest = o.LastRun, o.HandledRequest

	r := o.Preview.Run
	now.Preview = &common.Preview{RunID: r.ID, Request: o.Preview.Request, Run: &common.Run{
		ID: r.ID, Mode: r.Mode, State: r.State, Trigger: r.Trigger, Phase: common.PhaseFailed, InputsDigest: r.InputsDigest,
		StartTime: r.StartTime, CompletionTime: r.CompletionTime, Reason: executor.ReasonStatusRefused, Message: message,
	}}
	*o = *now
}

// keepOwn returns the conditions of Crossplane and the provider as they are now, and those of
// the content as they were.
func keepOwn(now, was []xpv2.Condition) []xpv2.Condition {
	now = slices.DeleteFunc(now, func(c xpv2.Condition) bool { return !common.IsOwn(c) })
	for i := range now {
		now[i].Message = clip.Text(now[i].Message, maxRefusal)
	}

	return append(now, slices.DeleteFunc(slices.Clone(was), common.IsOwn)...)
}
