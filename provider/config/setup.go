package config

import (
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
	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	namespacedv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
)

// A Kind of configuration.
type Kind struct {
	resource.ProviderConfigKinds

	config common.Config
	usage  client.Object
	list   client.ObjectList
}

// Object of the kind, empty.
func (k Kind) Object() common.Config {
	c, _ := k.config.DeepCopyObject().(common.Config)

	return c
}

// List of the kind, empty.
func (k Kind) List() client.ObjectList {
	l, _ := k.list.DeepCopyObject().(client.ObjectList)

	return l
}

// Kinds of configuration, of both groups. One kind of usage serves both kinds of
// the namespaced group.
func Kinds() []Kind {
	cluster, namespaced := clusterv1alpha1.SchemeGroupVersion, namespacedv1alpha1.SchemeGroupVersion

	return []Kind{
		{
			kinds(cluster, "ProviderConfig"), &clusterv1alpha1.ProviderConfig{}, &clusterv1alpha1.ProviderConfigUsage{},
			&clusterv1alpha1.ProviderConfigList{},
		},
		{
			kinds(namespaced, "ProviderConfig"), &namespacedv1alpha1.ProviderConfig{}, &namespacedv1alpha1.ProviderConfigUsage{},
			&namespacedv1alpha1.ProviderConfigList{},
		},
		{
			kinds(namespaced, "ClusterProviderConfig"), &namespacedv1alpha1.ClusterProviderConfig{},
			&namespacedv1alpha1.ProviderConfigUsage{}, &namespacedv1alpha1.ClusterProviderConfigList{},
		},
	}
}

func kinds(gv schema.GroupVersion, config string) resource.ProviderConfigKinds {
	return resource.ProviderConfigKinds{
		Config:    gv.WithKind(config),
		Usage:     gv.WithKind("ProviderConfigUsage"),
		UsageList: gv.WithKind("ProviderConfigUsageList"),
	}
}

// Setup the reconcilers of a kind. One counts the users of a configuration, and keeps it for as long as there are any.
// The other shows which rights are missing, for which usages that come and go with runs are no reason. They take no
// turns from AnsibleRuns, of which many may use one configuration.
func Setup(mgr ctrl.Manager, k Kind, o controller.Options, lacking Lacking) error {
	name := providerconfig.ControllerName(k.Config.GroupKind().String())

	r := providerconfig.NewReconciler(mgr, k.ProviderConfigKinds,
		providerconfig.WithLogger(o.Logger.WithValues("controller", name)),
		providerconfig.WithRecorder(event.NewAPIRecorder(mgr.GetEventRecorderFor(name)))) //nolint:staticcheck // What event.NewAPIRecorder takes.

	err := ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(o.ForControllerRuntime()).
		For(k.config).
		Watches(k.usage, &resource.EnqueueRequestForProviderConfig{Kind: k.Config.Kind}).
		Complete(r)
	if err != nil {
		return err
	}

	return ctrl.NewControllerManagedBy(mgr).
		Named(name+"/rights").
		WithOptions(o.ForControllerRuntime()).
		For(k.config, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(&permitted{mgr.GetClient(), k, lacking})
}
