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

// A Spec is everything that a Runner needs to execute one run. It refers to no object of the API server.
type Spec struct {
	// ID of the run, unique. It is not a secret: it is in the status of the object.
	ID string
	// Mode says whether the run may change anything.
	Mode common.RunMode
	// State that the run is to bring about.
	State common.RunState
	// Trigger is why the run was started.
	Trigger common.RunTrigger
	// Attempt is the number of the attempt with these inputs, from 1.
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
	// Reported is the part of the status of the XR that earlier runs have set; nil for none.
	Reported json.RawMessage `json:",omitempty"`
	// Withheld fields of that status.
	Withheld common.Withheld `json:",omitempty"`
	// StateIgnored is true if the content of the last successful run was known not to use the state. If it is false, a
	// deletion executes the content in any case: the present content may differ, for example by a misspelt role.
	StateIgnored bool
	// Approved is true for an approved run. It must use the same content as the check that was approved.
	Approved bool
	// Diff is true for an apply that shows its differences. Checks always do.
	Diff bool `json:",omitempty"`
	// Only are options with which ansible-playbook describes the plays and does not run them, such as --list-tasks.
	Only []string `json:",omitempty"`
	// KeepOutput is true if the result is to have the end of the display of the run.
	KeepOutput bool
}

// Limit returns the timeout for a message, with the flag that has shortened it, if any.
func (s Spec) Limit() string {
	asked := s.Inputs.Parameters.Timeout
	if asked == nil || asked.Duration > 0 && asked.Duration <= s.Timeout {
		return s.Timeout.String()
	}

	return s.Timeout.String() + " (the longest that the provider's --max-timeout allows)"
}

// An Object is the metadata of an AnsibleRun that the content receives.
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

// An Owner is an XR: in the namespace of the object, or cluster scoped.
type Owner struct {
	Group, Kind, Name string
}

// labelClaimNamespace is the label that Crossplane sets on resources that it composes for a claim.
const labelClaimNamespace = "crossplane.io/claim-namespace"

// Tenant returns the namespace of the object, or of the claim that it was composed for; empty if it has neither.
func (o Object) Tenant() string {
	if o.Namespace != "" {
		return o.Namespace
	}

	return o.Labels[labelClaimNamespace]
}

// ObjectOf returns the present metadata of o. The name is the default of the external name.
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

// approvable returns the annotations that an approval covers. Content that requires approvals receives no others.
func (o Object) approvable() map[string]string {
	a := maps.Collect(maps.All(o.Annotations))
	maps.DeleteFunc(a, func(name, _ string) bool { return treats(name) })

	return a
}

// annotationResourceName has the name of the resource in the Composition.
const annotationResourceName = "crossplane.io/composition-resource-name"

// treats is true for an annotation of Crossplane, of its providers or of kubectl. These control how an object is
// handled, or can change at any time, also between a check and its approved apply.
func treats(annotation string) bool {
	switch annotation {
	case xpmeta.AnnotationKeyExternalName, annotationResourceName:
		return false // They do not change, and content uses them.
	}

	domain, _, _ := strings.Cut(annotation, "/")

	return slices.ContainsFunc([]string{"crossplane.io", "kubectl.kubernetes.io"}, func(d string) bool {
		return domain == d || strings.HasSuffix(domain, "."+d)
	})
}

// digestLength is the length of a digest of metadata, in hexadecimal digits.
const digestLength = 32

// Digest returns a keyed digest of the metadata that an approval covers: the labels, the annotations of approvable, and
// the XR.
func (o Object) Digest(key []byte) string {
	text, _ := json.Marshal([]any{values(o.Labels), o.approvable(), o.Owner}) //nolint:errchkjson // It has strings only.

	return hex.EncodeToString(mac.Sum(key, "metadata", text))[:digestLength]
}

// ownerOf returns the controller of an object; zero for none.
func ownerOf(o metav1.Object) Owner {
	c := metav1.GetControllerOf(o)
	if c == nil {
		return Owner{}
	}

	gv, _ := schema.ParseGroupVersion(c.APIVersion) // The API server has checked it.

	return Owner{Group: gv.Group, Kind: c.Kind, Name: c.Name}
}
