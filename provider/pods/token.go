package pods

import (
	"context"
	"encoding/json"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

const (
	// FileToken is the file with the token of a run with access to the API server, beside its payload.
	FileToken = "token"
	// unlimited is the lifetime of a token of a run without a timeout.
	unlimited = 24 * time.Hour
)

// A Cluster issues tokens of its ServiceAccounts.
type Cluster interface {
	// Token returns a token with a lifetime; 0 means the shortest one. A token that is bound to a Secret is invalid once
	// the Secret is deleted.
	Token(ctx context.Context, k inputs.Kubernetes, lasts time.Duration,
		bound *corev1.Secret) (authenticationv1.TokenRequestStatus, error)
}

// tokenLasts returns the lifetime of a token: so much longer than the run that a run with a token of any age before its
// renewal can end with it.
func tokenLasts(timeout time.Duration) time.Duration {
	if d := Deadline(timeout); d > 0 {
		return d
	}

	return unlimited
}

// grant creates the last Secret of the Pod, with the first token of the run. In contrast to the Secrets of the payload,
// this Secret changes: a Pod may wait longer than the lifetime of a token.
func (r *run) grant(ctx context.Context) error {
	if r.todo.Inputs.Kubernetes == nil || !r.renewal.IsZero() {
		return nil
	}

	if err := r.post(ctx, newSecret(r.todo, r.pod, secretsOf(r.pod)-1, nil)); err != nil {
		return err
	}

	return r.renew(ctx)
}

// renewDue renews the token of the run after a quarter of its lifetime.
func (r *run) renewDue(ctx context.Context) {
	if r.todo.Inputs.Kubernetes == nil || time.Now().Before(r.renewal) {
		return
	}

	if err := r.renew(ctx); err != nil {
		r.config.Log.Info("Cannot renew the token of a run, trying again", "pod", r.pod.Namespace+"/"+r.pod.Name,
			"error", err)
	}
}

// renew writes a new token into the Secret of the run. The token is bound to the Secret if the Secret is in the
// namespace of the ServiceAccount, as Kubernetes requires: then it becomes invalid at the end of the run.
func (r *run) renew(ctx context.Context) error {
	s, key := &corev1.Secret{}, client.ObjectKey{
		Namespace: r.pod.Namespace, Name: secretName(r.pod.Name, secretsOf(r.pod)-1),
	}
	if err := r.config.Client.Get(ctx, key, s); err != nil {
		return errors.Wrap(err, "cannot get the Secret with the token of the run")
	}

	if owner := metav1.GetControllerOf(s); owner == nil || owner.UID != r.pod.UID {
		return &refusal{errors.Errorf("Secret %s does not belong to this run", key)}
	}

	k := *r.todo.Inputs.Kubernetes

	var bound *corev1.Secret
	if k.Namespace == s.Namespace {
		bound = s
	}

	t, err := r.config.Cluster.Token(ctx, k, tokenLasts(r.todo.Timeout), bound)
	if err != nil {
		return err
	}

	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": s.UID},
		"data":     map[string][]byte{FileToken: []byte(t.Token)},
	})
	if err != nil {
		return errors.Wrap(err, "cannot encode the token of the run")
	}

	if err := r.config.Client.Patch(ctx, s, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return errors.Wrap(err, "cannot write the token of the run")
	}

	now := time.Now()
	r.renewal = now.Add(t.ExpirationTimestamp.Sub(now) / 4)

	return nil
}
