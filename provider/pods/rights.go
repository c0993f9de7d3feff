package pods

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-ansible/crossplane-ansible/provider/rights"
)

// role is the one in examples/operations that has the rights to run Pods.
func role() rights.Role {
	return rights.Role{Name: "provider-ansible-pods", File: "examples/operations/pods.yaml"}
}

// needed are the rights of the provider in a namespace to run Pods there. Crossplane grants it those
// to Secrets and Events.
func needed() []authorizationv1.ResourceAttributes {
	var all []authorizationv1.ResourceAttributes

	add := func(resource, subresource string, verbs ...string) {
		for _, v := range verbs {
			all = append(all, authorizationv1.ResourceAttributes{Resource: resource, Subresource: subresource, Verb: v})
		}
	}

	add("pods", "", "create", "get", "list", "watch", "delete")
	add("pods", "log", "get")
	add("secrets", "", "create", "get", "delete")

	return all
}

// checkRights returns a rights.Error if the provider may not run Pods in a namespace.
func checkRights(ctx context.Context, kube client.Client, namespace string) error {
	return rights.Check(ctx, kube, namespace, role(), needed())
}
