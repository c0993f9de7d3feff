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

// A State says how an object is, in one word.
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
	// Deleting objects wait for what has to go before them, or for a run with state
	// absent.
	Deleting State = "Deleting"
	// Paused objects wait until they are resumed.
	Paused State = "Paused"
	// Waiting objects wait for something that happens by itself.
	Waiting State = "Waiting"
	// Ready objects are as they should be.
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
	// DependsOn are the names of runs that this one comes after.
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
	// Available is true if the condition Ready is True, whatever else there is to say.
	Available bool `json:"-"`
	// Unmanaged is true for an AnsibleRun that its management policies pause.
	Unmanaged bool `json:"-"`
	// Canceled is true if the last run was canceled by its annotation.
	Canceled bool `json:"-"`

	// Failure is why the run before failed, while a retry is in progress.
	Failure string `json:"-"`
	// Undeletable is what the condition Deletable says while it is False.
	Undeletable string `json:"-"`

	// What the status of an AnsibleRun has of these. What it lacks is empty, as it is for an XR and for a run that has
	// no AnsibleRun yet: LastRun has no phase then, and Approval no state.
	LastRun   common.Run   `json:"lastRun,omitzero"`
	LastApply common.Apply `json:"lastApply,omitzero"`
	Drift     common.Drift `json:"drift,omitzero"`
	// Preview is the last requested check.
	Preview common.Preview `json:"preview,omitzero"`
	// Watched is the value of the annotation that asks for the output.
	Watched string `json:"-"`
	// KeptOutput says where the output of the last run is kept.
	KeptOutput common.KeptOutput `json:"-"`

	// Approval of what the AnsibleRun would change, and History of its runs.
	Approval common.ApprovalObservation `json:"approval,omitzero"`
	History  []common.PastRun           `json:"history,omitempty"`

	// NextRunTime is when the content has asked to run again. Windowed is true if runs wait for a window.
	NextRunTime *metav1.Time `json:"-"`
	Windowed    bool         `json:"-"`

	// Withheld says which outputs are withheld, why, and what to do.
	Withheld []string `json:"withheld,omitempty"`
	// Notes on what could not be read.
	Notes []string `json:"notes,omitempty"`
	Runs  []*Node  `json:"runs,omitempty"`

	policies []string
	policy   common.RunPolicy
	applied  string // The digest of the inputs that were applied; empty if none were.

	// requested is the token of the last request, and handled that of the one that was answered.
	requested, handled string
}

// Of is the tree of an object, as the API server has it, and of what it is composed of.
func Of(o *unstructured.Unstructured, runs ...*Node) *Node {
	if ansiblerun.Is(o.Object) {
		return runOf(o)
	}

	n := nodeOf(o)
	_, n.Claim, _ = unstructured.NestedMap(o.Object, "spec", "resourceRef")

	cs := conditionsOf(o)

	var missing []*Node

	untold := ""
	if !n.Claim { // A claim has the conditions of its XR, which tells of its runs.
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

// conditionsOf an object.
func conditionsOf(o *unstructured.Unstructured) xpv2.ConditionedStatus {
	var s xpv2.ConditionedStatus
	_ = fieldpath.Pave(o.Object).GetValueInto("status", &s) // What has another form says nothing.

	return s
}

// judge an XR or a claim by its conditions, its runs, and what they do not show.
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
		if runs.Reason == "InvalidStatus" { // It is about the XR, and not about its runs.
			n.Reason, n.Message = string(runs.Reason), runs.Message
		}
	default:
		n.State = Waiting
	}

	// The message of this condition is that of the runs, which are shown themselves.
	// But its reason is worth a word, and so is what it says of no run.
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

// States are all states, the most important ones first.
func States() []State {
	return []State{
		Failed, Blocked, AwaitingApproval, Running, Installing, Queued, Deleting, Paused, Waiting, Ready,
	}
}

// ByUrgency compares nodes by where their states stand in the order of states.
func ByUrgency(a, b *Node) int {
	return cmp.Compare(slices.Index(States(), a.State), slices.Index(States(), b.State))
}

// All AnsibleRuns of a tree, in its order.
func (n *Node) All() []*Node {
	return slices.DeleteFunc(n.Leaves(), func(n *Node) bool { return n.Kind == "" })
}

// Leaves of a tree: its AnsibleRuns, and the runs that have none yet.
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

// Composites are the XRs and the claim of a tree, from its root.
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

// Composite is true for an XR and for a claim. Their kind may be AnsibleRun, too, in another group.
func (n *Node) Composite() bool {
	return n.Kind != "" && !ansiblerun.Is(map[string]any{"apiVersion": n.APIVersion, "kind": n.Kind})
}

// Resource is what kubectl calls an object.
func (n *Node) Resource() string {
	return schema.FromAPIVersionAndKind(n.APIVersion, strings.ToLower(n.Kind)).GroupKind().String() + "/" + n.Name
}

// Args by which kubectl finds an object.
func (n *Node) Args() string {
	if n.Namespace == "" {
		return n.Resource()
	}

	return n.Resource() + " -n " + n.Namespace
}

// Title is the name that people know a run or an object by.
func (n *Node) Title() string { return cmp.Or(n.Run, n.Name) }

// NamespacedName of an object.
func (n *Node) NamespacedName() string {
	return strings.TrimPrefix(n.Namespace+"/"+n.Name, "/")
}
