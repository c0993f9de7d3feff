package config

import (
	"cmp"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// kubernetes is how the runs of a configuration reach the API server; nil if they do not.
func kubernetes(run common.AnsibleRun, c common.Config) (*inputs.Kubernetes, error) {
	k := c.ConfigSpec().Kubernetes
	if k == nil {
		return nil, nil
	}

	ref, ns := k.ServiceAccountRef, c.GetNamespace()

	switch {
	// The API server refuses these, too.
	case ns != "" && ref.Namespace != "" && ref.Namespace != ns:
		return nil, errors.New("spec.kubernetes.serviceAccountRef.namespace: only cluster scoped configurations may have it")
	case cmp.Or(ref.Namespace, run.GetNamespace()) == "":
		return nil, errors.New(
			"spec.kubernetes.serviceAccountRef.namespace must be set: cluster scoped AnsibleRuns have no namespace")
	}

	return &inputs.Kubernetes{
		Namespace: cmp.Or(ref.Namespace, run.GetNamespace()), ServiceAccount: ref.Name,
		OwnerReferences: k.OwnerReferences, WatchDependents: k.WatchDependents, Ignore: k.IgnoreDependents,
	}, nil
}
