package runner

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	xpmeta "github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/mac"
)

// A Spec is everything that a Runner needs to carry out one run: plain values, none of
// which refers to the API server.
type Spec struct {
	// ID of the run, unique. It is no secret: the object's status has it.
	ID string
	// Mode is whether the run may change anything.
	Mode common.RunMode
	// State that the run is to bring about.
	State common.RunState
	// Trigger is why the run was started.
	Trigger common.RunTrigger
	// Attempt for these inputs, from 1.
	Attempt int64
	// Object that the run belongs to.
	Object Object
	// Inputs of the run.
	Inputs inputs.Inputs
	// Content that the run uses.
	Content content.Set
	// Timeout of the execution; 0 means none.
	Timeout time.Duration
	// Dependents are the kinds of objects that earlier runs have made in the cluster.
	Dependents []common.DependentKind
	// Reported is what earlier runs have set of the status of the XR; nil for nothing.
	Reported json.RawMessage `json:",omitempty"`
	// Withheld fields of that status.
	Withheld common.Withheld `json:",omitempty"`
	// StateIgnored is true if the content of the last run that succeeded was known not to look at the state. Without it
	// a deletion runs content, whatever is known of it: what it makes may be gone since, such as a role that is misspelt.
	StateIgnored bool
	// Approved is true for a run that was approved. It happens only with the content that the
	// check before it used.
	Approved bool
	// Diff is true for an apply that shows its differences. Checks always do.
	Diff bool `json:",omitempty"`
	// Only are options with which ansible-playbook says something of the plays, and plays nothing.
	Only []string `json:",omitempty"`
	// KeepOutput is true if the result is to have the end of what the run displays.
	KeepOutput bool
}

// Limit is the timeout as a message has it, with the flag that has shortened it.
func (s Spec) Limit() string {
	asked := s.Inputs.Parameters.Timeout
	if asked == nil || asked.Duration > 0 && asked.Duration <= s.Timeout {
		return s.Timeout.String()
	}

	return s.Timeout.String() + " (the longest that the provider's --max-timeout allows)"
}

// An Object is what the content is told about its AnsibleRun.
type Object struct {
	Name        string
	Namespace   string
	UID         types.UID
	Generation  int64
	Labels      map[string]string
	Annotations map[string]string
	// Owner is the XR that the object was composed for; zero if there is none.
	Owner Owner
}

// An Owner is an XR. Its namespace is that of the object, or it has none.
type Owner struct {
	Group, Kind, Name string
}

// labelClaimNamespace is what Crossplane writes on what it composes for a claim.
const labelClaimNamespace = "crossplane.io/claim-namespace"

// Tenant that the object belongs to: its namespace, or that of the claim that it was
// composed for; empty when it has neither.
func (o Object) Tenant() string {
	if o.Namespace != "" {
		return o.Namespace
	}

	return o.Labels[labelClaimNamespace]
}

// ObjectOf returns what the content is told about o, as it is now. Without an external name it has its own.
func ObjectOf(o metav1.Object) Object {
	annotations := maps.Collect(maps.All(o.GetAnnotations()))
	annotations[xpmeta.AnnotationKeyExternalName] = cmp.Or(annotations[xpmeta.AnnotationKeyExternalName], o.GetName())

	return Object{
		Name:        o.GetName(),
		Namespace:   o.GetNamespace(),
		UID:         o.GetUID(),
		Generation:  o.GetGeneration(),
		Labels:      maps.Clone(o.GetLabels()),
		Annotations: annotations,
		Owner:       ownerOf(o),
	}
}

// approvable returns the annotations that an approval stands for. Content that requires approvals is told of no others.
func (o Object) approvable() map[string]string {
	a := maps.Collect(maps.All(o.Annotations))
	maps.DeleteFunc(a, func(name, _ string) bool { return treats(name) })

	return a
}

// annotationResourceName is what the Composition calls the object.
const annotationResourceName = "crossplane.io/composition-resource-name"

// treats is true for an annotation that says how an object is treated, or that Crossplane, the provider or kubectl
// write at any time: also between a check and its approved apply.
func treats(annotation string) bool {
	switch annotation {
	case xpmeta.AnnotationKeyExternalName, annotationResourceName:
		return false // They last, and content has a use for them.
	}

	domain, _, _ := strings.Cut(annotation, "/")

	return slices.ContainsFunc([]string{"crossplane.io", "kubectl.kubernetes.io"}, func(d string) bool {
		return domain == d || strings.HasSuffix(domain, "."+d)
	})
}

// digestLength of metadata, in hexadecimal digits.
const digestLength = 32

// Digest identifies the labels, the annotations and the XR that content is told of where it requires approvals.
func (o Object) Digest(key []byte) string {
	text, _ := json.Marshal([]any{values(o.Labels), o.approvable(), o.Owner}) //nolint:errchkjson // It has strings only.

	return hex.EncodeToString(mac.Sum(key, "metadata", text))[:digestLength]
}

// ownerOf an object is what controls it.
func ownerOf(o metav1.Object) Owner {
	c := metav1.GetControllerOf(o)
	if c == nil {
		return Owner{}
	}

	gv, _ := schema.ParseGroupVersion(c.APIVersion) // The API server has checked it.

	return Owner{Group: gv.Group, Kind: c.Kind, Name: c.Name}
}
