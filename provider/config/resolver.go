package config

import (
	"cmp"
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	clusterv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/cluster/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	namespacedv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
)

// A Reader gets single objects: from an API server, or from Manifests.
type Reader interface {
	Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error
}

// A Resolver resolves AnsibleRuns to the inputs of their runs.
type Resolver struct {
	// Reader must not read Secrets and ConfigMaps from a cache.
	Reader Reader
	// Host allows cluster scoped AnsibleRuns to use the sources Environment and Filesystem, which read from the provider's
	// container.
	Host bool
	// Places of runs. The zero value carries all runs out in the provider.
	Places Places
	// Unconfined says why the provider cannot confine runs, so that it refuses runs of namespaced AnsibleRuns; empty if it
	// can.
	Unconfined string
}

// PodsOnly is a value of the flag --place: every run must have a Pod.
const PodsOnly common.Place = "PodsOnly"

// Places has the provider's settings of where runs are carried out.
type Places struct {
	// Default place. Empty means the provider. PodsOnly refuses runs in the provider.
	Default common.Place
	// Namespace of the Pods of cluster scoped configurations without a namespace of their own. If it is empty there are no
	// Pods, and the provider carries out all runs.
	Namespace string
}

// Resolve reads the configuration of a run and all references of both, and returns the valid inputs of the run, or
// those of the deletion run if the object is deleted. The error is a MissingError if objects or keys do not exist, and
// there is no other mistake.
func (r *Resolver) Resolve(ctx context.Context, run common.AnsibleRun) (inputs.Inputs, error) {
	in, err := parameters(run)
	if err != nil {
		return inputs.Inputs{}, err
	}

	c, err := lookup(ctx, r.Reader, run)
	if err != nil {
		return inputs.Inputs{}, err
	}

	in.Config = describe(c, types.NamespacedName{Namespace: c.GetNamespace(), Name: c.GetName()})
	in.Owner = owner(c)
	in.Requirements = c.ConfigSpec().Requirements

	if v := c.ConfigSpec().Verification; v != nil {
		in.Verification = v.DeepCopy()
		in.Verification.Signatures = cmp.Or(v.Signatures, "+1")
	}

	in.Env, err = c.ConfigSpec().ParseVars()
	if err != nil {
		return inputs.Inputs{}, errors.Wrap(err, in.Config)
	}

	in.Approval = c.ConfigSpec().Approval == common.ApprovalRequired || in.Parameters.Approval == common.ApprovalRequired

	if g := c.ConfigSpec().Confinement; g != nil {
		in.Grant = sandbox.Grant{Read: g.ReadPaths, Write: g.WritePaths, ServiceAccount: g.ServiceAccount}
	}

	in.Execution, err = r.Places.Execution(c)
	if err != nil {
		return inputs.Inputs{}, errors.Wrap(err, in.Config)
	}

	if r.Unconfined != "" && in.Execution.Place != common.PlacePod && IsTenant(run) {
		return inputs.Inputs{}, errors.Errorf("%s: the provider's machine cannot confine the run of a namespace: %s; give "+
			"it a Pod with spec.execution: {place: Pod}", in.Config, r.Unconfined)
	}

	if k := c.ConfigSpec().Kubernetes; k != nil {
		in.Kubernetes = &inputs.Kubernetes{
			// A ServiceAccount reference without a namespace is in that of the run.
			Namespace: cmp.Or(k.ServiceAccountRef.Namespace, run.GetNamespace()), ServiceAccount: k.ServiceAccountRef.Name,
			OwnerReferences: k.OwnerReferences, WatchDependents: k.WatchDependents, Ignore: k.IgnoreDependents,
		}
	}

	if err := r.files(ctx, run, c, &in); err != nil {
		return inputs.Inputs{}, err
	}

	if err := in.Validate(); err != nil {
		return in, err
	}

	if meta.WasDeleted(run) {
		return in.ForDeletion(), nil
	}

	return in, nil
}

// IsTenant is true for an AnsibleRun of the namespaced group.
func IsTenant(run common.AnsibleRun) bool {
	_, cluster := run.(resource.LegacyManaged)

	return !cluster
}

// owner returns a controller reference to a cluster scoped configuration; nil for one in a namespace.
func owner(c common.Config) *metav1.OwnerReference {
	if c.GetNamespace() != "" {
		return nil
	}

	gv := clusterv1alpha1.SchemeGroupVersion
	if kindOf(c) == kindClusterProviderConfig {
		gv = namespacedv1alpha1.SchemeGroupVersion
	}

	return &metav1.OwnerReference{
		APIVersion: gv.String(), Kind: kindOf(c), Name: c.GetName(), UID: c.GetUID(), Controller: new(true),
	}
}

// PodNamespace returns the namespace in which the configuration of a run puts its Pods. If the configuration is
// missing, it is the namespace of the object.
func (r *Resolver) PodNamespace(ctx context.Context, run common.AnsibleRun) (string, error) {
	c, err := lookup(ctx, r.Reader, run)
	if IsMissing(err) {
		return cmp.Or(run.GetNamespace(), r.Places.Namespace), nil
	}

	if err != nil {
		return "", err
	}

	return r.Places.namespace(c), nil
}

// parameters returns inputs with the parameters of the run and its parsed roles.
func parameters(run common.AnsibleRun) (inputs.Inputs, error) {
	in := inputs.Inputs{Parameters: *run.Parameters().DeepCopy()}

	roles, err := in.Parameters.ParseRoles()
	if err != nil {
		return in, err
	}

	in.Roles = roles

	if o := in.Parameters.OnDelete; o.Replaces() {
		removal, err := o.ParseRoles()
		in.Required = slices.Concat(roles, removal)

		return in, err
	}

	return in, nil
}

// files adds the files that the configuration and the run refer to.
func (r *Resolver) files(ctx context.Context, run common.AnsibleRun, c common.Config, in *inputs.Inputs) error {
	s := source{reader: r.Reader, host: r.Host && !IsTenant(run)}

	s.namespace, s.kind, s.at = c.GetNamespace(), kindOf(c), in.Config+": "
	s.readConfig(ctx, c.ConfigSpec(), in)

	s.namespace, s.kind, s.at = run.GetNamespace(), common.KindAnsibleRun, ""
	s.readRun(ctx, in)

	return s.err()
}
