package runner

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// fakeCluster gives each run a kubeconfig with its secret.
type fakeCluster struct {
	err    error
	secret string
	closed int
}

func (c *fakeCluster) Open(_ Spec, secret string, rec *events.Recorder) (Access, error) {
	c.secret = secret
	rec.ReportKinds(c.Dependents(context.Background()))

	return c, c.err
}
func (c *fakeCluster) Kubeconfig() []byte { return []byte("token: " + c.secret + "\n") }
func (c *fakeCluster) Dependents(context.Context) []common.DependentKind {
	return []common.DependentKind{{Kind: "ConfigMap"}}
}
func (c *fakeCluster) Close() { c.closed++ }

// TestClusterEnv has a ProviderConfig that names another kubeconfig.
func TestClusterEnv(t *testing.T) {
	env := map[string]string{"K8S_AUTH_KUBECONFIG": "elsewhere"}
	clusterEnv(env, inputs.Inputs{Kubernetes: &inputs.Kubernetes{}, Env: maps.Clone(env)}, "/runs/r1")

	if diff := cmp.Diff(map[string]string{"K8S_AUTH_KUBECONFIG": "elsewhere", "KUBECONFIG": "/runs/r1/kubeconfig"}, env); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestRunCluster(t *testing.T) {
	t.Parallel()

	c := &fakeCluster{}
	r := newRunner(t, Options{Cluster: c})

	run := inline(`
- hosts: localhost
  gather_facts: false
  tasks:
  - ansible.builtin.set_stats: {data: {kubeconfig: "{{ lookup('file', lookup('env', 'K8S_AUTH_KUBECONFIG')) }}"}}
`)
	run.Inputs.Kubernetes = &inputs.Kubernetes{Namespace: "team-a", ServiceAccount: "deployer"}

	var told []common.DependentKind

	res, err := r.Run(t.Context(), run, events.Watch{Progress: func(s events.Summary) { told = s.Kinds }})
	needs.OK(t, err)

	if diff := cmp.Diff(common.Withheld{"kubeconfig": "a secret is in it"}, res.Summary.Withheld); res.Phase != common.PhaseSucceeded || diff != "" {
		t.Errorf("The run should find the kubeconfig, and no report show the secret: %s, -want withheld, +got:\n%s", res.Message, diff)
	}

	if diff := cmp.Diff(c.Dependents(t.Context()), told); diff != "" {
		t.Errorf("Progress should tell what the run has made so far: -want, +got:\n%s", diff)
	}

	if c.closed != 1 {
		t.Errorf("want the access closed once at the end of the run, got %d times", c.closed)
	}

	c.err = errors.New("there is no account")

	res, err = r.Run(t.Context(), run, events.Watch{})
	if !errors.Is(err, c.err) || !res.Untouched {
		t.Errorf("want an error and nothing run, got %+v, %v", res, err)
	}

	if res := must(t, newRunner(t), run); res.Reason != ReasonInvalidInputs || !strings.Contains(res.Message, "there is none here") {
		t.Errorf("Without a cluster the run should fail and say so, got %+v", res)
	}
}
