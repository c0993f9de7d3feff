package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// TestSecretsOfRuns checks that a run has a Secret if an expression refers to its connection details, for each kind of XR.
func TestSecretsOfRuns(t *testing.T) {
	const (
		reads = `{runs: [{name: app, role: a.b.c}], connectionDetails: [{name: a, value: "${runs.app.connectionDetails.a}"}]`
		set   = `{runs: [{name: app, role: a.b.c, forEach: "${xr.spec.zones}"}], connectionDetails: [{name: a, value: `
		other = `{runs: [{name: app, role: a.b.c}, {name: other, role: a.b.c, varFiles: [{source: SecretKey, secretKeyRef: {name: "${`
		xr    = `metadata: {name: a, namespace: default, uid: u1}, spec: {zones: [a, "B/c"]}`
	)

	cases := map[string]struct {
		reason string
		input  string
		xr     string
		// want has the references to Secrets by composition resource name.
		want map[string]string
		said string
	}{
		"Namespaced":  {reason: "The Secret of a namespaced run is in the namespace of the run.", input: reads + "}", xr: xr, want: map[string]string{"app": "map[name:u1-app]"}},
		"Unread":      {reason: "A run has no Secret if no expression refers to its connection details.", input: `{runs: [{name: app, role: a.b.c}], connectionDetails: [{name: a, value: "${runs.app.outputs.connectionless}"}]}`, xr: xr, want: map[string]string{"app": "<nil>"}},
		"Items":       {reason: "Each member has a Secret. A key that cannot be in its name is hashed.", input: set + `"${runs.app.map(k, runs.app[k].connectionDetails.a).join()}"}]}`, xr: xr, want: map[string]string{"app[a]": "map[name:u1-app.a]", "app[B/c]": "map[name:u1-caa865c791321b7814fec691d616e8f4]"}},
		"ItemsUnread": {reason: "A member has no Secret if expressions refer only to its outputs.", input: set + `"${runs.app.map(k, runs.app[k].outputs.a).join()}"}]}`, xr: xr, want: map[string]string{"app[a]": "<nil>", "app[B/c]": "<nil>"}},
		"OtherRun":    {reason: "A run has a Secret if another run refers to its name.", input: other + `runs.app.spec.writeConnectionSecretToRef.name}", key: a}}]}]}`, xr: xr, want: map[string]string{"app": "map[name:u1-app]"}},
		"Local":       {reason: "A run has a Secret if a local refers to its name.", input: other + `locals.secret}", key: a}}]}], locals: {secret: "${runs.app.spec.writeConnectionSecretToRef.name}"}}`, xr: xr, want: map[string]string{"app": "map[name:u1-app]"}},
		"ClusterScoped": {
			reason: "The Secret of a run of a cluster-scoped XR is in the namespace of connectionSecret.", input: reads + ", connectionSecret: {namespace: secrets}}",
			xr: `metadata: {name: a, uid: u1}, spec: {crossplane: {}}`, want: map[string]string{"app": "map[name:u1-app namespace:secrets]"},
		},
		"Legacy": {
			reason: "The Secret of a run of a legacy XR is in the namespace of connectionSecret, and not in one of the XR's choice.", input: reads + ", connectionSecret: {namespace: secrets}}",
			xr: `metadata: {name: a, uid: u1}, spec: {compositionRef: {name: x}, writeConnectionSecretToRef: {namespace: theirs, name: b}}`, want: map[string]string{"app": "map[name:u1-app namespace:secrets]"},
		},
		"Nowhere": {
			reason: "Without connectionSecret.namespace a cluster-scoped run with a Secret is a mistake.", input: reads + "}",
			xr:   `metadata: {name: a, uid: u1}, spec: {compositionRef: {name: x}, writeConnectionSecretToRef: {namespace: theirs, name: b}}`,
			want: map[string]string{}, said: "connectionSecret.namespace: Required value: the cluster-scoped run app has a Secret for the connection details that an expression reads, and that Secret needs a namespace",
		},
		"NamespacedRun": {
			reason: "The Secret of a namespaced run of a cluster-scoped XR is in the namespace of the run.", input: strings.Replace(reads, "role: a.b.c", "role: a.b.c, namespace: shop", 1) + "}",
			xr: `metadata: {name: a, uid: u1}, spec: {crossplane: {}}`, want: map[string]string{"app": "map[name:u1-app]"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := step{xr: "apiVersion: example.org/v1, kind: App, " + tc.xr}.request(t)
			req.Input = request(t, "input: {apiVersion: ansible.fn.crossplane.io/v1alpha1, kind: AnsibleRuns, "+strings.TrimPrefix(tc.input, "{")).GetInput()

			rsp := respond(t, req)

			got := map[string]string{}

			delete(rsp.GetDesired().GetResources(), "connection-details")

			for resource, r := range rsp.GetDesired().GetResources() {
				got[resource] = fmt.Sprint(manifest.Nested(r.GetResource().AsMap(), "spec", "writeConnectionSecretToRef"))
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nRunFunction(...): -want Secrets, +got Secrets:\n%s\n%v", tc.reason, diff, rsp.GetConditions())
			}

			if said := said(rsp); !strings.Contains(said, tc.said) {
				t.Errorf("\n%s\nRunFunction(...): want %q, got %q", tc.reason, tc.said, said)
			}
		})
	}
}

// TestConnectionSecretName checks that a new Secret with the connection details of an XR has the name in the
// Composition, and that an existing one keeps its name.
func TestConnectionSecretName(t *testing.T) {
	// exists is an observed Secret.
	const exists = `connection-details: {resource: {apiVersion: v1, kind: Secret, metadata: {name: old, namespace: %s}, type: connection.crossplane.io/v1alpha1}}`

	cases := map[string]struct {
		reason                      string
		secret, metadata, resources string
		want, fail                  string
	}{
		"Default":       {reason: "By default, the name of the Secret is that of the XR with -connection.", metadata: ", namespace: default", want: "{name: app-connection}"},
		"Namespaced":    {reason: "The Secret of a namespaced XR can have the name of the XR.", secret: `name: "${xr.metadata.name}"`, metadata: ", namespace: default", want: "{name: app}"},
		"ClusterScoped": {reason: "The Secret of a cluster-scoped XR must have more than the name of the XR.", secret: `namespace: secrets, name: "admin-${xr.metadata.name}"`, want: "{name: admin-app, namespace: secrets}"},
		"Unique":        {reason: "The UID of an XR is unique.", secret: `namespace: secrets, name: "${xr.metadata.uid}"`, want: "{name: u1, namespace: secrets}"},
		"Exists":        {reason: "An existing Secret keeps its name.", secret: `namespace: secrets, name: "${xr.metadata.uid}"`, resources: fmt.Sprintf(exists, "secrets"), want: "{name: old, namespace: secrets}"},
		"Stays":         {reason: "An existing Secret stays when connectionSecret is removed from the Composition.", resources: fmt.Sprintf(exists, "secrets"), want: "{name: old, namespace: secrets}"},
		"Literal":       {reason: "A literal name would be that of all XRs.", secret: `name: admin`, metadata: ", namespace: default", fail: "must hold what is the XR's own"},
		"Chosen":        {reason: "The author of an XR must not choose the name of the Secret.", secret: `name: "${xr.metadata.name}-${xr.spec.a}"`, metadata: ", namespace: default", fail: "must hold what is the XR's own"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := step{
				runs: "[{name: app}]", input: "connectionDetails: [{name: a, value: b}]\nconnectionSecret: {" + tc.secret + "}", observed: "{" + tc.resources + "}",
				xr: "apiVersion: example.org/v1, kind: App, metadata: {name: app, uid: u1" + tc.metadata + "}, spec: {crossplane: {}}",
			}.respond(t)

			if tc.fail != "" {
				if got := said(rsp); !strings.Contains(got, tc.fail) {
					t.Errorf("\n%s\nRunFunction(...): want a mistake, got %s", tc.reason, got)
				}

				return
			}

			metadata := manifest.Nested(rsp.GetDesired().GetResources()["connection-details"].GetResource().AsMap(), "metadata")
			if diff := cmp.Diff(any(object(t, tc.want)), metadata); diff != "" {
				t.Errorf("\n%s\nRunFunction(...): -want metadata, +got metadata:\n%s", tc.reason, diff)
			}
		})
	}
}
