package tree

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// Reasons of runs that were not carried out.
const (
	reasonInternal      = "Internal"
	reasonPodNotStarted = "PodNotStarted"
	reasonForbidden     = "Forbidden"
	reasonInstallFailed = "InstallFailed"
)

// Refuses says why no run would answer a request, if that is so.
func (n *Node) Refuses(token string) error {
	switch {
	case n.Paused && n.unmanaged:
		return errors.New("is paused by spec.managementPolicies: []")
	case n.Paused:
		return errors.New("is paused: resume it first")
	case isCheck(token) && n.Deleted:
		return errors.New("is being deleted: a check tells what an apply would change")
	case isCheck(token):
		return nil
	case !n.allowsApply() && (n.Deleted || n.policy != common.CheckWhenObserve):
		return errors.Errorf("has managementPolicies that allow no run: %s", strings.Join(n.policies, ", "))
	}

	return nil
}

// isCheck is true for the token of a request that asks for a preview.
func isCheck(token string) bool { return strings.HasPrefix(token, common.CheckRequest) }

// Unmanaged is true for an AnsibleRun that its management policies pause.
func (n *Node) Unmanaged() bool { return n.unmanaged }

// allowsApply is true if the management policies allow an apply now.
func (n *Node) allowsApply() bool {
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

// Failing is true for an AnsibleRun if its last run failed, and it is not running again.
func (n *Node) Failing() bool { return n.State == Failed }

// A Request asks for a run of each of some AnsibleRuns, in their order.
type Request struct {
	// Token is the value of the annotation.
	Token string

	wanted, asked []types.UID
	ended         map[types.UID]outcome
	gone          map[types.UID]bool // Those that went before they were asked.
	after         map[types.UID][]types.UID
}

// An outcome of a request for a run.
type outcome struct {
	succeeded bool
	// why the request led to nothing; empty if the run itself tells.
	why string
}

// NewRequest for AnsibleRuns, of one tree or several. It is refused if one of them would
// not answer.
func NewRequest(token string, runs []*Node) (*Request, error) {
	r := &Request{
		Token: token, ended: map[types.UID]outcome{}, gone: map[types.UID]bool{},
		after: map[types.UID][]types.UID{},
	}

	for _, n := range runs {
		if err := n.Refuses(token); err != nil {
			return nil, errors.Wrap(err, n.called())
		}

		if slices.Contains(r.wanted, n.UID) {
			continue
		}

		r.wanted = append(r.wanted, n.UID)
	}

	return r, nil
}

// After keeps the order of the runs of one XR: each of them is asked when those that it
// depends on have succeeded.
func (r *Request) After(root *Node) {
	for _, xr := range root.Composites() {
		for _, n := range xr.Runs {
			for _, other := range xr.Runs {
				if n.comesAfter(other) && slices.Contains(r.wanted, n.UID) && slices.Contains(r.wanted, other.UID) {
					r.after[n.UID] = append(r.after[n.UID], other.UID)
				}
			}
		}
	}
}

// Due are the AnsibleRuns that are to be asked now. They count as asked.
func (r *Request) Due(now []*Node) []*Node {
	var due []*Node

	for _, n := range now {
		if !slices.Contains(r.wanted, n.UID) || slices.Contains(r.asked, n.UID) {
			continue
		}

		if !r.blocked(n.UID) {
			r.asked = append(r.asked, n.UID)
			due = append(due, n)
		}
	}

	return due
}

// blocked is true for a run that depends on one that has not succeeded. One that is gone keeps nothing from running.
func (r *Request) blocked(uid types.UID) bool {
	return slices.ContainsFunc(r.after[uid], func(on types.UID) bool { return !r.ended[on].succeeded && !r.gone[on] })
}

// Observe which of the runs have ended.
func (r *Request) Observe(now []*Node) {
	there := map[types.UID]bool{}

	for _, n := range now {
		there[n.UID] = true

		if o, over := n.outcome(r.Token); over {
			r.end(n.UID, o)
		}
	}

	for _, uid := range r.wanted {
		switch {
		case there[uid]:
		case slices.Contains(r.asked, uid):
			r.end(uid, outcome{succeeded: true}) // It was deleted, and so its last run succeeded.
		default:
			r.gone[uid] = true
		}
	}
}

func (r *Request) end(uid types.UID, o outcome) {
	if _, known := r.ended[uid]; !known && slices.Contains(r.asked, uid) {
		r.ended[uid] = o
	}
}

// answer is the run that a request has led to; one without a phase if there is none.
func (n *Node) answer(token string) common.Run {
	if isCheck(token) {
		return n.Previewed()
	}

	return n.LastRun
}

// Previewed is the run of the last requested check; without a phase if it has not ended.
func (n *Node) Previewed() common.Run {
	p := n.Preview

	return common.Run{
		ID: p.RunID, Mode: common.ModeCheck, State: common.StatePresent, Trigger: common.TriggerPreview,
		Phase: p.Phase, Reason: p.Reason, Message: p.Message, CompletionTime: p.CompletionTime,
	}
}

// Predicted is what an apply would change by that check.
func (n *Node) Predicted() common.Drift { return orNone(n.Preview.Drift) }

// outcome of a request; false while it is not known. A check answers a request, and the apply that it leads to is a
// part of it.
func (n *Node) outcome(token string) (outcome, bool) {
	if n.handled != token {
		// A run that has begun may be the answer to this request, not to the one that took its place.
		return outcome{why: n.called() + ": another request took the place of this one"}, n.requested != token && !n.Running()
	}

	r := n.answer(token)

	switch {
	case !r.Phase.Finished(), n.leads(r):
		return outcome{}, false
	case r.Mode == common.ModeCheck && r.Trigger != common.TriggerPreview && n.rejected():
		return outcome{why: fmt.Sprintf("%s: what the check predicts was rejected by %s", n.called(), n.Approval.By)}, true
	case r.Mode == common.ModeCheck && r.Phase == common.PhaseSucceeded && r.Reason != "":
		return outcome{why: fmt.Sprintf("%s: the content cannot be checked (%s)", n.called(), r.Reason)}, true
	}

	return outcome{succeeded: r.Phase == common.PhaseSucceeded}, true
}

// leads is true for a check that an apply follows, as the provider has it: at once or, where that is required, after
// an approval.
func (n *Node) leads(r common.Run) bool {
	switch {
	case r.Mode != common.ModeCheck, r.Trigger == common.TriggerPreview, !n.allowsApply():
		return false
	case n.Approval.State != "" && n.Approval.State != common.ApprovalApplied:
		return n.Approval.State != common.ApprovalRejected
	case cutOff(r):
		return false
	case failed(n.LastApply):
		return true
	case r.Phase == common.PhaseSucceeded:
		return n.Drift.Changed > 0
	}

	return n.applied == ""
}

// cutOff is true for a run that ended before its content did. A check is made again then.
func cutOff(r common.Run) bool {
	return r.Phase == common.PhaseCanceled || r.Phase == common.PhaseInterrupted ||
		slices.Contains([]string{reasonInternal, reasonPodNotStarted, reasonForbidden, reasonInstallFailed}, r.Reason)
}

// rejected is true if what was checked was rejected.
func (n *Node) rejected() bool { return n.Approval.State == common.ApprovalRejected }

// called is what the object is called in errors.
func (n *Node) called() string { return strings.TrimSpace(n.Kind + " " + n.NamespacedName()) }

// Over is true when nothing is to be asked or waited for any more: every run has ended, or
// never will be asked because one before it failed.
func (r *Request) Over() bool {
	if len(r.ended) < len(r.asked) {
		return false
	}

	return !slices.ContainsFunc(r.wanted, func(uid types.UID) bool {
		return !slices.Contains(r.asked, uid) && !r.gone[uid] && !r.blocked(uid)
	})
}

// Count how many runs were wanted, asked for, and succeeded, and how many were gone before they were asked for.
func (r *Request) Count() (wanted, asked, succeeded, gone int) {
	for _, o := range r.ended {
		if o.succeeded {
			succeeded++
		}
	}

	for _, uid := range r.wanted {
		if r.gone[uid] {
			gone++
		}
	}

	return len(r.wanted), len(r.asked), succeeded, gone
}

// Why requests have led to no run, where that is so.
func (r *Request) Why() []string {
	var whys []string

	for _, uid := range r.asked {
		if why := r.ended[uid].why; why != "" {
			whys = append(whys, why)
		}
	}

	return whys
}
