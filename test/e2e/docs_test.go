package e2e

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-ansible/crossplane-ansible/package-function/input"
	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestDocumentation applies every manifest in the documentation, as far as the
// API server: what they refer to is not there.
func TestDocumentation(t *testing.T) {
	// Not in parallel: the policy of another test refuses Approvals in the name of others.
	files, err := filepath.Glob("../../docs/*.md")
	needs.OK(t, err)
	n := 0
	for _, file := range append(files, "../../README.md") {
		for _, u := range documented(t, file) {
			n++
			if err := cp.Kube.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("e2e"), client.ForceOwnership, client.DryRunAll); err != nil {
				t.Errorf("%s: %s %s: %s", filepath.Base(file), u.GetKind(), u.GetName(), err)
			}
		}
	}
	if n == 0 {
		t.Error("There should be manifests in the documentation.")
	}
}

// documented are the manifests in the YAML blocks of a file. A block that does not begin with the first line of a
// manifest shows a part of one. A list item indents its blocks.
func documented(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for _, m := range regexp.MustCompile("(?ms)^( *)```yaml\n(.*?)^ *```$").FindAllStringSubmatch(needs.Read(t, file), -1) {
		block := regexp.MustCompile("(?m)^"+m[1]).ReplaceAllString(m[2], "")
		if !strings.HasPrefix(block, "apiVersion: ") {
			continue
		}
		// Manifests may be templates for the tests; documentation is not.
		us, err := Parse(strings.NewReplacer("[[", `[["[["]]`).Replace(block), nil)
		if err != nil {
			t.Fatalf("%s: %s\n%s", file, err, block)
		}
		out = append(out, us...)
	}
	// Core does not serve what functions read, nor what the text invents.
	return slices.DeleteFunc(out, func(u *unstructured.Unstructured) bool {
		g := u.GroupVersionKind().Group
		return g == "ansible.fn.crossplane.io" || strings.HasSuffix(g, "example.org")
	})
}

// TestInput shows the schema of the function's input to the API server, which has limits of its own: before v2.2 core
// installs it.
func TestInput(t *testing.T) {
	t.Parallel()

	u := &unstructured.Unstructured{}
	needs.OK(t, yaml.Unmarshal(input.Schema, &u.Object))
	needs.OK(t, cp.Kube.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("e2e"), client.DryRunAll))
}
