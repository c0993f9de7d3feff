package config

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/test"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	clusterv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/cluster/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	namespacedv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestTrack(t *testing.T) {
	cluster := &clusterv1alpha1.AnsibleRun{ObjectMeta: metav1.ObjectMeta{Name: "run", UID: "u"}}
	cluster.SetProviderConfigReference(&xpv2.Reference{Name: "default"})

	namespaced := &namespacedv1alpha1.AnsibleRun{ObjectMeta: metav1.ObjectMeta{Name: "run", Namespace: "team", UID: "u"}}
	namespaced.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: kindClusterProviderConfig, Name: "default"})

	long := namespaced.DeepCopy()
	long.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: kindProviderConfig, Name: strings.Repeat("a", 64)})

	for name, tc := range map[string]struct {
		reason string
		run    common.AnsibleRun
		want   client.Object
		err    string
	}{
		"Cluster": {
			reason: "The usage has the run's API group, and names the run's kind even if the client left it out.",
			run:    cluster,
			want: &clusterv1alpha1.ProviderConfigUsage{
				ProviderConfigUsage: xpv2.ProviderConfigUsage{
					ProviderConfigReference: xpv2.Reference{Name: "default"},
					ResourceReference:       xpv2.TypedReference{APIVersion: "ansible.crossplane.io/v1alpha1", Kind: "AnsibleRun", Name: "run"},
				},
			},
		},
		"Namespaced": {
			reason: "The usage of a ClusterProviderConfig is in the run's namespace.",
			run:    namespaced,
			want: &namespacedv1alpha1.ProviderConfigUsage{
				TypedProviderConfigUsage: xpv2.TypedProviderConfigUsage{
					ProviderConfigReference: xpv2.ProviderConfigReference{Kind: kindClusterProviderConfig, Name: "default"},
					ResourceReference:       xpv2.TypedReference{APIVersion: "ansible.m.crossplane.io/v1alpha1", Kind: "AnsibleRun", Name: "run"},
				},
			},
		},
		"NoReference": {
			reason: "A run that refers to no configuration uses none.",
			run:    &clusterv1alpha1.AnsibleRun{}, err: "cannot record the use of the ProviderConfig: ",
		},
		"LongName": {
			reason: "The API server would refuse the label of the usage.",
			run:    long, err: "spec.providerConfigRef.name must have at most 63 characters: no configuration has a longer one",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got client.Object

			c := &test.MockClient{
				MockGet: test.NewMockGetFn(kerrors.NewNotFound(schema.GroupResource{}, "u")),
				MockCreate: func(_ context.Context, o client.Object, _ ...client.CreateOption) error {
					got = o

					return nil
				},
			}

			err := NewTracker(c).Track(t.Context(), tc.run)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s\nTrack(...): want error %q, got %v", tc.reason, tc.err, err)
				}

				return
			}

			needs.OK(t, err)

			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreTypes(metav1.ObjectMeta{})); diff != "" {
				t.Errorf("\n%s\nTrack(...): -want, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.run.GetNamespace(), got.GetNamespace()); diff != "" {
				t.Errorf("\n%s\nTrack(...): -want namespace, +got namespace:\n%s", tc.reason, diff)
			}
		})
	}
}
