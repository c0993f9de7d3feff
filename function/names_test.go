package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Two XRs of a kind have Secrets of their own, and the names that the platform
// wants, whatever kind of XR they are.
func TestSecretsOfXRs(t *testing.T) {
	const scoped = `{name: app, role: acme.app.server, writeConnectionSecretToRef: {namespace: secrets, name: %q}, varFiles: [{source: SecretKey, secretKeyRef: {namespace: secrets, name: "${xr.metadata.uid}-app", key: vars}}]}`

	cases := map[string]struct {
		reason string
		run    string
		// metadata and spec of each XR.
		xrs []string
		// want names of Secrets, as in writeConnectionSecretToRef and secretKeyRef.
		want []string
	}{
		"Namespaced": {
			reason: "In the namespace of the XR any name will do.",
			run:    `{name: app, role: acme.app.server, writeConnectionSecretToRef: {name: "${xr.spec.name}"}, varFiles: [{source: SecretKey, secretKeyRef: {name: "${xr.metadata.name}-app", key: vars}}]}`,
			xrs:    []string{`metadata: {name: a, namespace: default}, spec: {name: one}`, `metadata: {name: b, namespace: default}, spec: {name: two}`},
			want:   []string{"one a-app", "two b-app"},
		},
		"ClusterScoped": {
			reason: "Elsewhere it is the XR's own, for its uid is in it.",
			run:    fmt.Sprintf(scoped, "${xr.metadata.name}-${xr.metadata.uid}"),
			xrs:    []string{`metadata: {name: a, uid: u1}, spec: {crossplane: {}}`, `metadata: {name: b, uid: u2}, spec: {crossplane: {}}`},
			want:   []string{"a-u1 u1-app", "b-u2 u2-app"},
		},
		"Claim": {
			reason: "The name of a claim is for people: those of two namespaces may be equal.",
			run:    fmt.Sprintf(scoped, `${xr.metadata.labels["crossplane.io/claim-namespace"]}-${xr.spec.claimRef.name}-${xr.metadata.uid}`),
			xrs: []string{
				`metadata: {name: shop-x1, uid: u1, labels: {crossplane.io/claim-namespace: blue}}, spec: {claimRef: {name: shop}}`,
				`metadata: {name: shop-x2, uid: u2, labels: {crossplane.io/claim-namespace: red}}, spec: {claimRef: {name: shop}}`,
			},
			want: []string{"blue-shop-u1 u1-app", "red-shop-u2 u2-app"},
		},
		"Legacy": {
			reason: "An XR without a claim has an own name all the same.",
			run:    fmt.Sprintf(scoped, `${xr.metadata.?labels["crossplane.io/claim-name"].orValue("none")}-${xr.metadata.uid}`),
			xrs:    []string{`metadata: {name: a, uid: u1}, spec: {compositionRef: {name: x}}`, `metadata: {name: b, uid: u2, labels: {crossplane.io/claim-name: shop}}, spec: {compositionRef: {name: x}}`},
			want:   []string{"none-u1 u1-app", "shop-u2 u2-app"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for i, xr := range tc.xrs {
				req := request(t, "input:\n  apiVersion: ansible.fn.crossplane.io/v1alpha1\n  kind: AnsibleRuns\n  runs: ["+tc.run+"]\nobserved: {composite: {resource: {apiVersion: example.org/v1, kind: App, "+xr+"}}}\n")

				rsp := respond(t, req)

				spec := rsp.GetDesired().GetResources()["app"].GetResource().GetFields()["spec"].GetStructValue().AsMap()
				written, _ := spec["writeConnectionSecretToRef"].(map[string]any)
				parameters, _ := spec["forProvider"].(map[string]any)
				files, _ := parameters["varFiles"].([]any)

				if len(files) == 0 {
					t.Fatalf("\n%s\nRunFunction(...): %v", tc.reason, rsp.GetResults())
				}

				file, _ := files[0].(map[string]any)
				read, _ := file["secretKeyRef"].(map[string]any)

				if diff := cmp.Diff(tc.want[i], fmt.Sprint(written["name"], " ", read["name"])); diff != "" {
					t.Errorf("\n%s\nRunFunction(...): -want Secrets, +got Secrets:\n%s", tc.reason, diff)
				}
			}
		})
	}
}

// The Secret with the connection details of an XR has the name that the
// Composition gives it, and keeps the one that it has.
func TestConnectionSecretName(t *testing.T) {
	const input = `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  runs: [{name: app, role: acme.app.server}]
  connectionDetails: [{name: a, value: b}]
  connectionSecret: {%s}
observed:
  composite: {resource: {apiVersion: example.org/v1, kind: App, metadata: {name: app, uid: u1%s}, spec: {crossplane: {}}}}
  resources: {%s}
`
	// exists is a Secret that was composed before.
	const exists = `connection-details: {resource: {apiVersion: v1, kind: Secret, metadata: {name: old, namespace: %s}, type: connection.crossplane.io/v1alpha1}}`

	cases := map[string]struct {
		reason                        string
		secret, metadata, resources   string
		wantName, wantNamespace, fail string
	}{
		"Default":       {reason: "It is called as the XR.", metadata: ", namespace: default", wantName: "app-connection"},
		"Namespaced":    {reason: "In the namespace of the XR even its name alone will do.", secret: `name: "${xr.metadata.name}"`, metadata: ", namespace: default", wantName: "app"},
		"ClusterScoped": {reason: "Elsewhere more than what the author of an XR has chosen.", secret: `namespace: secrets, name: "admin-${xr.metadata.name}"`, wantName: "admin-app", wantNamespace: "secrets"},
		"Unique":        {reason: "The uid is the XR's alone.", secret: `namespace: secrets, name: "${xr.metadata.uid}"`, wantName: "u1", wantNamespace: "secrets"},
		"Exists":        {reason: "A Secret cannot be renamed.", secret: `namespace: secrets, name: "${xr.metadata.uid}"`, resources: fmt.Sprintf(exists, "secrets"), wantName: "old", wantNamespace: "secrets"},
		"Stays":         {reason: "Nothing that exists is dropped when the Composition has lost its namespace.", resources: fmt.Sprintf(exists, "secrets"), wantName: "old", wantNamespace: "secrets"},
		"Literal":       {reason: "All XRs would have the same.", secret: `name: admin`, metadata: ", namespace: default", fail: "must hold what is the XR's own"},
		"Chosen":        {reason: "The author of an XR chooses no Secret.", secret: `name: "${xr.metadata.name}-${xr.spec.a}"`, metadata: ", namespace: default", fail: "must hold what is the XR's own"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := respond(t, request(t, fmt.Sprintf(input, tc.secret, tc.metadata, tc.resources)))

			if tc.fail != "" {
				if len(rsp.GetResults()) == 0 || !strings.Contains(rsp.GetResults()[0].GetMessage(), tc.fail) {
					t.Errorf("\n%s\nRunFunction(...): want a mistake, got %v", tc.reason, rsp.GetResults())
				}

				return
			}

			metadata, _ := rsp.GetDesired().GetResources()["connection-details"].GetResource().AsMap()["metadata"].(map[string]any)

			want := map[string]any{"name": tc.wantName}
			if tc.wantNamespace != "" {
				want["namespace"] = tc.wantNamespace
			}

			if diff := cmp.Diff(want, metadata); diff != "" {
				t.Errorf("\n%s\nRunFunction(...): -want metadata, +got metadata:\n%s", tc.reason, diff)
			}
		})
	}
}
