// Package metadata_test looks at what registries and the package manager read.
package metadata_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

type metadata struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Crossplane struct {
			Version string `json:"version"`
		} `json:"crossplane"`
		Capabilities []string `json:"capabilities"`
	} `json:"spec"`
}

func TestMetadata(t *testing.T) {
	cases := map[string]struct {
		reason       string
		kind         string
		name         string
		capabilities []string
	}{
		"../package-function": {
			reason: "Core calls the function for Compositions and for Operations.",
			kind:   "Function", name: "function-ansible", capabilities: []string{"composition", "operation"},
		},
		"../package-provider": {
			reason: "The provider starts before its CRDs are there.",
			kind:   "Provider", name: "provider-ansible", capabilities: []string{"safe-start"},
		},
	}

	for dir, tc := range cases {
		t.Run(tc.kind, func(t *testing.T) {
			m := metadata{}
			needs.OK(t, yaml.UnmarshalStrict(read(t, dir, "crossplane.yaml"), &m))

			got := []any{m.APIVersion, m.Kind, m.Name, m.Spec.Capabilities, m.Spec.Crossplane.Version}
			want := []any{"meta.pkg.crossplane.io/v1", tc.kind, tc.name, tc.capabilities, ">=v2.0.2-0"}

			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}

			for _, a := range []string{"maintainer", "source", "license", "description", "readme"} {
				if m.Annotations["meta.crossplane.io/"+a] == "" {
					t.Errorf("registries show %s, and there is none", a)
				}
			}

			icon, ok := strings.CutPrefix(m.Annotations["meta.crossplane.io/iconURI"], "data:image/svg+xml;base64,")
			if !ok || icon != base64.StdEncoding.EncodeToString(read(t, dir, "icon.svg")) {
				t.Errorf("the icon is not icon.svg; make it with: base64 -w0 %s", filepath.Join(dir, "icon.svg"))
			}
		})
	}
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()

	b, err := os.ReadFile(filepath.Join(dir, name))
	needs.OK(t, err)

	return b
}
