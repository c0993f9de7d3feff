package config

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// Execution of the runs of a configuration, with its defaults filled in.
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

		// The API server refuses that only where the place is written out.
		if field := aboutPods(x); field != "" {
			return x, errors.Errorf(
				"spec.execution.%s: it is about Pods, but runs are carried out in the provider (--place); set place to Pod, or "+
					"leave it out", field)
		}

		return x, nil
	}

	if a := loosening(x.Annotations); a != "" && c.GetNamespace() != "" {
		return x, errors.Errorf(
			"spec.execution.annotations: %q may loosen the confinement of the Pod: only cluster scoped configurations may "+
				"have it", a)
	}

	x.Namespace = p.namespace(c)
	x.Content = cmp.Or(x.Content, common.ContentInstall)

	if x.KeepFor == nil {
		x.KeepFor = &metav1.Duration{Duration: common.DefaultKeepFor}
	}

	return x, nil
}

// namespace of the Pods of a configuration, whatever else it says.
func (p Places) namespace(c common.Config) string {
	given := ""
	if x := c.ConfigSpec().Execution; x != nil {
		given = x.Namespace
	}

	return cmp.Or(c.GetNamespace(), given, p.Namespace)
}

// loosening is an annotation with which a Pod leaves Pod Security's standard restricted; empty if there is
// none.
func loosening(annotations map[string]string) string {
	for _, a := range slices.Sorted(maps.Keys(annotations)) {
		switch domain, _, _ := strings.Cut(a, "/"); domain {
		// https://kubernetes.io/docs/reference/labels-annotations-taints/#container-apparmor-security-beta-kubernetes-io
		case "container.apparmor.security.beta.kubernetes.io", "seccomp.security.alpha.kubernetes.io",
			"container.seccomp.security.alpha.kubernetes.io":
			return a
		}
	}

	return ""
}

// aboutPods is the name of a field that only Pods have; empty if none is set.
func aboutPods(x common.Execution) string {
	v := reflect.ValueOf(x)

	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if name != "place" && !v.Field(i).IsZero() {
			return name
		}
	}

	return ""
}
