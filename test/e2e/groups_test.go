package e2e

import (
	"testing"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
)

// A scope is what differs between the groups of the API, as manifests need it:
//
//	apiVersion: [[.Group]]/v1alpha1
//	kind: AnsibleRun
//	metadata: {[[.Own]]name: name-[[.Namespace]]}
//	spec:
//	  providerConfigRef: {[[.Kind]]name: name-[[.Namespace]]}
//
// Names that have the namespace in them are unique among what is cluster scoped.
type scope struct {
	// Group of the API.
	Group string
	// Namespace of the test's own.
	Namespace string
	// Own is the namespace as metadata say it, Kind the kind of the configuration as
	// a reference says it; both empty for the cluster scoped group.
	Own, Kind string
}

// run is the AnsibleRun of a name in the group.
func (s scope) run(name string) Object {
	o := Object{APIVersion: s.Group + "/v1alpha1", Kind: "AnsibleRun", Name: name + "-" + s.Namespace}
	if s.Own != "" {
		o.Namespace = s.Namespace
	}
	return o
}

// scopes of both groups, each with a namespace of the test's own.
var scopes = map[string]func(t *testing.T) scope{
	"Cluster": func(t *testing.T) scope {
		t.Helper()
		return scope{Group: "ansible.crossplane.io", Namespace: cp.Namespace(t)}
	},
	"Namespaced": func(t *testing.T) scope {
		t.Helper()
		ns := cp.Namespace(t)
		return scope{Group: "ansible.m.crossplane.io", Namespace: ns, Own: "namespace: " + ns + ", ", Kind: "kind: ProviderConfig, "}
	},
}
