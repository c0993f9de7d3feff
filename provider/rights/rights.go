// Package rights finds rights that the provider lacks at the API server, beyond those that Crossplane grants, and the
// commands that grant them.
package rights

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// A Role is a ClusterRole in examples/operations, for a RoleBinding in a namespace.
type Role struct {
	// Name of the ClusterRole.
	Name string
	// File with the ClusterRole.
	File string
}

// An Error says what has to be granted: rights of the provider, or access of a run.
type Error struct{ error }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.error }

// Lacking returns an Error for a cause.
func Lacking(cause error) error { return &Error{cause} }

// Lacks is true for an error that is or wraps an Error.
func Lacks(err error) bool { return errors.As(err, new(*Error)) }

// Explained replaces a Forbidden error by the Error of a check, if that finds missing rights.
func Explained(err error, check func() error) error {
	if kerrors.IsForbidden(err) {
		if lacking := check(); Lacks(lacking) {
			return lacking
		}
	}

	return err
}

// command returns the command that binds a role in a namespace to a user. The name of the binding has the account in
// it, since a binding for another account may exist, such as that of the last version of the provider.
func command(role, namespace, user string) string {
	name, subject := role, "--user="+user
	if account, ok := strings.CutPrefix(user, "system:serviceaccount:"); ok {
		subject = "--serviceaccount=" + account
		name += "-" + account[strings.Index(account, ":")+1:]
	}

	return fmt.Sprintf("kubectl create rolebinding %s --namespace=%s --clusterrole=%s %s", name, namespace, role, subject)
}

var user = regexp.MustCompile(`User "([^"]+)"`)

// Refused appends the commands that grant a right to an error of the API server, which names the account and the right.
// Crossplane's RBAC manager, if it runs, grants it to the account of each version.
func Refused(err error, verb, resource, namespace string) error {
	role, account := "provider-ansible-"+resource, ""
	if m := user.FindStringSubmatch(err.Error()); m != nil {
		account = m[1]
	}

	return errors.Errorf("%w; Crossplane's RBAC manager grants that; without it: kubectl create clusterrole %s --verb=%s "+
		"--resource=%s; %s", err, role, verb, resource, command(role, namespace, account))
}

// Check returns an Error if the provider lacks a needed right in a namespace. It names the missing rights, and the
// command that grants them.
func Check(ctx context.Context, kube client.Client, namespace string, r Role,
	needed []authorizationv1.ResourceAttributes,
) error {
	var missing []string

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

		missing = append(missing, what)
	}

	if len(missing) == 0 {
		return nil
	}

	self := &authenticationv1.SelfSubjectReview{}
	_ = kube.Create(ctx, self) // After an error, the command has no account.

	return Lacking(errors.Errorf("the provider may not %s in namespace %q; once the ClusterRole in %s is there: %s",
		strings.Join(missing, ", "), namespace, r.File, command(r.Name, namespace, self.Status.UserInfo.Username)))
}
