package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// A run has a Secret of its own where an expression refers to its connection details, whatever kind of XR it is of.
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
		// want references to Secrets, by composed resource.
		want map[string]string
		said string
	}{
		"Namespaced":  {reason: "It is in the namespace of the run.", input: reads + "}", xr: xr, want: map[string]string{"app": "map[name:u1-app]"}},
		"Unread":      {reason: "A run to which no expression refers so has none.", input: `{runs: [{name: app, role: a.b.c}], connectionDetails: [{name: a, value: "${runs.app.outputs.connectionless}"}]}`, xr: xr, want: map[string]string{"app": "<nil>"}},
		"Items":       {reason: "So has each item. What cannot be in a name is hashed.", input: set + `"${runs.app.map(k, runs.app[k].connectionDetails.a).join()}"}]}`, xr: xr, want: map[string]string{"app[a]": "map[name:u1-app.a]", "app[B/c]": "map[name:u1-caa865c791321b7814fec691d616e8f4]"}},
		"ItemsUnread": {reason: "Other values of items need none.", input: set + `"${runs.app.map(k, runs.app[k].outputs.a).join()}"}]}`, xr: xr, want: map[string]string{"app[a]": "<nil>", "app[B/c]": "<nil>"}},
		"OtherRun":    {reason: "Another run may read the Secret.", input: other + `runs.app.spec.writeConnectionSecretToRef.name}", key: a}}]}]}`, xr: xr, want: map[string]string{"app": "map[name:u1-app]"}},
		"Local":       {reason: "Also by a local.", input: other + `locals.secret}", key: a}}]}], locals: {secret: "${runs.app.spec.writeConnectionSecretToRef.name}"}}`, xr: xr, want: map[string]string{"app": "map[name:u1-app]"}},
		"ClusterScoped": {
			reason: "That of a cluster-scoped XR is where the XR's own is.", input: reads + ", connectionSecret: {namespace: secrets}}",
			xr: `metadata: {name: a, uid: u1}, spec: {crossplane: {}}`, want: map[string]string{"app": "map[name:u1-app namespace:secrets]"},
		},
		"Legacy": {
			reason: "So is that of a legacy XR, whatever its author writes.", input: reads + ", connectionSecret: {namespace: secrets}}",
			xr: `metadata: {name: a, uid: u1}, spec: {compositionRef: {name: x}, writeConnectionSecretToRef: {namespace: theirs, name: b}}`, want: map[string]string{"app": "map[name:u1-app namespace:secrets]"},
		},
		"Nowhere": {
			reason: "The author of an XR chooses no namespace for Secrets.", input: reads + "}",
			xr:   `metadata: {name: a, uid: u1}, spec: {compositionRef: {name: x}, writeConnectionSecretToRef: {namespace: theirs, name: b}}`,
			want: map[string]string{}, said: "connectionSecret.namespace: Required value: the cluster-scoped run app has a Secret for the connection details that an expression reads, and that Secret needs a namespace",
		},
		"NamespacedRun": {
			reason: "A namespaced run of a cluster-scoped XR has it beside it.", input: strings.Replace(reads, "role: a.b.c", "role: a.b.c, namespace: shop", 1) + "}",
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

// The Secret with the connection details of an XR has the name that the
// Composition gives it, and keeps the one that it has.
func TestConnectionSecretName(t *testing.T) {
	// exists is a Secret that was composed before.
	const exists = `connection-details: {resource: {apiVersion: v1, kind: Secret, metadata: {name: old, namespace: %s}, type: connection.crossplane.io/v1alpha1}}`

	cases := map[string]struct {
		reason                      string
		secret, metadata, resources string
		want, fail                  string
	}{
		"Default":       {reason: "It is called as the XR.", metadata: ", namespace: default", want: "{name: app-connection}"},
		"Namespaced":    {reason: "In the namespace of the XR even its name alone will do.", secret: `name: "${xr.metadata.name}"`, metadata: ", namespace: default", want: "{name: app}"},
		"ClusterScoped": {reason: "Elsewhere more than what the author of an XR has chosen.", secret: `namespace: secrets, name: "admin-${xr.metadata.name}"`, want: "{name: admin-app, namespace: secrets}"},
		"Unique":        {reason: "The uid is the XR's alone.", secret: `namespace: secrets, name: "${xr.metadata.uid}"`, want: "{name: u1, namespace: secrets}"},
		"Exists":        {reason: "A Secret cannot be renamed.", secret: `namespace: secrets, name: "${xr.metadata.uid}"`, resources: fmt.Sprintf(exists, "secrets"), want: "{name: old, namespace: secrets}"},
		"Stays":         {reason: "Nothing that exists is dropped when the Composition has lost its namespace.", resources: fmt.Sprintf(exists, "secrets"), want: "{name: old, namespace: secrets}"},
		"Literal":       {reason: "All XRs would have the same.", secret: `name: admin`, metadata: ", namespace: default", fail: "must hold what is the XR's own"},
		"Chosen":        {reason: "The author of an XR chooses no Secret.", secret: `name: "${xr.metadata.name}-${xr.spec.a}"`, metadata: ", namespace: default", fail: "must hold what is the XR's own"},
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
