package config

import (
	"cmp"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// Execution returns where and how the runs of a configuration are carried out, with defaults filled in.
func (p Places) Execution(c common.Config) (common.Execution, error) {
	x := common.Execution{}
	if given := c.ConfigSpec().Execution; given != nil {
		x = *given.DeepCopy()
	}

	// Without a cluster there are no Pods.
	if p.Namespace == "" {
		return common.Execution{Content: x.Content}, nil
	}

	x.Place = cmp.Or(x.Place, p.Default, common.PlaceProvider)
	if x.Place == PodsOnly {
		x.Place = common.PlacePod
	}

	if x.Place != common.PlacePod {
		if p.Default == PodsOnly {
			return x, errors.New(
				"spec.execution.place: this provider carries out no runs itself (--place=PodsOnly); set it to Pod")
		}

		// The API server refuses these fields only if place is in the spec.
		if !reflect.DeepEqual(x, common.Execution{Place: x.Place}) {
			return x, errors.New(
				"spec.execution is about Pods, but runs are carried out in the provider (--place); set place to Pod, or leave " +
					"out all but place")
		}

		return x, nil
	}

	x.Namespace = p.namespace(c)
	x.Content = cmp.Or(x.Content, common.ContentInstall)

	if x.KeepFor == nil {
		x.KeepFor = &metav1.Duration{Duration: common.DefaultKeepFor}
	}

	return x, nil
}

// namespace of the Pods of a configuration, whatever their place.
func (p Places) namespace(c common.Config) string {
	given := ""
	if x := c.ConfigSpec().Execution; x != nil {
		given = x.Namespace
	}

	return cmp.Or(c.GetNamespace(), given, p.Namespace)
}
