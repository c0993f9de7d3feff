package tree

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// refuses returns an error if no run would answer a request.
func (n *Node) refuses(token string) error {
	switch {
	case n.Paused && n.Unmanaged:
		return errors.New("is paused by spec.managementPolicies: []")
	case n.Paused:
		return errors.New("is paused: resume it first")
	case isCheck(token) && n.Deleted:
		return errors.New("is being deleted: a check tells what an apply would change")
	case isCheck(token):
		return nil
	case !n.AllowsApply() && (n.Deleted || n.policy != common.CheckWhenObserve):
		return errors.Errorf("has managementPolicies that allow no run: %s", strings.Join(n.policies, ", "))
	}

	return nil
}

// isCheck is true for the token of a request that asks for a preview.
func isCheck(token string) bool { return strings.HasPrefix(token, common.PreviewRequest) }

// AllowsApply is true if the management policies allow an apply now.
func (n *Node) AllowsApply() bool {
	allows := func(policy string) bool {
		return n.policies == nil || slices.Contains(n.policies, "*") || slices.Contains(n.policies, policy)
	}

	switch {
	case n.Deleted:
		return allows("Delete")
	case n.applied == "":
		return allows("Create") || allows("Update")
	}

	return allows("Update")
}

// A Request requests a run of each of some AnsibleRuns.
type Request struct {
	// Token is the value of the annotation.
	Token string
	// Ordered is true to request a run only when the runs that it depends on have succeeded.
	Ordered bool

	runs []*wanted
}

// wanted is the state of the requested run of one AnsibleRun.
type wanted struct {
	uid types.UID
	// asked is true once the run was requested, and over once it has ended.
	asked, over bool
	outcome
}

// An outcome is the result of a request for a run.
type outcome struct {
	succeeded bool
	// why is the reason why the request was not answered; empty if the run itself has the reason.
	why string
}

// NewRequest returns a request for AnsibleRuns of one tree or several. It returns an error if one of them would
// not answer.
func NewRequest(token string, runs []*Node) (*Request, error) {
	r := &Request{Token: token}

	for _, n := range runs {
		if err := n.refuses(token); err != nil {
			return nil, errors.Wrap(err, n.called())
		}

		if r.of(n) == nil {
			r.runs = append(r.runs, &wanted{uid: n.UID})
		}
	}

	return r, nil
}

// of returns the requested run of an AnsibleRun; nil if none is requested.
func (r *Request) of(n *Node) *wanted {
	for _, w := range r.runs {
		if w.uid == n.UID {
			return w
		}
	}

	return nil
}

// Due returns the AnsibleRuns to annotate now. They count as asked.
func (r *Request) Due(now []*Node) []*Node {
	var due []*Node

	for _, n := range now {
		if w := r.of(n); w != nil && !w.asked && !r.blocked(w, now) {
			w.asked = true
			due = append(due, n)
		}
	}

	return due
}

// blocked is true for a run that depends on a run that has not succeeded. A dependency that is gone does not block.
func (r *Request) blocked(w *wanted, now []*Node) bool {
	return r.Ordered && slices.ContainsFunc(now, func(n *Node) bool {
		return n.UID == w.uid && slices.ContainsFunc(n.after, func(other *Node) bool {
			on := r.of(other)
			return on != nil && on != w && !on.succeeded
		})
	})
}

// Observe records which of the runs have ended.
func (r *Request) Observe(now []*Node) {
	for _, w := range r.runs {
		at := slices.IndexFunc(now, func(n *Node) bool { return n.UID == w.uid })

		switch {
		case w.over || !w.asked:
		case at < 0:
			w.over, w.succeeded = true, true // The object was deleted, so that its last run has succeeded.
		default:
			w.outcome, w.over = now[at].outcome(r.Token)
		}
	}
}

// Previewed returns the run of the last requested check; without a phase if it has not ended.
func (n *Node) Previewed() common.Run {
	p := n.Preview

	return common.Run{
		ID: p.RunID, Mode: common.ModeCheck, State: common.StatePresent, Trigger: common.TriggerPreview,
		Phase: p.Phase, Reason: p.Reason, Message: p.Message, CompletionTime: p.CompletionTime,
	}
}

// outcome returns the outcome of a request; false while it is not known. A check answers a request, and the apply that
// follows is a part of the answer.
func (n *Node) outcome(token string) (outcome, bool) {
	if n.handled != token {
		// A run that has begun may answer this request, and not the one that replaced it.
		return outcome{why: n.called() + ": another request took the place of this one"}, n.requested != token && !n.Running()
	}

	r := n.LastRun
	if isCheck(token) {
		r = n.Previewed()
	}

	switch {
	case !r.Phase.Finished(), n.leads(r):
		return outcome{}, false
	case r.Mode == common.ModeCheck && r.Trigger != common.TriggerPreview &&
		n.Approval.State == common.ApprovalRejected:
		return outcome{why: fmt.Sprintf("%s: what the check predicts was rejected by %s", n.called(), n.Approval.By)}, true
	case r.Mode == common.ModeCheck && r.Phase == common.PhaseSucceeded && r.Reason != "":
		return outcome{why: fmt.Sprintf("%s: the content cannot be checked (%s)", n.called(), r.Reason)}, true
	}

	return outcome{succeeded: r.Phase == common.PhaseSucceeded}, true
}

// leads is true for a check with a following apply: at once or, if that is required, after
// an approval.
func (n *Node) leads(r common.Run) bool {
	switch {
	case r.Mode != common.ModeCheck, r.Trigger == common.TriggerPreview, !n.AllowsApply():
		return false
	case n.Approval.State != "" && n.Approval.State != common.ApprovalApplied:
		return n.Approval.State != common.ApprovalRejected
	case r.CutOff():
		return false
	case n.LastApply.Result.Finished() && n.LastApply.Result != common.PhaseSucceeded:
		return true
	case r.Phase == common.PhaseSucceeded:
		return n.Drift.Changed > 0
	}

	return n.applied == ""
}

// called returns the name of the object for errors.
func (n *Node) called() string { return strings.TrimSpace(n.Kind + " " + n.NamespacedName()) }

// Over is true when all runs that were asked for have ended. Other runs will not become due then.
func (r *Request) Over() bool {
	return !slices.ContainsFunc(r.runs, func(w *wanted) bool { return w.asked && !w.over })
}

// Succeeded is true if all runs have succeeded.
func (r *Request) Succeeded() bool {
	return !slices.ContainsFunc(r.runs, func(w *wanted) bool { return !w.succeeded })
}

// Why returns the reasons of requests that were not answered.
func (r *Request) Why() []string {
	var whys []string

	for _, w := range r.runs {
		if w.why != "" {
			whys = append(whys, w.why)
		}
	}

	return whys
}

// Decidable is true for an AnsibleRun that a decision can apply to: one that awaits approval, or one with the
// opposite decision.
func (n *Node) Decidable(d common.ApprovalDecision) bool {
	opposite := map[common.ApprovalState]common.ApprovalDecision{
		common.ApprovalRejected: common.DecisionApprove, common.ApprovalApproved: common.DecisionReject,
	}

	return n.Approval.State == common.ApprovalAwaiting || opposite[n.Approval.State] == d
}
