// Package docs tests that the documentation is complete.
package docs

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// TestReference looks for every field of the provider's API in its reference.
func TestReference(t *testing.T) {
	text, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	// Words in code: `name`, `.name`, `lastRun.name`, or with a value: `name: value`.
	var documented []string
	for _, code := range regexp.MustCompile("`[^`\n]+`").FindAllString(string(text), -1) {
		documented = append(documented, regexp.MustCompile(`\w+`).FindAllString(code, -1)...)
	}

	files, err := filepath.Glob("../../package-provider/crds/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no CustomResourceDefinitions: %v", err)
	}
	for _, file := range files {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(b, crd); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(crd.Spec.Names.Kind, "Usage") {
			continue // Nobody writes or reads them.
		}
		for _, field := range fields(*crd.Spec.Versions[0].Schema.OpenAPIV3Schema, "") {
			// Crossplane's own documentation explains what is in these.
			if strings.HasPrefix(field, ".metadata") || strings.HasPrefix(field, ".status.conditions.") || slices.Contains(
				[]string{".apiVersion", ".kind", ".spec", ".status", ".status.observedGeneration", ".status.lastHandledReconcileAt"}, field) ||
				strings.Contains(field, "providerConfigRef.policy") || strings.Contains(field, ".writeConnectionSecretToRef.") {
				continue
			}
			name := field[strings.LastIndexByte(field, '.')+1:]
			if !slices.Contains(documented, name) {
				t.Errorf("docs/api.md should explain %s of %s.", field, crd.Spec.Names.Kind)
			}
		}
	}
}

// fields of a schema, with their paths.
func fields(s apiextensionsv1.JSONSchemaProps, path string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := path + "." + name
		out = append(out, p)
		out = append(out, fields(s.Properties[name], p)...)
	}
	if s.Items != nil && s.Items.Schema != nil {
		out = append(out, fields(*s.Items.Schema, path)...)
	}
	return out
}
