package pods

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// tokens is a Cluster with numbers as tokens. It records the requests.
type tokens struct {
	err   error
	asked []string
}

func (c *tokens) Token(_ context.Context, k inputs.Kubernetes, lasts time.Duration, bound *corev1.Secret) (authenticationv1.TokenRequestStatus, error) {
	name := "nothing"
	if bound != nil {
		name = bound.Name
	}

	c.asked = append(c.asked, fmt.Sprintf("%s/%s for %s, bound to %s", k.Namespace, k.ServiceAccount, lasts, name))

	return authenticationv1.TokenRequestStatus{Token: fmt.Sprint(len(c.asked)), ExpirationTimestamp: metav1.NewTime(time.Now().Add(lasts))}, c.err
}

// TestToken issues tokens for runs, and renews them while the runs wait and go on.
func TestToken(t *testing.T) {
	for name, tc := range map[string]struct {
		reason    string
		namespace string
		timeout   time.Duration
		// after are the times at which renewDue is called, and want are the requests until then.
		after []time.Duration
		want  []string
	}{
		"Bound": {
			"A token of a ServiceAccount in the namespace of the Pod is bound to the Secret.", "ns", 10 * time.Minute, nil,
			[]string{"ns/deployer for 25m0s, bound to ansiblerun-id-001"},
		},
		"Elsewhere": {
			"Kubernetes binds tokens only to Secrets in the namespace of the ServiceAccount.", "ops", time.Hour, nil,
			[]string{"ops/deployer for 2h5m0s, bound to nothing"},
		},
		"Renewed": {
			"A token is renewed so early that a run can end with its first token.", "ops", 30 * time.Minute,
			[]time.Duration{16 * time.Minute, 17 * time.Minute},
			[]string{"ops/deployer for 1h5m0s, bound to nothing", "ops/deployer for 1h5m0s, bound to nothing"},
		},
		"Unlimited": {
			"The token of a run without a timeout is renewed until its end.", "ops", 0,
			[]time.Duration{5 * time.Hour, 7 * time.Hour},
			[]string{"ops/deployer for 24h0m0s, bound to nothing", "ops/deployer for 24h0m0s, bound to nothing"},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			r, cluster := onCluster(t), &tokens{}
			r.config.Cluster = cluster
			r.todo.Inputs.Kubernetes, r.todo.Timeout = &inputs.Kubernetes{Namespace: tc.namespace, ServiceAccount: "deployer"}, tc.timeout
			r.pod = podOf(t, r, twoSecrets)
			start := time.Now()

			needs.OK(t, r.grant(t.Context()))

			for _, d := range tc.after {
				time.Sleep(d - time.Since(start))
				r.renewDue(t.Context())
			}

			if diff := cmp.Diff(tc.want, cluster.asked); diff != "" {
				t.Errorf("%s\n%s: -want, +got:\n%s", tc.reason, name, diff)
			}

			s := &corev1.Secret{}
			needs.OK(t, r.config.Client.Get(t.Context(), client.ObjectKey{Namespace: r.ref.Namespace, Name: "ansiblerun-id-001"}, s))

			if got, want := string(s.Data[FileToken]), fmt.Sprint(len(tc.want)); got != want || s.Labels[labelRun] != "id" {
				t.Errorf("The Secret should have the last token, and the label of the run: %q, %v", got, s.Labels)
			}
		})
	}
}

// twoSecrets makes a Pod have a payload and a token.
func twoSecrets(p *corev1.Pod) { p.Annotations[annotationSecrets] = "2" }

// TestTokenElsewhere has another client that has created the Secret. No token is written into it.
func TestTokenElsewhere(t *testing.T) {
	r := onCluster(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "ansiblerun-id-001", UID: "planted", OwnerReferences: []metav1.OwnerReference{{Kind: "Pod", UID: "another", Controller: new(true)}},
	}})
	r.config.Cluster = &tokens{}
	r.todo.Inputs.Kubernetes, r.pod = &inputs.Kubernetes{Namespace: "ns", ServiceAccount: "deployer"}, podOf(t, r, twoSecrets)

	if err := r.grant(t.Context()); !errors.As(err, new(*refusal)) {
		t.Errorf("grant(...): want a refusal, got %v", err)
	}

	if err := r.renew(t.Context()); !errors.As(err, new(*refusal)) {
		t.Errorf("renew(...): want a refusal, got %v", err)
	}
}
