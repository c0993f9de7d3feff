package pods

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

func TestPullSecrets(t *testing.T) {
	secrets := func(names ...string) []corev1.LocalObjectReference {
		var all []corev1.LocalObjectReference
		for _, n := range names {
			all = append(all, corev1.LocalObjectReference{Name: n})
		}

		return all
	}

	cases := map[string]struct {
		reason    string
		namespace string
		own       Own
		want      []corev1.LocalObjectReference
	}{
		"Same":    {"Pods in the provider's namespace pull its image as the provider does.", "system", Own{Namespace: "system", PullSecrets: secrets("both", "provider")}, secrets("both", "provider")},
		"Other":   {"In other namespaces there are no such Secrets.", "team", Own{Namespace: "system", PullSecrets: secrets("provider")}, secrets("both")},
		"Unknown": {"Of an image that a flag names, nothing more is known.", "system", Own{}, secrets("both")},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			j := runs.Run{Spec: fill(t).Spec}
			j.Inputs.Execution.Namespace, j.Inputs.Execution.ImagePullSecrets = tc.namespace, secrets("both")

			template, err := (&Backend{}).template(j, tc.own, 1)
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(tc.want, template.Spec.ImagePullSecrets); diff != "" {
				t.Errorf("%s\ntemplate(...): -want pull secrets, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
