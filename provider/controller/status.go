package controller

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/clip"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// maxRefusal is the largest length of a message in a reduced status, in bytes.
const maxRefusal = 1 << 10

// A statusManager is a manager with a client that skips updates without a change, and writes a reduced status if the
// API server refuses a status. Otherwise the object would never change again, since each decision depends on its
// status.
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

// List returns the objects in the cache without copies, since it may list thousands. They must not be changed.
func (c statusClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return c.Client.List(ctx, list, append(opts, client.UnsafeDisableDeepCopy)...)
}

// Update updates an object that has changed. It preserves the status of an AnsibleRun, which is written later: the
// answer of the API server has the former status.
func (c statusClient) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	if isShown(ctx, c.Client, o) {
		return nil
	}

	if run, ok := o.(common.AnsibleRun); ok {
		observation, conditions := run.Observation().DeepCopy(), slices.Clone(*run.Conditions())
		defer func() { *run.Observation(), *run.Conditions() = *observation, conditions }()
	}

	return c.Client.Update(ctx, o, opts...) // Callers check for conflicts.
}

// Status returns a writer of statuses.
func (c statusClient) Status() client.SubResourceWriter {
	return statusWriter{c.Client.Status(), c.Client, c.schedule}
}

// isShown is true if an object in the cache equals o.
func isShown(ctx context.Context, cache client.Reader, o client.Object) bool {
	was, ok := o.DeepCopyObject().(client.Object)

	return ok && cache.Get(ctx, client.ObjectKeyFromObject(o), was) == nil && equality.Semantic.DeepEqual(was, o)
}

type statusWriter struct {
	client.SubResourceWriter

	reader   client.Reader
	schedule *schedule
}

// Update updates a status that has changed: most reconciles change nothing, and updates without a change would load the
// API server. If the API server refuses the status with the result of an ended run, Update writes the reduced status,
// and returns an error, so that the object is reconciled again.
func (w statusWriter) Update(ctx context.Context, o client.Object, opts ...client.SubResourceUpdateOption) error {
	if isShown(ctx, w.reader, o) {
		return nil
	}

	err := w.write(ctx, o, opts)
	if err != nil {
		// The object must be retried soon, also after a conflict, which the runtime hides.
		*lookOf(ctx) = look{}
	}

	run, ok := o.(common.AnsibleRun)
	if !ok || run.Observation().LastRun == nil && run.Observation().Preview == nil || !refused(err) {
		return err
	}

	reduce(run, err)

	if uerr := w.write(ctx, o, opts); uerr != nil {
		return errors.Wrap(uerr, "cannot record that a status was refused")
	}

	if last := run.Observation().LastRun; last == nil || last.Phase.Finished() {
		return errors.Wrap(err, "the status was recorded without the values that the content published")
	}

	return nil
}

func (w statusWriter) write(ctx context.Context, o client.Object, opts []client.SubResourceUpdateOption) error {
	err := w.SubResourceWriter.Update(ctx, o, opts...)
	if err == nil && w.schedule != nil { // Configurations have no schedule.
		w.schedule.wrote(o)
	}

	return err // The runtime checks for conflicts.
}

// refused is true for a request that the API server would refuse again.
func refused(err error) bool {
	// The API server reports a refusal by etcd as an internal error.
	return kerrors.IsInvalid(err) || kerrors.IsBadRequest(err) || kerrors.IsRequestEntityTooLargeError(err) ||
		err != nil && strings.Contains(err.Error(), "etcdserver: request is too large")
}

// reduce reduces a refused status to values of the provider itself. Values that the content has published are withheld,
// and its conditions, lists and texts are dropped.
func reduce(run common.AnsibleRun, why error) {
	o := run.Observation()
	message := clip.Text("the API server refused the status: "+why.Error(), maxRefusal)

	if o.Outputs != nil {
		o.Outputs, o.WithheldOutputs = nil, common.Withheld{"": message}
	}

	if o.Reported != nil {
		o.Reported, o.WithheldReported = nil, common.Withheld{"": message}
	}

	o.Content, o.Dependents = nil, nil

	if p := o.Preview; p != nil {
		p.Reason, p.Message, p.Drift = runs.ReasonStatusRefused, message, nil
	}

	if r := o.LastRun; r != nil {
		r.Reason, r.Message, r.CurrentTask, r.Progress = runs.ReasonStatusRefused, message, "", ""
		r.Versions, r.Failures = "", nil
	}

	if o.Drift != nil {
		o.Drift.Tasks = nil
	}

	own := slices.DeleteFunc(*run.Conditions(), func(c xpv2.Condition) bool { return !common.IsOwn(c) })
	for i := range own {
		own[i].Message = clip.Text(own[i].Message, maxRefusal)
	}

	*run.Conditions() = own
}
