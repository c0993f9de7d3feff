package runner

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// kubeconfigFile is where a run finds how it reaches the API server.
const kubeconfigFile = "kubeconfig"

// A Cluster opens ways to its API server.
type Cluster interface {
	// Open a way for a run that shows a secret, with the rights that the inputs of the run name. What the run says by it
	// is recorded: what it sets of the status of its XR, and what it makes.
	Open(run Spec, secret string, rec *events.Recorder) (Access, error)
}

// Access to an API server, for one run.
type Access interface {
	// Kubeconfig with which the processes of the run reach it.
	Kubeconfig() []byte
	// Close the way.
	Close()
	// Dependents are the kinds of objects that the run and earlier ones have made, with their present
	// state if it is known; nil if they are not watched.
	Dependents(ctx context.Context) []common.DependentKind
}

// noAccess is that of a run that has none.
type noAccess struct{}

func (noAccess) Kubeconfig() []byte { return nil }
func (noAccess) Close()             {}

func (noAccess) Dependents(context.Context) []common.DependentKind { return nil }

// open the way to the API server that a run has, and add the kubeconfig to its files.
func (r *Runner) open(run Spec, secret string, rec *events.Recorder, p *plan) (Access, error) {
	if run.Inputs.Kubernetes == nil {
		return noAccess{}, nil
	}

	a, err := r.Cluster.Open(run, secret, rec)
	if err != nil {
		return nil, errors.Wrap(err, run.Inputs.Config)
	}

	p.Files = append(p.Files, file{Path: kubeconfigFile, Data: a.Kubeconfig()})

	return a, nil
}

// surveyTimeout of what a run has made.
const surveyTimeout = 30 * time.Second

// dependents of a run that has ended. What a run with state absent leaves is not watched.
func dependents(ctx context.Context, run Spec, a Access) []common.DependentKind {
	if run.State != common.StatePresent {
		return nil
	}

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), surveyTimeout)
	defer cancel()

	return a.Dependents(ctx)
}

// clusterEnv sets what modules, lookups, kubectl and helm find the API server by.
func clusterEnv(env map[string]string, in inputs.Inputs, dir string) {
	if in.Kubernetes == nil {
		return
	}

	for _, name := range []string{"K8S_AUTH_KUBECONFIG", "KUBECONFIG"} {
		if _, set := in.ForPlay()[name]; !set {
			env[name] = filepath.Join(dir, kubeconfigFile)
		}
	}
}

// loopbackEnv has programs reach what listens on this machine by no proxy of the network: the way to the API server.
// Python and curl read only one of the two variables if both are set.
func loopbackEnv(env map[string]string) {
	upper, lower := env["NO_PROXY"], env["no_proxy"]
	env["NO_PROXY"] = withLoopback(cmp.Or(upper, lower))
	env["no_proxy"] = withLoopback(cmp.Or(lower, upper))
}

// withLoopback adds this machine to hosts that are reached by no proxy. An asterisk means all hosts only
// as long as it stands alone.
func withLoopback(hosts string) string {
	if strings.TrimSpace(hosts) == "*" {
		return hosts
	}

	return strings.TrimPrefix(hosts+",localhost,127.0.0.1", ",")
}
