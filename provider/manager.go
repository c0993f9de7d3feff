package main

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/customresourcesgate"

	clusterv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/cluster/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	namespacedv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/config"
)

// manager returns the controller manager, and the lease for its leader election.
func (c *startCommand) manager() (ctrl.Manager, *lease, error) {
	scheme := runtime.NewScheme()

	types := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme,
		clusterv1alpha1.AddToScheme, namespacedv1alpha1.AddToScheme)
	utilruntime.Must(types.AddToScheme(scheme))

	cfg, err := ctrl.GetConfig()
	if err != nil {
		return nil, nil, errors.Wrap(err, "cannot find the API server")
	}

	cfg = ratelimiter.LimitRESTConfig(cfg, c.MaxReconcileRate)

	lease, err := newLease(cfg, c.Namespace)
	if err != nil {
		return nil, nil, err
	}

	// Each warning is logged once: Kubernetes warns about the finalizer of every object of Crossplane.
	cfg.WarningHandlerWithContext = ctrllog.NewKubeAPIWarningLogger(ctrllog.KubeAPIWarningLoggerOptions{Deduplicate: true})

	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme,
		Cache:  cacheOptions(),
		// Secrets and ConfigMaps are read from the API server, and not cached.
		Client: client.Options{
			Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}},
		},
		Metrics:                             metricsserver.Options{BindAddress: c.MetricsBindAddress},
		HealthProbeBindAddress:              c.HealthProbeBindAddress,
		LeaderElection:                      c.LeaderElection,
		LeaderElectionID:                    leaseName, // The name in its metric.
		LeaderElectionResourceLockInterface: lease,
		LeaderElectionReleaseOnCancel:       true,
		LeaseDuration:                       new(leaseDuration),
		RenewDeadline:                       new(renewDeadline),
		RetryPeriod:                         new(renewPeriod),
		GracefulShutdownTimeout:             new(stopGrace),
	})
	if err != nil {
		return nil, nil, errors.Wrap(err, "cannot create the controller manager")
	}

	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, nil, errors.Wrap(err, "cannot serve /healthz")
	}

	return mgr, lease, nil
}

// cacheOptions returns options that strip watched objects in memory. Managed fields are about as large as the rest of
// an object, and only used for Approvals, where they tell whether Crossplane has made them. An update without managed
// fields does not change them.
func cacheOptions() cache.Options {
	strip := cache.TransformStripManagedFields()

	return cache.Options{
		DefaultTransform: func(o any) (any, error) {
			if _, ok := o.(common.Approval); ok {
				return o, nil
			}

			return strip(o)
		},
		ByObject: map[client.Object]cache.ByObject{
			&apiextensionsv1.CustomResourceDefinition{}: {Transform: customresourcesgate.TransformStripCRDSchema},
			&corev1.Secret{}:    {Transform: config.NameOnly},
			&corev1.ConfigMap{}: {Transform: config.NameOnly},
		},
	}
}
