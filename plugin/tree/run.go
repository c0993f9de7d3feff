package tree

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
)

func runOf(o *unstructured.Unstructured) *Node {
	n := nodeOf(o)
	n.DependsOn = slices.DeleteFunc(ansiblerun.DependsOn(o.Object), func(s string) bool { return s == "" })
	n.policy = common.RunPolicy(o.GetAnnotations()[common.AnnotationRunPolicy])
	n.Watched = o.GetAnnotations()[common.AnnotationWatch]

	var seen common.AnsibleRunObservation

	status, _, _ := unstructured.NestedMap(o.Object, "status", "atProvider")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(status, &seen); err != nil {
		n.Notes = append(n.Notes, "cannot read status.atProvider: "+err.Error())
	}

	n.LastRun, n.LastApply = orNone(seen.LastRun), orNone(seen.LastApply)
	n.Drift, n.Preview = orNone(seen.Drift), orNone(seen.Preview)
	n.Approval, n.KeptOutput = orNone(seen.Approval), orNone(seen.KeptOutput)
	n.History, n.NextRunTime, n.applied = seen.History, seen.NextRunTime, seen.AppliedDigest
	n.requested, n.handled = o.GetAnnotations()[meta.AnnotationKeyReconcileRequestedAt], seen.HandledRequest

	outputs, reported := ansiblerun.Withheld(o.Object)
	n.Withheld = append(listed("output ", outputs), listed("reported field ", reported)...)

	_, n.Windowed, _ = unstructured.NestedMap(o.Object, "spec", "forProvider", "window")
	n.Canceled = n.LastRun.Phase == common.PhaseCanceled && n.LastRun.ID == o.GetAnnotations()[common.AnnotationCancel]

	cs := conditionsOf(o)
	cs.Conditions = slices.DeleteFunc(cs.Conditions, func(c xpv2.Condition) bool { // Conditions of a former generation.
		return c.ObservedGeneration != 0 && c.ObservedGeneration < o.GetGeneration()
	})
	n.judgeRun(cs)

	return n
}

// listed returns lines about withheld values.
func listed(what string, all map[string]string) []string {
	var list []string

	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, strings.TrimSpace(what+name)+" "+all[name])
	}

	return list
}

// orNone returns a value of a status, or the zero value for nil.
func orNone[T any](v *T) T { return ptr.Deref(v, *new(T)) }

// judgeRun sets the state of an AnsibleRun from its conditions and its last run.
func (n *Node) judgeRun(cs xpv2.ConditionedStatus) {
	ready, synced := cs.GetCondition(xpv2.TypeReady), cs.GetCondition(xpv2.TypeSynced)
	deletable := cs.GetCondition(common.TypeDeletable)
	why := ready
	n.Available = ready.Status == ansiblerun.ConditionTrue

	if deletable.Status == ansiblerun.ConditionFalse {
		n.Undeletable = cmp.Or(deletable.Message, string(deletable.Reason))
	}

	switch {
	case n.Paused, n.Unmanaged:
		n.State, n.Paused = Paused, true
	case n.InProgress() && n.LastRun.Phase == common.PhaseQueued:
		n.State = Queued
	case n.InProgress() && n.LastRun.Phase == common.PhaseInstalling:
		n.State = Installing
	case n.InProgress(): // Includes phases of a newer provider.
		n.State = Running
	case cs.GetCondition(common.TypeApproved).Status == ansiblerun.ConditionFalse:
		n.State, why = AwaitingApproval, cs.GetCondition(common.TypeApproved)
	case n.Deleted && deletable.Status == ansiblerun.ConditionFalse:
		n.State, why = Blocked, deletable

		switch {
		case common.Failed(deletable):
			n.State = Failed
		case deletable.Reason == common.ReasonWaitingForWindow:
			n.State = Waiting
		}
	case n.Deleted:
		n.State, why = Deleting, deletable
	case n.failed() && !common.FailedBefore(ready, n.LastRun.Mode) &&
		(ready.Status == ansiblerun.ConditionFalse || synced.Status == ansiblerun.ConditionFalse):
		n.State = Failed
		if !common.Failed(ready) {
			why = synced
		}
	case synced.Status == ansiblerun.ConditionFalse:
		n.State, why = Blocked, synced
	case ready.Reason == common.ReasonNotApplied,
		cs.GetCondition(common.TypeCheckable).Status == ansiblerun.ConditionFalse && ready.Status != ansiblerun.ConditionTrue:
		n.State = Blocked
	case ready.Status == ansiblerun.ConditionTrue:
		n.State = Ready
	default:
		n.State = Waiting
	}

	switch {
	case n.InProgress():
		// The conditions may be about the run before.
		n.Message = n.LastRun.Message

		switch {
		case n.Deleted: // The condition Deletable has the message.
		case common.Failed(ready):
			n.Failure = ready.Message
		case n.LastRun.Trigger == common.TriggerRetry && synced.Status == ansiblerun.ConditionFalse:
			n.Failure = synced.Message
		}
	case n.State != Ready && why.Status == ansiblerun.ConditionFalse:
		n.Reason, n.Message = string(why.Reason), why.Message
	}

	if n.State == Waiting && len(cs.Conditions) == 0 {
		n.Message = "the provider has not looked at it yet"
	}
}

// Running is true for a run that has begun and not ended.
func (n *Node) Running() bool { return n.InProgress() && n.LastRun.StartTime != nil }

// InProgress is true while a run waits or runs.
func (n *Node) InProgress() bool { return n.LastRun.Phase != "" && !n.LastRun.Phase.Finished() }

// failed is true when the last run ended, and did not succeed.
func (n *Node) failed() bool {
	return n.LastRun.Phase.Finished() && n.LastRun.Phase != common.PhaseSucceeded
}

// GaveUp is true when the last run failed and is not retried by itself.
func (n *Node) GaveUp() bool { return n.Reason == string(common.ReasonRetriesExhausted) }

// Retry returns the time of the retry of a failed run: of an apply, or of a check of inputs that are not applied.
func (n *Node) Retry() *metav1.Time {
	if n.LastRun.Mode == common.ModeCheck {
		return n.NextRunTime
	}

	return n.LastApply.NextRetryTime
}

// nameOfRun matches the start of a line about a run in the message of an XR: its
// name or, for a member of a set, the name of the set and the key. The composition resource
// name of its AnsibleRun follows if it differs.
var nameOfRun = regexp.MustCompile(`^[\w-]+(?:\[[^]\s]+\])?(?: \((.+)\))?$`)

// states maps the reason of a run in the condition AnsibleRunsReady of its XR to its state. With
// any other reason, the condition repeats the state of an AnsibleRun, or is not about a run.
var states = map[string]State{ //nolint:gochecknoglobals // Go has no constant maps.
	"InvalidValue": Blocked, "ValueNotSet": Blocked, "OutputWithheld": Blocked, "RemovalHeld": Blocked,
	"ValuePending": Waiting, reasonRunning: Waiting, "NotReady": Waiting, "DependencyNotReady": Waiting,
	"Leaving": Waiting, "Retained": Ready,
}

// reasonRunning is the reason of a run without an AnsibleRun, or with an AnsibleRun that shows its own state.
const reasonRunning = "Running"

// tell sets the states of the runs of an XR from its condition, which has states that AnsibleRuns do not have. It
// returns the runs that have no AnsibleRun, and the first line about a run that needs a change but shows its failure.
func tell(there []*Node, c xpv2.Condition) (missing []*Node, untold string) {
	known := map[string]*Node{}
	for _, n := range there {
		known[n.resource] = n
	}

	reason := string(c.Reason)

	for line := range strings.SplitSeq(c.Message, "\n") {
		name, text, about := strings.Cut(line, ": ")
		if next, ok := strings.CutSuffix(line, ":"); ok && !about {
			reason = next // The reason of the lines below.
		}

		match, state := nameOfRun.FindStringSubmatch(name), states[reason]
		if !about || match == nil || state == "" {
			continue
		}

		name = cmp.Or(match[1], name)
		n := known[name]

		switch {
		case n == nil:
			n = &Node{Run: name, resource: name}
			known[name] = n
			missing = append(missing, n)
		case n.Kind == "":
			text = n.Message + "; " + text
		case state == Waiting && n.State == Failed && reason != reasonRunning && !n.Deleted:
			// The run failed with former values. The XR waits for a failed deletion.
			text = strings.TrimSuffix(text+"; its last run failed: "+n.Message, ": ")
		case state == Blocked && n.State != Ready:
			untold = cmp.Or(untold, line)
			continue
		case n.State != Ready, reason == reasonRunning:
			continue
		}

		if names, ok := strings.CutPrefix(text, ansiblerun.WaitingFor); ok {
			n.DependsOn = append(n.DependsOn, slices.DeleteFunc(strings.Split(names, ", "),
				func(s string) bool { return !nameOfRun.MatchString(s) })...) // A name may have several lines.
		}

		n.State, n.Message = state, text
	}

	return missing, untold
}

// inOrder sorts runs topologically by their dependencies, and then
// by their names.
func inOrder(runs []*Node) []*Node {
	named := map[string][]*Node{}

	// Dependencies name a run by its own name, by its composition resource name, or by the name of its set.
	for _, n := range runs {
		for _, name := range []string{n.Run, n.resource} {
			set, _, _ := strings.Cut(name, "[")
			named[name], named[set] = append(named[name], n), append(named[set], n)
		}
	}

	for _, n := range runs {
		for _, name := range n.DependsOn {
			n.after = append(n.after, named[strings.TrimSuffix(name, ansiblerun.AllKeys)]...)
		}
	}

	depths := map[*Node]int{}

	var depth func(n *Node) int

	depth = func(n *Node) int {
		if d, ok := depths[n]; ok {
			return d
		}

		depths[n] = 0 // Annotations may have a cycle.
		deepest := 0

		for _, on := range n.after {
			deepest = max(deepest, depth(on)+1)
		}

		depths[n] = deepest

		return deepest
	}

	sorted := slices.Clone(runs)
	slices.SortStableFunc(sorted, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(depth(a), depth(b)), cmp.Compare(a.Title(), b.Title()))
	})

	return sorted
}
