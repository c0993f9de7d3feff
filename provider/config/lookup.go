package config

import (
	"context"
	"fmt"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	clusterv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/cluster/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	namespacedv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
)

// Kinds of configuration that a namespaced AnsibleRun may refer to.
const (
	kindProviderConfig        = "ProviderConfig"
	kindClusterProviderConfig = "ClusterProviderConfig"
)

// lookup returns the configuration that the run refers to.
func lookup(ctx context.Context, r Reader, run common.AnsibleRun) (common.Config, error) {
	c, key, err := target(run)
	if err != nil {
		return nil, errors.Wrap(err, "spec.providerConfigRef")
	}

	err = r.Get(ctx, key, c)
	if kerrors.IsNotFound(err) {
		return nil, missing("spec.providerConfigRef: %s not found", describe(c, key))
	}

	if err != nil {
		return nil, errors.Wrapf(err, "cannot get %s", describe(c, key))
	}

	return c, nil
}

// target returns the configuration that the run refers to, as an empty object, and its name.
func target(run common.AnsibleRun) (common.Config, types.NamespacedName, error) {
	switch mg := run.(type) {
	case resource.LegacyManaged:
		ref := mg.GetProviderConfigReference()
		if ref == nil || ref.Name == "" {
			return nil, types.NamespacedName{}, errors.New("must name a ProviderConfig")
		}

		return &clusterv1alpha1.ProviderConfig{}, types.NamespacedName{Name: ref.Name}, nil
	case resource.ModernManaged:
		ref := mg.GetProviderConfigReference()
		if ref == nil || ref.Name == "" {
			return nil, types.NamespacedName{}, errors.New("must name a ProviderConfig or a ClusterProviderConfig")
		}

		switch ref.Kind {
		case kindProviderConfig:
			return &namespacedv1alpha1.ProviderConfig{}, types.NamespacedName{Namespace: run.GetNamespace(), Name: ref.Name}, nil
		case kindClusterProviderConfig:
			return &namespacedv1alpha1.ClusterProviderConfig{}, types.NamespacedName{Name: ref.Name}, nil
		}

		return nil, types.NamespacedName{}, errors.Errorf("kind must be %s or %s, not %q", kindProviderConfig,
			kindClusterProviderConfig, ref.Kind)
	}

	return nil, types.NamespacedName{}, errors.Errorf("cannot use a %T", run)
}

// describe returns the kind and the name of a configuration for error messages.
func describe(c common.Config, key types.NamespacedName) string {
	return fmt.Sprintf("%s %q", kindOf(c), name(key))
}

func kindOf(c common.Config) string {
	if _, ok := c.(*namespacedv1alpha1.ClusterProviderConfig); ok {
		return kindClusterProviderConfig
	}

	return kindProviderConfig
}

// name returns the name of an object, with its namespace if it has one.
func name(key types.NamespacedName) string {
	if key.Namespace == "" {
		return key.Name
	}

	return key.String()
}
