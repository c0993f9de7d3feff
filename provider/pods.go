package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/yaml"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/config"
	"github.com/crossplane-ansible/crossplane-ansible/provider/controller"
	"github.com/crossplane-ansible/crossplane-ansible/provider/environ"
	"github.com/crossplane-ansible/crossplane-ansible/provider/kubeapi"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pods"
	"github.com/crossplane-ansible/crossplane-ansible/provider/rights"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
)

// places of runs, as the flags say.
func (c *startCommand) places() config.Places {
	p := config.Places{Default: c.Place, PodsOnly: c.Place == podsOnly, Namespace: c.Namespace}
	if p.PodsOnly {
		p.Default = common.PlacePod
	}

	return p
}

// pods returns the executor of runs in Pods.
func (c *startCommand) pods(ctx context.Context, mgr ctrl.Manager, api *kubeapi.API, key []byte,
	leads func() bool, log logging.Logger,
) (*pods.Executor, error) {
	// Its requests are bounded by the number of Pods, and their order matters little.
	cfg := rest.CopyConfig(mgr.GetConfig())
	cfg.QPS, cfg.Burst, cfg.RateLimiter = podRequests, 2*podRequests, nil

	kube, err := client.New(cfg, client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a client for Pods")
	}

	endpoint, err := kubeapi.EndpointOf(cfg)
	if err != nil {
		return nil, err
	}

	x, err := pods.New(pods.Config{
		Context:  ctx,
		REST:     cfg,
		Client:   kube,
		Own:      c.ownPod(kube),
		Template: c.PodTemplate,
		Args:     c.podArgs(),
		Env:      podEnv(os.Environ()),
		Cluster:  api,
		Endpoint: endpoint,
		Key:      key,
		Leads:    leads,
		Over: func(ctx context.Context, ref pods.ObjectReference) (bool, error) {
			// A cache that is behind would have Pods in progress deleted.
			return controller.Over(ctx, mgr.GetAPIReader(), ref)
		},
		Namespaces: func(ctx context.Context) ([]string, error) {
			all, err := controller.PodNamespaces(ctx, mgr.GetClient())
			if c.Place != common.PlaceProvider {
				all = append(all, c.Namespace)
			}

			return all, err
		},
		Log: log,
	})
	if err != nil {
		return nil, err
	}

	return x, errors.Wrap(mgr.Add(manager.RunnableFunc(x.Start)), "cannot look after Pods")
}

// podRequests per second for Pods, their Secrets and their logs, at most.
const podRequests = 500

// ownPod returns a function that tells what Pods take over from the provider's own one: its image,
// unless a flag names one, and the Secrets with which it is pulled. It is looked up when it is
// needed first: the rights for that may come later.
func (c *startCommand) ownPod(kube client.Client) func(context.Context) (pods.Own, error) {
	var (
		mu  sync.Mutex
		own = pods.Own{Image: c.PodImage}
	)

	return func(ctx context.Context) (pods.Own, error) {
		mu.Lock()
		defer mu.Unlock()

		if own.Image != "" {
			return own, nil
		}

		var err error
		own, err = c.findOwnPod(ctx, kube)

		return own, err
	}
}

// findOwnPod looks at the provider's own Pod. The error is a rights.Error if the provider may not.
func (c *startCommand) findOwnPod(ctx context.Context, kube client.Client) (pods.Own, error) {
	const advice = "name it with --pod-image"

	// A Pod's host has its name.
	host, err := os.Hostname()
	if err != nil {
		return pods.Own{}, errors.Wrap(err, "cannot find the name of the provider's own Pod; "+advice)
	}

	p := &corev1.Pod{}
	if err := kube.Get(ctx, types.NamespacedName{Namespace: c.Namespace, Name: host}, p); err != nil {
		if kerrors.IsForbidden(err) {
			lacking := rights.Check(ctx, kube, c.Namespace,
				rights.Role{
					Name: "provider-ansible-own-pod",
					File: "examples/operations/pods.yaml",
				}, []authorizationv1.ResourceAttributes{
					{Resource: "pods", Verb: "get", Name: host},
				})
			if errors.As(lacking, new(*rights.Error)) {
				return pods.Own{}, lacking
			}
		}

		return pods.Own{}, errors.Wrap(err, "cannot find out the image of the provider from its own Pod; "+advice)
	}

	for _, container := range p.Spec.Containers {
		if container.Name == runtimeContainer || len(p.Spec.Containers) == 1 {
			return pods.Own{Image: container.Image, Namespace: p.Namespace, PullSecrets: p.Spec.ImagePullSecrets}, nil
		}
	}

	return pods.Own{}, errors.Errorf("the provider's own Pod has no container %q whose image could be used; %s",
		runtimeContainer, advice)
}

// runtimeContainer is what Crossplane calls the container of a provider.
const runtimeContainer = "package-runtime"

// A podTemplate is a PodTemplateSpec in JSON; nil for none.
type podTemplate []byte

// UnmarshalText reads the file that the text names, in YAML or JSON.
func (t *podTemplate) UnmarshalText(file []byte) error {
	text, err := os.ReadFile(string(file))
	if err != nil {
		return errors.Wrap(err, "cannot read the template of Pods")
	}

	if err := yaml.UnmarshalStrict(text, &corev1.PodTemplateSpec{}); err != nil {
		return errors.Wrapf(err, "%s is no PodTemplateSpec", file)
	}

	*t, err = yaml.YAMLToJSON(text)

	return errors.Wrapf(err, "cannot read %s", file)
}

// podArgs are the flags that hold in Pods, too.
func (c *startCommand) podArgs() []string {
	mode := sandbox.BestEffort
	if c.Confinement == sandbox.Off {
		mode = sandbox.Off
	}

	return []string{
		fmt.Sprintf("--confinement=%s", mode),
		fmt.Sprintf("--max-timeout=%s", c.MaxTimeout),
		fmt.Sprintf("--content-ttl=%s", c.ContentTTL),
	}
}

// podEnv is the environment of Pods: how to reach the network.
func podEnv(own []string) []corev1.EnvVar {
	var env []corev1.EnvVar

	for _, kv := range environ.List(environ.Proxies(own)) {
		name, value, _ := strings.Cut(kv, "=")
		env = append(env, corev1.EnvVar{Name: name, Value: value})
	}

	return env
}
