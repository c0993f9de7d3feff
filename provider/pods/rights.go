package pods

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-ansible/crossplane-ansible/provider/rights"
)

// CheckRights returns a rights.Error if the provider lacks rights to run Pods in a namespace. Crossplane grants the
// rights to Secrets and Events.
func CheckRights(ctx context.Context, kube client.Client, namespace string) error {
	var needed []authorizationv1.ResourceAttributes
	for _, verb := range []string{"create", "get", "list", "watch", "delete"} {
		needed = append(needed, authorizationv1.ResourceAttributes{Resource: "pods", Verb: verb})
	}

	needed = append(needed, authorizationv1.ResourceAttributes{Resource: "pods", Subresource: "log", Verb: "get"})
	role := rights.Role{Name: "provider-ansible-pods", File: "examples/operations/pods.yaml"}

	return rights.Check(ctx, kube, namespace, role, needed)
}
