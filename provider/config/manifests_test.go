package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

func TestManifestsAdd(t *testing.T) {
	cases := map[string]struct {
		reason string
		docs   []string
		want   string
	}{
		"Empty": {
			reason: "Empty documents and comments are nothing.",
			docs:   []string{"---\n# nothing\n---\n"},
		},
		"UnknownField": {
			reason: "A misspelt field is not ignored.",
			docs:   []string{clusterConfig, clusterRun + "spec: {forProvider: {rolle: a.b}}"},
			want:   `run.yaml, document 1: cannot decode the object: strict decoding error: unknown field "spec.forProvider.rolle"`,
		},
		"OtherKind": {
			reason: "Objects that nothing reads are not ignored.",
			docs:   []string{"apiVersion: v1\nkind: Pod\nmetadata: {name: x}"},
			want:   "run.yaml, document 1: /v1, Kind=Pod: must be an AnsibleRun, ProviderConfig, ClusterProviderConfig, Secret or ConfigMap",
		},
		"Twice": {
			reason: "Which of two objects is meant, nobody can tell.",
			docs:   []string{clusterConfig + "---" + clusterConfig},
			want:   `run.yaml, document 2: ProviderConfig "default" is there already`,
		},
		"NoName": {
			reason: "An object needs a name to be referred to.",
			docs:   []string{"apiVersion: v1\nkind: Secret"},
			want:   "run.yaml, document 1: /v1, Kind=Secret: metadata.name must be set",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m, err := NewManifests()
			if err != nil {
				t.Fatal(err)
			}

			got := ""

			for _, d := range tc.docs {
				if err := m.Add("run.yaml", []byte(d)); err != nil {
					got = err.Error()
				}
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nAdd(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestManifestsGet(t *testing.T) {
	m := manifests(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {k: djE=, l: djI=}\nstringData: {k: v3}")
	key := types.NamespacedName{Namespace: "default", Name: "a"}

	s := &corev1.Secret{}
	if err := m.Get(t.Context(), key, s); err != nil {
		t.Fatal(err)
	}

	want := map[string][]byte{"k": []byte("v3"), "l": []byte("v2")}
	if diff := cmp.Diff(want, s.Data); diff != "" {
		t.Errorf("\nstringData wins over data, and the namespace is the default one.\nGet(...): -want, +got:\n%s", diff)
	}

	s.Data["k"][0] = 'x'

	again := &corev1.Secret{}
	if err := m.Get(t.Context(), key, again); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(want, again.Data); diff != "" {
		t.Errorf("\nWhat is read is a copy.\nGet(...): -want, +got:\n%s", diff)
	}

	if err := m.Get(t.Context(), key, &corev1.ConfigMap{}); !kerrors.IsNotFound(err) {
		t.Errorf("\nOther kinds are other objects.\nGet(...): want not found, got %v", err)
	}
}
