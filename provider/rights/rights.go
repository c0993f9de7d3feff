// Package rights finds out which rights the provider lacks at the API server, beside those that
// Crossplane grants, and says which command grants them.
package rights

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// A Role is a ClusterRole in examples/operations, which may be bound in a namespace.
type Role struct {
	// Name of the ClusterRole.
	Name string
	// File that has it.
	File string
}

// An Error names rights that the provider lacks.
type Error struct {
	// Missing rights, such as "create pods".
	Missing []string
	// Role that has them.
	Role Role
	// Namespace in which they are missing; empty for the cluster.
	Namespace string
	// User that the provider is.
	User string
}

// Error says what is missing, and which command grants it.
func (e *Error) Error() string {
	return fmt.Sprintf("the provider may not %s in namespace %q; once the ClusterRole in %s is there: %s",
		strings.Join(e.Missing, ", "), e.Namespace, e.Role.File, e.command())
}

// command that binds the role. The binding has the name of the account, too: there may be one for
// another account, such as that of the last version.
func (e *Error) command() string {
	name, subject := e.Role.Name, "--user="+e.User
	if account, ok := strings.CutPrefix(e.User, "system:serviceaccount:"); ok {
		subject = "--serviceaccount=" + account
		name += "-" + account[strings.Index(account, ":")+1:]
	}

	return fmt.Sprintf("kubectl create rolebinding %s --namespace=%s --clusterrole=%s %s", name, e.Namespace,
		e.Role.Name, subject)
}

var user = regexp.MustCompile(`User "([^"]+)"`)

// Refused adds to a refusal of the API server, which names the account and the right, the commands that grant it.
// Crossplane grants it to the account of each version, unless its RBAC manager is left out.
func Refused(err error, verb, resource, namespace string) error {
	e := &Error{Namespace: namespace, Role: Role{Name: "provider-ansible-" + resource}}
	if m := user.FindStringSubmatch(err.Error()); m != nil {
		e.User = m[1]
	}

	return errors.Errorf("%w; Crossplane's RBAC manager grants that; without it: kubectl create clusterrole %s --verb=%s "+
		"--resource=%s; %s", err, e.Role.Name, verb, resource, e.command())
}

// Check returns an Error if the provider lacks one of the rights that it needs in a namespace.
func Check(ctx context.Context, kube client.Client, namespace string, r Role,
	needed []authorizationv1.ResourceAttributes,
) error {
	e := &Error{Namespace: namespace, Role: r}

	for _, a := range needed {
		a.Namespace = namespace

		r := &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &a},
		}
		if err := kube.Create(ctx, r); err != nil {
			return errors.Wrap(err, "cannot find out which rights the provider has")
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
