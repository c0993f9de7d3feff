package e2e

// Configurations in the namespace of a test.
const (
	emptyConfig = `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: default}
spec: {}
---
`

	// siteConfig requires the collection site, from a repository.
	siteConfig = `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: default}
spec:
  requirements: |
    collections: [{name: "[[.Source]]", type: git, version: 1.0.0}]
---
`
)

// runData is what the manifests of AnsibleRuns are templates for.
type runData struct {
	Namespace, Directory, Source, Marker string
}
