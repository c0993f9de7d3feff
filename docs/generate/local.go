package main

import (
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// localDefinitions returns the generated definitions of what refers to Secrets and ConfigMaps of its own namespace. The
// Go types of both groups are the same; here the references have no namespace, as in all of Crossplane.
func localDefinitions(root string) (map[string]string, error) {
	files := map[string]string{}

	for _, kind := range []string{"ansibleruns", "providerconfigs"} {
		name := "package-provider/crds/ansible.m.crossplane.io_" + kind + ".yaml"

		text, err := os.ReadFile(filepath.Join(filepath.Clean(root), name))
		if err != nil {
			return nil, errors.Wrap(err, "cannot read a definition")
		}

		crd := map[string]any{}
		if err := yaml.Unmarshal(text, &crd); err != nil {
			return nil, errors.Wrapf(err, "cannot parse %s", name)
		}

		makeLocal(crd)

		text, err = yaml.Marshal(crd)
		if err != nil {
			return nil, errors.Wrapf(err, "cannot write %s", name)
		}

		files[name] = "---\n" + string(text)
	}

	return files, nil
}

// makeLocal takes the namespaces from the references in a schema.
func makeLocal(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range []string{"secretRef", "secretKeyRef", "configMapRef", "configMapKeyRef"} {
			unstructured.RemoveNestedField(v, name, "properties", "namespace")
		}

		for _, below := range v {
			makeLocal(below)
		}
	case []any:
		for _, item := range v {
			makeLocal(item)
		}
	}
}
