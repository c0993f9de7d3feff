package crds

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	clusterv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/cluster/v1alpha1"
	namespacedv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
)

// TestReadable shows that the API server accepts nothing that the provider
// cannot read: one such object would keep it from listing all the others.
func TestReadable(t *testing.T) {
	cases := map[string]struct {
		reason string
		spec   string
		want   bool
	}{
		"Minutes": {
			reason: "A timeout is a duration as Go writes it.",
			spec:   `{"role": "a.b.c", "timeout": "1h30m"}`,
			want:   true,
		},
		"None": {
			reason: "Nothing is no timeout.",
			spec:   `{"role": "a.b.c", "timeout": "0s"}`,
			want:   true,
		},
		"Word": {
			reason: "A word is no duration.",
			spec:   `{"role": "a.b.c", "timeout": "soon"}`,
		},
		"Number": {
			reason: "A number has no unit.",
			spec:   `{"role": "a.b.c", "timeout": "20"}`,
		},
		"Days": {
			reason: "Go knows no days.",
			spec:   `{"role": "a.b.c", "timeout": "1d"}`,
		},
		"Overflow": {
			reason: "What no duration can hold is none.",
			spec:   `{"role": "a.b.c", "timeout": "99999999999h"}`,
		},
		"Negative": {
			reason: "Time does not run backwards.",
			spec:   `{"role": "a.b.c", "timeout": "-5m"}`,
		},
		"RetryLimit": {
			reason: "A number that does not fit into 32 bits is too large.",
			spec:   `{"role": "a.b.c", "retryLimit": 3000000000}`,
		},
		"RetryLimitScientific": {
			reason: "So is one that is written in another way.",
			spec:   `{"role": "a.b.c", "retryLimit": 3e9}`,
		},
	}

	for _, kind := range []struct {
		file string
		into func() any
	}{
		{"ansible.crossplane.io_ansibleruns.yaml", func() any { return &clusterv1alpha1.AnsibleRun{} }},
		{"ansible.m.crossplane.io_ansibleruns.yaml", func() any { return &namespacedv1alpha1.AnsibleRun{} }},
	} {
		accepts := schemaOf(t, kind.file)

		for name, tc := range cases {
			t.Run(kind.file+name, func(t *testing.T) {
				object := fmt.Appendf(nil, `{"spec": {"forProvider": %s}}`, tc.spec)

				errs := accepts(object)
				if diff := cmp.Diff(tc.want, len(errs) == 0); diff != "" {
					t.Errorf("\n%s\nThe API server accepts it: -want, +got:\n%s\n%v", tc.reason, diff, errs.ToAggregate())
				}

				if err := json.Unmarshal(object, kind.into()); len(errs) == 0 && err != nil {
					t.Errorf("\n%s\nThe API server accepts it, and the provider says: %v", tc.reason, err)
				}
			})
		}
	}
}

// schemaOf a CustomResourceDefinition validates objects as the API server does.
func schemaOf(t *testing.T, file string) func(object []byte) field.ErrorList {
	t.Helper()

	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(text, crd); err != nil {
		t.Fatal(err)
	}

	props := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, props, nil); err != nil {
		t.Fatal(err)
	}

	openAPI, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		t.Fatal(err)
	}

	structural, err := structuralschema.NewStructural(props)
	if err != nil {
		t.Fatal(err)
	}

	rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)

	return func(object []byte) field.ErrorList {
		var o map[string]any
		if err := utiljson.Unmarshal(object, &o); err != nil {
			t.Fatal(err)
		}

		errs := validation.ValidateCustomResource(nil, o, openAPI)
		more, _ := rules.Validate(context.Background(), nil, structural, o, nil, celconfig.RuntimeCELCostBudget)

		return append(errs, more...)
	}
}
