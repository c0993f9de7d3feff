package config

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/providerconfig"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	clusterv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/cluster/v1alpha1"
	namespacedv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
)

// Kinds of configuration, of both groups. The two kinds of the namespaced group share a kind of usage.
func Kinds() []resource.ProviderConfigKinds {
	cluster, namespaced := clusterv1alpha1.SchemeGroupVersion, namespacedv1alpha1.SchemeGroupVersion

	return []resource.ProviderConfigKinds{
		kinds(cluster, kindProviderConfig), kinds(namespaced, kindProviderConfig),
		kinds(namespaced, kindClusterProviderConfig),
	}
}

func kinds(gv schema.GroupVersion, config string) resource.ProviderConfigKinds {
	return resource.ProviderConfigKinds{
		Config:    gv.WithKind(config),
		Usage:     gv.WithKind("ProviderConfigUsage"),
		UsageList: gv.WithKind("ProviderConfigUsageList"),
	}
}

// New returns an empty object of a kind in a scheme.
func New(k schema.GroupVersionKind, s *runtime.Scheme) client.Object {
	return resource.MustCreateObject(k, s).(client.Object) //nolint:forcetypeassert // All kinds here are objects.
}

// Setup adds two controllers for a kind of configuration. One counts the users of a configuration, and keeps it while
// it has users. The other shows which rights are missing; it ignores usages, which come and go with AnsibleRuns.
// Neither shares the workers of AnsibleRuns, many of which may use one configuration.
func Setup(mgr ctrl.Manager, k resource.ProviderConfigKinds, o controller.Options, lacking Lacking) error {
	name := providerconfig.ControllerName(k.Config.GroupKind().String())

	r := providerconfig.NewReconciler(mgr, k,
		providerconfig.WithLogger(o.Logger.WithValues("controller", name)),
		providerconfig.WithRecorder(event.NewAPIRecorder(mgr.GetEventRecorderFor(name)))) //nolint:staticcheck // event.NewAPIRecorder takes this type.

	err := ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(o.ForControllerRuntime()).
		For(New(k.Config, mgr.GetScheme())).
		Watches(New(k.Usage, mgr.GetScheme()), &resource.EnqueueRequestForProviderConfig{Kind: k.Config.Kind}).
		Complete(r)
	if err != nil {
		return err
	}

	return ctrl.NewControllerManagedBy(mgr).
		Named(name+"/rights").
		WithOptions(o.ForControllerRuntime()).
		For(New(k.Config, mgr.GetScheme()), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(&permitted{mgr.GetClient(), k.Config, lacking})
}
