package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// lacking returns a function that returns the missing rights of the provider for runs of a configuration, as far as
// their namespace is known.
func (c *startCommand) lacking(kube client.Client, places config.Places) config.Lacking {
	own := pods.OwnOf(kube, c.Namespace, c.PodImage)

	return func(ctx context.Context, cfg common.Config) (string, error) {
		var checks []error

		// Runs report other errors of the configuration and of the provider's own Pod.
		if x, err := places.Execution(cfg); err == nil && x.Place == common.PlacePod {
			if _, err := own(ctx); rights.Lacks(err) {
				checks = append(checks, err)
			}

			checks = append(checks, pods.CheckRights(ctx, kube, x.Namespace))
		}

		if k := cfg.ConfigSpec().Kubernetes; k != nil {
			if namespace := cmp.Or(k.ServiceAccountRef.Namespace, cfg.GetNamespace()); namespace != "" {
				checks = append(checks, kubeapi.CheckRights(ctx, kube, namespace, k.ServiceAccountRef.Name))
			}
		}

		var missing []string

		for _, err := range checks {
			switch {
			case rights.Lacks(err):
				missing = append(missing, err.Error())
			case err != nil:
				return "", err
			}
		}

		return strings.Join(missing, "; "), nil
	}
}

// inPods returns the backend of runs in Pods.
func (c *startCommand) inPods(mgr ctrl.Manager, api *kubeapi.API, key []byte, leads func() bool, log logging.Logger,
) (*pods.Backend, error) {
	// Without a rate limit of its own: the number of Pods limits its requests, and the API server throttles them.
	cfg := rest.CopyConfig(mgr.GetConfig())
	cfg.QPS = -1

	kube, err := client.NewWithWatch(cfg, client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a client for Pods")
	}

	// Pods use the proxies of the provider.
	var env []corev1.EnvVar

	for _, kv := range environ.List(environ.Proxies(os.Environ())) {
		name, value, _ := strings.Cut(kv, "=")
		env = append(env, corev1.EnvVar{Name: name, Value: value})
	}

	x, err := pods.New(pods.Config{
		REST:     cfg,
		Client:   kube,
		Own:      pods.OwnOf(kube, c.Namespace, c.PodImage),
		Template: c.PodTemplate,
		Args:     c.podArgs(),
		Env:      env,
		Cluster:  api,
		Endpoint: api.Endpoint,
		Key:      key,
		Leads:    leads,
		Over: func(ctx context.Context, ref pods.ObjectReference) (bool, error) {
			// With an outdated cache, Pods in progress would be deleted.
			return controller.Over(ctx, mgr.GetAPIReader(), mgr.GetScheme(), ref)
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

	return x, errors.Wrap(mgr.Add(x), "cannot add the backend of Pods to the manager")
}

// podArgs returns the flags that also apply in Pods.
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
