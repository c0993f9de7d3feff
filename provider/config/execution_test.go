package config

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	namespacedv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestExecution(t *testing.T) {
	in := func(x *common.Execution) common.Config {
		c := &namespacedv1alpha1.ProviderConfig{Spec: common.ProviderConfigSpec{Execution: x}}
		c.Namespace = "team-a"

		return c
	}
	cluster := func(x *common.Execution) common.Config {
		return &namespacedv1alpha1.ClusterProviderConfig{Spec: common.ProviderConfigSpec{Execution: x}}
	}

	flags, kept := Places{Default: common.PlaceProvider, Namespace: "jobs"}, 10*time.Minute
	pod := func(namespace, image string, content common.ContentSource, keepFor time.Duration) common.Execution {
		return common.Execution{Place: common.PlacePod, Namespace: namespace, Image: image, Content: content, KeepFor: &metav1.Duration{Duration: keepFor}}
	}

	for name, tc := range map[string]struct {
		reason string
		places Places
		config common.Config
		want   common.Execution
		err    string
	}{
		"NoCluster": {"Without a cluster the run is carried out here, whatever the configuration says.", Places{}, in(&common.Execution{Place: common.PlacePod, Image: "x"}), common.Execution{}, ""},
		"Default":   {"A configuration that says nothing has the place of the flag.", flags, in(nil), common.Execution{Place: common.PlaceProvider}, ""},
		"ImageByFlag": {
			"Fields about Pods are an error if the flag places runs in the provider.",
			flags, in(&common.Execution{Image: "x"}),
			common.Execution{},
			"spec.execution is about Pods, but runs are carried out in the provider (--place); set place to Pod, or leave out all but place",
		},
		"Pod":       {"The Pods of a namespace's configuration are in that namespace.", flags, in(&common.Execution{Place: common.PlacePod, Image: "x"}), pod("team-a", "x", common.ContentInstall, kept), ""},
		"PodByFlag": {"The Pods of a cluster scoped configuration are in the namespace of the flag.", Places{Default: common.PlacePod, Namespace: "jobs"}, cluster(nil), pod("jobs", "", common.ContentInstall, kept), ""},
		"Namespace": {
			"A cluster scoped configuration may name the namespace of its Pods.",
			flags, cluster(&common.Execution{Place: common.PlacePod, Namespace: "own", Content: common.ContentImage, KeepFor: &metav1.Duration{}}),
			pod("own", "", common.ContentImage, 0), "",
		},
		"PodsOnly": {
			"A provider may refuse to carry out runs itself.",
			Places{Default: PodsOnly, Namespace: "jobs"},
			in(&common.Execution{Place: common.PlaceProvider}),
			common.Execution{},
			"spec.execution.place: this provider carries out no runs itself (--place=PodsOnly); set it to Pod",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.places.Execution(tc.config)
			if diff := cmp.Diff(tc.err, needs.Message(err)); diff != "" {
				t.Errorf("\n%s\nexecution(...): -want error, +got error:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.want, got); diff != "" && err == nil {
				t.Errorf("\n%s\nexecution(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestOwner checks the owner of Pods that are in another namespace than their object.
func TestOwner(t *testing.T) {
	want := &metav1.OwnerReference{
		APIVersion: "ansible.m.crossplane.io/v1alpha1", Kind: "ClusterProviderConfig", Name: "c", UID: "u", Controller: new(true),
	}
	if diff := cmp.Diff(want, owner(&namespacedv1alpha1.ClusterProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "u"}})); diff != "" {
		t.Errorf("owner(...): -want, +got:\n%s", diff)
	}

	if got := owner(&namespacedv1alpha1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "c"}}); got != nil {
		t.Errorf("A configuration in a namespace should not own Pods: %v", got)
	}
}
