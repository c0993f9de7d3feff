package pods

import (
	"context"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// ClusterRole is the name of the role in examples/operations that has the rights to run Pods.
const ClusterRole = "provider-ansible-pods"

// rights that the provider needs in a namespace to run Pods there. Crossplane grants those
// to Secrets and Events.
func needed() []authorizationv1.ResourceAttributes {
	var all []authorizationv1.ResourceAttributes

	add := func(group, resource, subresource string, verbs ...string) {
		for _, v := range verbs {
			all = append(all, authorizationv1.ResourceAttributes{Group: group, Resource: resource, Subresource: subresource, Verb: v})
		}
	}

	add("batch", "jobs", "", "create", "get", "list", "watch", "patch", "delete")
	add("", "pods", "", "list", "watch")
	add("", "pods", "log", "get")
	add("", "secrets", "", "create", "get", "deletecollection")

	return all
}

// A RightsError names rights that the provider lacks.
type RightsError struct {
	// Missing rights, such as "create jobs.batch".
	Missing []string
	// Namespace in which they are missing; empty for the cluster.
	Namespace string
	// User that the provider is.
	User string
}

// Error says what is missing, and which command grants it.
func (e *RightsError) Error() string {
	return fmt.Sprintf("the provider may not %s in namespace %q; once the ClusterRole in examples/operations/pods.yaml is there: %s", strings.Join(e.Missing, ", "), e.Namespace, e.command())
}

func (e *RightsError) command() string {
	subject := "--user=" + e.User
	if account, ok := strings.CutPrefix(e.User, "system:serviceaccount:"); ok {
		subject = "--serviceaccount=" + account
	}

	return fmt.Sprintf("kubectl create rolebinding %s --namespace=%s --clusterrole=%s %s", ClusterRole, e.Namespace, ClusterRole, subject)
}

// checkRights returns a RightsError if the provider may not run Pods in a namespace.
func checkRights(ctx context.Context, kube client.Client, namespace string) error {
	e := &RightsError{Namespace: namespace}

	for _, a := range needed() {
		a.Namespace = namespace

		r := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &a}}
		if err := kube.Create(ctx, r); err != nil {
			return errors.Wrap(err, "cannot find out whether Pods may be run")
		}

		if r.Status.Allowed {
			continue
		}

		what := a.Verb + " " + a.Resource
		if a.Subresource != "" {
			what += "/" + a.Subresource
		}

		e.Missing = append(e.Missing, what)
	}

	if len(e.Missing) == 0 {
		return nil
	}

	who := &authenticationv1.SelfSubjectReview{}
	if err := kube.Create(ctx, who); err == nil {
		e.User = who.Status.UserInfo.Username
	}

	return e
}
