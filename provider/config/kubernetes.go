package config

import (
	"cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// kubernetes is how the runs of a configuration reach the API server; nil if they do not. A ServiceAccount without a
// namespace is that of the run's, which has one then.
func kubernetes(run common.AnsibleRun, c common.Config) *inputs.Kubernetes {
	k := c.ConfigSpec().Kubernetes
	if k == nil {
		return nil
	}

	return &inputs.Kubernetes{
		Namespace: cmp.Or(k.ServiceAccountRef.Namespace, run.GetNamespace()), ServiceAccount: k.ServiceAccountRef.Name,
		OwnerReferences: k.OwnerReferences, WatchDependents: k.WatchDependents, Ignore: k.IgnoreDependents,
	}
}
