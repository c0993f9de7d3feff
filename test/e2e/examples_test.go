package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestExamples applies each example as it is, definitions first as their names
// or the order of kubectl want it, and waits for its XRs.
func TestExamples(t *testing.T) {
	t.Parallel()

	examples, err := filepath.Glob("../../examples/*/*composition.yaml")
	if err != nil || len(examples) == 0 {
		t.Fatalf("there are no examples: %v", err)
	}
	cp.Apply(t, "apiVersion: ansible.m.crossplane.io/v1alpha1\nkind: ClusterProviderConfig\nmetadata: {name: default}\nspec: {confinement: {writePaths: [/tmp/crossplane-ansible]}}\n", nil)

	for _, composition := range examples {
		dir := filepath.Dir(composition)
		if _, err := os.Stat(filepath.Join(dir, "README.md")); err == nil {
			continue // It needs hosts, and has a test of its own.
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			for _, o := range cp.Apply(t, manifestsIn(t, dir), nil) {
				if strings.HasPrefix(o.APIVersion, "example.org/") {
					cp.WaitFor(t, o, Condition("Ready", "True"), Condition("Synced", "True"), Condition("AnsibleRunsReady", "True"))
				}
			}
		})
	}
}

// manifestsIn a directory: definitions, then the rest but XRs, then those.
func manifestsIn(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	for _, part := range []string{"*definition.yaml", "xrd.yaml", "*composition.yaml", "*providerconfig.yaml", "xr.yaml", "*-site.yaml"} {
		files, err := filepath.Glob(filepath.Join(dir, part))
		needs.OK(t, err)
		for _, f := range files {
			all = append(all, needs.Read(t, f))
		}
	}
	return strings.Join(all, "\n---\n")
}
