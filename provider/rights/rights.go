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
	kerrors "k8s.io/apimachinery/pkg/api/errors"
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

// An Error says what is to be granted: rights of the provider, or access of a run.
type Error struct{ error }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.error }

// Lacking returns an Error for its cause.
func Lacking(cause error) error { return &Error{cause} }

// Lacks is true for an error that ends when something is granted.
func Lacks(err error) bool { return errors.As(err, new(*Error)) }

// Explained is a refusal as the Error of a check, if rights are missing, and otherwise as it is.
func Explained(err error, check func() error) error {
	if kerrors.IsForbidden(err) {
		if lacking := check(); Lacks(lacking) {
			return lacking
		}
	}

	return err
}

// command that binds a role in a namespace to a user. The binding has the name of the account, too: there may be one
// for another account, such as that of the last version.
func command(role, namespace, user string) string {
	name, subject := role, "--user="+user
	if account, ok := strings.CutPrefix(user, "system:serviceaccount:"); ok {
		subject = "--serviceaccount=" + account
		name += "-" + account[strings.Index(account, ":")+1:]
	}

	return fmt.Sprintf("kubectl create rolebinding %s --namespace=%s --clusterrole=%s %s", name, namespace, role, subject)
}

var user = regexp.MustCompile(`User "([^"]+)"`)

// Refused adds to a refusal of the API server, which names the account and the right, the commands that grant it.
// Crossplane grants it to the account of each version, unless its RBAC manager is left out.
func Refused(err error, verb, resource, namespace string) error {
	role, who := "provider-ansible-"+resource, ""
	if m := user.FindStringSubmatch(err.Error()); m != nil {
		who = m[1]
	}

	return errors.Errorf("%w; Crossplane's RBAC manager grants that; without it: kubectl create clusterrole %s --verb=%s "+
		"--resource=%s; %s", err, role, verb, resource, command(role, namespace, who))
}

// Check returns an Error if the provider lacks one of the rights that it needs in a namespace: it says what is missing,
// and which command grants it.
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

	who := &authenticationv1.SelfSubjectReview{}
	_ = kube.Create(ctx, who) // The command lacks the account without an answer.

	return Lacking(errors.Errorf("the provider may not %s in namespace %q; once the ClusterRole in %s is there: %s",
		strings.Join(missing, ", "), namespace, r.File, command(r.Name, namespace, who.Status.UserInfo.Username)))
}
