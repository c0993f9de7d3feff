package tree

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	apiextensionsv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// A State is the state of an object, in one word.
type State string

// States, the most important ones first.
const (
	// Failed runs ended with a failure.
	Failed State = "Failed"
	// Blocked objects need a change from outside.
	Blocked State = "Blocked"
	// AwaitingApproval runs would change something that is not approved, or that was rejected.
	AwaitingApproval State = "AwaitingApproval"
	// Running runs are in progress.
	Running State = "Running"
	// Installing runs wait for their content.
	Installing State = "Installing"
	// Queued runs wait for their turn, or for their Pod.
	Queued State = "Queued"
	// Deleting objects wait for the deletion of dependents, or for a run with state
	// absent.
	Deleting State = "Deleting"
	// Paused objects wait until they are resumed.
	Paused State = "Paused"
	// Waiting objects wait for an event that occurs by itself.
	Waiting State = "Waiting"
	// Ready objects are in their desired state.
	Ready State = "Ready"
)

// A Node is a claim, an XR, an AnsibleRun, or a run that has no AnsibleRun yet.
type Node struct {
	APIVersion string    `json:"apiVersion,omitempty"`
	Kind       string    `json:"kind,omitempty"`
	Namespace  string    `json:"namespace,omitempty"`
	Name       string    `json:"name,omitempty"`
	UID        types.UID `json:"-"`

	// Run is the name of the run in the Composition.
	Run string `json:"run,omitempty"`
	// resource is the name by which Crossplane knows the run: the first one, if it was renamed.
	resource string
	// DependsOn are the names of runs that this run depends on.
	DependsOn []string `json:"dependsOn,omitempty"`
	after     []*Node

	State State `json:"state"`
	// Reason and Message of the condition that says why the object is not ready.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Paused  bool   `json:"paused,omitempty"`
	Deleted bool   `json:"deleted,omitempty"`
	// Claim is true for claims.
	Claim bool `json:"-"`
	// Unresponsive is true for an XR if Crossplane's circuit breaker is open: changes of it may not be noticed.
	Unresponsive bool `json:"-"`
	// Behind is true for an XR that has changed since Crossplane has composed it.
	Behind bool `json:"-"`
	// Available is true if the condition Ready is True, independently of State.
	Available bool `json:"-"`
	// Unmanaged is true for an AnsibleRun that its management policies pause.
	Unmanaged bool `json:"-"`
	// Canceled is true if the last run was canceled by its annotation.
	Canceled bool `json:"-"`

	// Failure is the message of the failed run while its retry is in progress.
	Failure string `json:"-"`
	// Undeletable is the message of the condition Deletable while it is False.
	Undeletable string `json:"-"`

	// Fields of the status of an AnsibleRun. They are empty for an XR, and for a run without
	// an AnsibleRun: LastRun has no phase then, and Approval no state.
	LastRun   common.Run   `json:"lastRun,omitzero"`
	LastApply common.Apply `json:"lastApply,omitzero"`
	Drift     common.Drift `json:"drift,omitzero"`
	// Preview is the last requested check.
	Preview common.Preview `json:"preview,omitzero"`
	// Watched is the value of the annotation that requests the output.
	Watched string `json:"-"`
	// KeptOutput is the reference to the kept output of the last run.
	KeptOutput common.KeptOutput `json:"-"`

	// Approval of what the AnsibleRun would change, and History of its runs.
	Approval common.ApprovalObservation `json:"approval,omitzero"`
	History  []common.PastRun           `json:"history,omitempty"`

	// NextRunTime is the time of the next run that the content has requested. Windowed is true if runs wait for a window.
	NextRunTime *metav1.Time `json:"-"`
	Windowed    bool         `json:"-"`

	// Withheld says which outputs are withheld, why, and what to do.
	Withheld []string `json:"withheld,omitempty"`
	// Notes are errors about fields that could not be read.
	Notes []string `json:"notes,omitempty"`
	Runs  []*Node  `json:"runs,omitempty"`

	policies []string
	policy   common.RunPolicy
	applied  string // The digest of the inputs that were applied; empty if none were.

	// requested is the token of the last request, and handled is the token of the last answered request.
	requested, handled string
}

// Of returns the tree of an object and its composed runs.
func Of(o *unstructured.Unstructured, runs ...*Node) *Node {
	if ansiblerun.Is(o.Object) {
		return runOf(o)
	}

	n := nodeOf(o)
	_, n.Claim, _ = unstructured.NestedMap(o.Object, "spec", "resourceRef")

	cs := conditionsOf(o)

	var missing []*Node

	untold := ""
	if !n.Claim { // A claim repeats the conditions of its XR.
		missing, untold = tell(runs, cs.GetCondition(ansiblerun.TypeAnsibleRunsReady))
	}

	n.Runs = inOrder(append(runs, missing...))
	n.judge(cs, untold)

	composed := cs.GetCondition(xpv2.TypeSynced).ObservedGeneration
	n.Behind = composed != 0 && composed < o.GetGeneration()

	return n
}

func nodeOf(o *unstructured.Unstructured) *Node {
	policies, set, _ := unstructured.NestedStringSlice(o.Object, "spec", "managementPolicies")

	return &Node{
		APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(),
		Run:       cmp.Or(o.GetAnnotations()[ansiblerun.AnnotationRun], ansiblerun.CompositionResource(o.Object)),
		resource:  ansiblerun.CompositionResource(o.Object),
		Paused:    o.GetAnnotations()[meta.AnnotationKeyReconciliationPaused] == "true",
		Deleted:   manifest.IsDeleted(o.Object),
		Unmanaged: set && len(policies) == 0,
		policies:  policies,
	}
}

// conditionsOf returns the conditions of an object.
func conditionsOf(o *unstructured.Unstructured) xpv2.ConditionedStatus {
	var s xpv2.ConditionedStatus
	_ = fieldpath.Pave(o.Object).GetValueInto("status", &s) // Conditions of another type are ignored.

	return s
}

// judge sets the state of an XR or a claim from its conditions and its runs.
func (n *Node) judge(cs xpv2.ConditionedStatus, untold string) {
	ready, synced := cs.GetCondition(xpv2.TypeReady), cs.GetCondition(xpv2.TypeSynced)
	runs := cs.GetCondition(ansiblerun.TypeAnsibleRunsReady)
	n.Available = ready.Status == ansiblerun.ConditionTrue
	n.Unresponsive = cs.GetCondition(apiextensionsv1.TypeResponsive).Status == ansiblerun.ConditionFalse

	worst := State("")
	if len(n.Runs) > 0 {
		worst = slices.MinFunc(n.Runs, ByUrgency).State
	}

	switch {
	case n.Paused:
		n.State = Paused
	case synced.Status == ansiblerun.ConditionFalse &&
		(runs.Reason == ansiblerun.ReasonInvalidInput || runs.Reason == ansiblerun.ReasonTooLarge):
		n.State, n.Reason, n.Message = Blocked, string(runs.Reason), runs.Message
	case worst == Failed, worst == Blocked, worst == AwaitingApproval:
		n.State = worst
	case synced.Status == ansiblerun.ConditionFalse:
		n.State, n.Reason, n.Message = Blocked, string(synced.Reason), synced.Message
	case n.Deleted:
		n.State = Deleting
	case worst != "" && worst != Ready:
		n.State = worst
	case ready.Status == ansiblerun.ConditionTrue:
		n.State = Ready
		if runs.Reason == ansiblerun.ReasonInvalidStatus { // It is about the XR, and not about its runs.
			n.Reason, n.Message = string(runs.Reason), runs.Message
		}
	default:
		n.State = Waiting
	}

	// The message of this condition repeats the runs, which are shown themselves.
	// Its reason, and lines about no run, are shown.
	if n.State != Ready && n.Message == "" && !n.Paused {
		n.Reason = string(cmp.Or(runs.Reason, ready.Reason))

		switch {
		case worst == "":
			n.Message = cmp.Or(runs.Message, ready.Message)
		case n.State == Waiting && worst == Ready:
			n.Message = cmp.Or(ready.Message, "Crossplane has not seen yet that all runs are ready, or waits for something else")
		default:
			n.Message = untold
		}
	}
}

// States returns all states, the most important ones first.
func States() []State {
	return []State{
		Failed, Blocked, AwaitingApproval, Running, Installing, Queued, Deleting, Paused, Waiting, Ready,
	}
}

// ByUrgency compares nodes by the order of their states in States.
func ByUrgency(a, b *Node) int {
	return cmp.Compare(slices.Index(States(), a.State), slices.Index(States(), b.State))
}

// All returns the AnsibleRuns of a tree, in its order.
func (n *Node) All() []*Node {
	return slices.DeleteFunc(n.Leaves(), func(n *Node) bool { return n.Kind == "" })
}

// Leaves returns the AnsibleRuns of a tree, and the runs without an AnsibleRun.
func (n *Node) Leaves() []*Node {
	if !n.Composite() {
		return []*Node{n}
	}

	var all []*Node
	for _, r := range n.Runs {
		all = append(all, r.Leaves()...)
	}

	return all
}

// Composites returns the claim and the XRs of a tree, from its root.
func (n *Node) Composites() []*Node {
	if !n.Composite() {
		return nil
	}

	all := []*Node{n}
	for _, r := range n.Runs {
		all = append(all, r.Composites()...)
	}

	return all
}

// Composite is true for an XR and for a claim. Their kind may be AnsibleRun, in another group.
func (n *Node) Composite() bool {
	return n.Kind != "" && !ansiblerun.Is(map[string]any{"apiVersion": n.APIVersion, "kind": n.Kind})
}

// Resource returns the name of an object for kubectl.
func (n *Node) Resource() string {
	return schema.FromAPIVersionAndKind(n.APIVersion, strings.ToLower(n.Kind)).GroupKind().String() + "/" + n.Name
}

// Args returns the arguments for kubectl to find an object.
func (n *Node) Args() string {
	if n.Namespace == "" {
		return n.Resource()
	}

	return n.Resource() + " -n " + n.Namespace
}

// Title returns the name of a run in its Composition, or of an object.
func (n *Node) Title() string { return cmp.Or(n.Run, n.Name) }

// NamespacedName returns the namespace and the name of an object.
func (n *Node) NamespacedName() string {
	return strings.TrimPrefix(n.Namespace+"/"+n.Name, "/")
}
