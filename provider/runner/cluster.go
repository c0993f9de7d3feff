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

// kubeconfigFile is the path of the kubeconfig in the private data directory.
const kubeconfigFile = "kubeconfig"

// A Cluster gives runs access to its API server.
type Cluster interface {
	// Open returns the access of a run, with the rights that the inputs of the run name. The processes of the run
	// authenticate with the secret. The recorder receives the status of the XR that the run sets, and the objects that
	// it makes.
	Open(run Spec, secret string, rec *events.Recorder) (Access, error)
}

// Access is the access of one run to an API server.
type Access interface {
	// Kubeconfig returns the kubeconfig for the processes of the run.
	Kubeconfig() []byte
	// Close ends the access.
	Close()
	// Dependents returns the kinds of objects that this run and earlier runs have made, with their present state if it is
	// known; nil if they are not watched.
	Dependents(ctx context.Context) []common.DependentKind
}

// noAccess is the Access of a run without spec.kubernetes.
type noAccess struct{}

func (noAccess) Kubeconfig() []byte { return nil }
func (noAccess) Close()             {}

func (noAccess) Dependents(context.Context) []common.DependentKind { return nil }

// open returns the access of a run to the API server, and adds the kubeconfig to the files of the plan.
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

// surveyTimeout limits the look-up of the objects that a run has made.
const surveyTimeout = 30 * time.Second

// dependents returns the kinds of objects that a run has made once it has ended. Objects that a run with state absent
// leaves are not watched.
func dependents(ctx context.Context, run Spec, a Access) []common.DependentKind {
	if run.State != common.StatePresent {
		return nil
	}

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), surveyTimeout)
	defer cancel()

	return a.Dependents(ctx)
}

// clusterEnv sets the variables with the path of the kubeconfig that modules, lookups, kubectl and helm read.
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

// loopbackEnv exempts this machine, where the access to the API server listens, from the proxies of the network. Python
// and curl read only one of the two variables if both are set.
func loopbackEnv(env map[string]string) {
	upper, lower := env["NO_PROXY"], env["no_proxy"]
	env["NO_PROXY"] = withLoopback(cmp.Or(upper, lower))
	env["no_proxy"] = withLoopback(cmp.Or(lower, upper))
}

// withLoopback adds this machine to a list of hosts without a proxy. An asterisk means all hosts only if it stands
// alone.
func withLoopback(hosts string) string {
	if strings.TrimSpace(hosts) == "*" {
		return hosts
	}

	return strings.TrimPrefix(hosts+",localhost,127.0.0.1", ",")
}
