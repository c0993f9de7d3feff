package config

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	clusterv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/cluster/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	namespacedv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
)

// A Tracker records with usages that AnsibleRuns use their configuration, so that the configuration is not deleted
// before them.
type Tracker struct {
	cluster    resource.LegacyTracker
	namespaced resource.ModernTracker
}

// NewTracker returns a Tracker for both groups.
func NewTracker(c client.Client) *Tracker {
	return &Tracker{
		cluster:    resource.NewLegacyProviderConfigUsageTracker(c, &clusterv1alpha1.ProviderConfigUsage{}),
		namespaced: resource.NewProviderConfigUsageTracker(c, &namespacedv1alpha1.ProviderConfigUsage{}),
	}
}

// Track records that the run uses its configuration.
func (t *Tracker) Track(ctx context.Context, run common.AnsibleRun) error {
	// The name is a label of the usage. The API server refuses configurations with a longer name.
	if _, key, err := target(run); err == nil && len(key.Name) > validation.LabelValueMaxLength {
		return errors.Errorf("spec.providerConfigRef.name must have at most %d characters: no configuration has a longer one",
			validation.LabelValueMaxLength)
	}

	var err error

	// A typed client leaves the kind of an object empty, and a usage must have it.
	switch run := run.(type) {
	case *clusterv1alpha1.AnsibleRun:
		run.SetGroupVersionKind(clusterv1alpha1.SchemeGroupVersion.WithKind(common.KindAnsibleRun))
		err = t.cluster.Track(ctx, run)
	case *namespacedv1alpha1.AnsibleRun:
		run.SetGroupVersionKind(namespacedv1alpha1.SchemeGroupVersion.WithKind(common.KindAnsibleRun))
		err = t.namespaced.Track(ctx, run)
	}

	return errors.Wrap(err, "cannot record the use of the ProviderConfig")
}
