package tree

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
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
	case !n.allowsApply() && n.policy != common.CheckWhenObserve:
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
	policy := "Update"

	switch {
	case n.Deleted:
		policy = "Delete"
	case n.LastApply == nil:
		policy = "Create"
	}

	return n.policies == nil || slices.Contains(n.policies, "*") || slices.Contains(n.policies, policy)
}

// Failing is true for an AnsibleRun whose last run failed, and that is not running again.
func (n *Node) Failing() bool { return n.State == Failed }

// A Request asks for a run of each of some AnsibleRuns, in their order.
type Request struct {
	// Token is the value of the annotation.
	Token string

	wanted, asked []types.UID
	ended         map[types.UID]bool // True for those that succeeded.
	after         map[types.UID][]types.UID
}

// NewRequest for AnsibleRuns, of one tree or several. It is refused if one of them would
// not answer.
func NewRequest(token string, runs []*Node) (*Request, error) {
	r := &Request{Token: token, ended: map[types.UID]bool{}, after: map[types.UID][]types.UID{}}

	for _, n := range runs {
		if err := n.Refuses(token); err != nil {
			return nil, errors.Wrapf(err, "%s %s", n.Kind, n.NamespacedName())
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

		if !slices.ContainsFunc(r.after[n.UID], func(uid types.UID) bool { return !r.ended[uid] }) {
			r.asked = append(r.asked, n.UID)
			due = append(due, n)
		}
	}

	return due
}

// Observe which of the runs have ended.
func (r *Request) Observe(now []*Node) {
	there := map[types.UID]bool{}

	for _, n := range now {
		there[n.UID] = true

		if n.answered(r.Token) {
			r.end(n.UID, n.answer(r.Token).Phase == common.PhaseSucceeded)
		}
	}

	for _, uid := range r.asked {
		if !there[uid] {
			r.end(uid, true) // It was deleted, and so its last run succeeded.
		}
	}
}

func (r *Request) end(uid types.UID, ok bool) {
	if _, known := r.ended[uid]; !known && slices.Contains(r.asked, uid) {
		r.ended[uid] = ok
	}
}

// answer is the run that a request has led to.
func (n *Node) answer(token string) *common.Run {
	if !isCheck(token) {
		return n.LastRun
	}

	if n.Preview == nil {
		return nil
	}

	return n.Preview.Run
}

// answered is true when the run that a request has led to is over. A check answers a request,
// and the apply that it leads to is a part of it.
func (n *Node) answered(token string) bool {
	r := n.answer(token)
	if n.handled != token || r == nil || !r.Phase.Finished() {
		return false
	}

	leads := r.Trigger != common.TriggerPreview && r.Mode == common.ModeCheck && r.Phase == common.PhaseSucceeded &&
		n.Drift != nil && n.Drift.Changed > 0 && n.allowsApply()

	return !leads
}

// Over is true when nothing is to be asked or waited for any more: every run has ended, or
// never will be asked because one before it failed.
func (r *Request) Over() bool {
	if len(r.ended) < len(r.asked) {
		return false
	}

	for _, uid := range r.wanted {
		blocked := slices.ContainsFunc(r.after[uid], func(on types.UID) bool { return !r.ended[on] })
		if !slices.Contains(r.asked, uid) && !blocked {
			return false
		}
	}

	return true
}

// Count how many runs were wanted, asked for, and succeeded.
func (r *Request) Count() (wanted, asked, succeeded int) {
	for _, ok := range r.ended {
		if ok {
			succeeded++
		}
	}

	return len(r.wanted), len(r.asked), succeeded
}
