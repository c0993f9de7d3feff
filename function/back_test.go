package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// What comes back on the XR, whole requests and responses.
func TestBackOnXR(t *testing.T) {
	const (
		input = `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  runs:
  - name: database
    runPolicy: RunOnChange
    role: acme.postgres.server
    vars: {size: "${xr.spec.size}"}
  connectionDetails:
  - {name: password, value: "${runs.database.connectionDetails.password}"}
  - {name: url, value: "postgres://${runs.database.connectionDetails.user}@${runs.database.outputs.endpoint}"}
  - {name: gone, value: "${xr.spec.?none}"}
`
		// The values are s3cret and admin.
		details   = "\n      connection_details: {password: czNjcmV0, user: YWRtaW4=}\n"
		ready     = "\nconditions:\n- {type: AnsibleRunsReady, status: STATUS_CONDITION_TRUE, reason: Available, message: \"\", target: TARGET_COMPOSITE_AND_CLAIM}\n"
		modern    = "resource: {apiVersion: example.org/v1, kind: App, metadata: {name: app, namespace: default}, spec: {size: 5}}"
		secret    = "\n    connection-details: {ready: READY_TRUE, resource: {apiVersion: v1, kind: Secret, metadata: {name: app-connection}, type: connection.crossplane.io/v1alpha1, data: {password: czNjcmV0, url: cG9zdGdyZXM6Ly9hZG1pbkBkYjo1NDMy}}}\n"
		composed  = "\n    connection-details: {resource: {apiVersion: v1, kind: Secret, metadata: {name: app-connection}, type: connection.crossplane.io/v1alpha1, data: {password: czNjcmV0, url: cG9zdGdyZXM6Ly9hZG1pbkBkYjo1NDMy}}}\n"
		isRunning = "\nconditions:\n- {type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: Running, message: \"database: is running\", target: TARGET_COMPOSITE_AND_CLAIM}\n"
		notText   = "connectionDetails[0].value: runs.database.connectionDetails.password is not UTF-8 text, and an expression can use no other; have the content encode it, for example as base64\n" +
			"connectionDetails[1].value: runs.database.connectionDetails.password is not UTF-8 text, and an expression can use no other; have the content encode it, for example as base64"
	)

	// before is the Secret that the run has, which it keeps.
	before := strings.NewReplacer("f:spec:\n", "f:spec:\n                f:writeConnectionSecretToRef: {f:name: {}}\n",
		"\n        spec:\n", "\n        spec:\n          writeConnectionSecretToRef: {name: before}\n")
	databaseRun, withSecret := before.Replace(observedRun), before.Replace(renderedDatabase)

	cluster := strings.NewReplacer("ansible.m.crossplane.io", "ansible.crossplane.io", "f:kind: {}, ", "", "kind: ClusterProviderConfig, ", "",
		"ToRef: {f:name", "ToRef: {f:namespace: {}, f:name", "{name: before}", "{namespace: secrets, name: before}")
	clustered := func(xr string) string {
		return strings.NewReplacer(", namespace: default", "", "spec: {", "spec: {"+xr).Replace(modern)
	}

	cases := map[string]struct {
		reason string
		req    string
		want   string
	}{
		"Namespaced": {
			reason: "A namespaced XR has its connection details in a Secret beside it.",
			req:    input + "observed:\n  composite: {" + modern + "}\n  resources:\n    database:" + databaseRun + readyStatus + details,
			want:   "desired:\n  resources:" + secret + "    database:\n      ready: READY_TRUE" + withSecret + ready,
		},
		"NothingYet": {
			reason: "There is no Secret before there is something to be in it.",
			req:    input + "observed:\n  composite: {" + modern + "}\n  resources:\n    database:" + databaseRun,
			want:   "desired:\n  resources:\n    database:\n      ready: READY_FALSE" + withSecret + isRunning,
		},
		"Kept": {
			reason: "What is not to be had at the moment stays in the Secret.",
			req:    input + "observed:\n  composite: {" + modern + "}\n  resources:" + composed + "    database:" + databaseRun,
			want:   "desired:\n  resources:" + secret + "    database:\n      ready: READY_FALSE" + withSecret + isRunning,
		},
		"Legacy": {
			reason: "A legacy XR publishes them itself, and keeps those that are not to be had.",
			req: input + "  - {name: kept, value: \"${runs.database.connectionDetails.later}\"}\n  connectionSecret: {namespace: secrets}\nobserved:\n  composite:\n    connection_details: {kept: a2VwdA==}\n    " + clustered("compositionRef: {name: x}, ") +
				"\n  resources:\n    database:" + cluster.Replace(databaseRun) + readyStatus + details,
			want: "desired:\n  composite: {connection_details: {password: czNjcmV0, url: cG9zdGdyZXM6Ly9hZG1pbkBkYjo1NDMy, kept: a2VwdA==}}\n  resources:\n    database:\n      ready: READY_TRUE" + cluster.Replace(withSecret) + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_TRUE, reason: InvalidStatus, message: "connectionDetails[3].value: runs.database.connectionDetails.later is not there yet", target: TARGET_COMPOSITE_AND_CLAIM}
results:
- {severity: SEVERITY_WARNING, reason: InvalidStatus, message: "connectionDetails[3].value: runs.database.connectionDetails.later is not there yet", target: TARGET_COMPOSITE_AND_CLAIM}
`,
		},
		"ClusterScoped": {
			reason: "A modern cluster-scoped XR has them where the Composition says.",
			req: input + "  connectionSecret: {namespace: secrets}\nobserved:\n  composite: {" + clustered("crossplane: {}, ") + "}\n  resources:\n    database:" +
				cluster.Replace(databaseRun) + readyStatus + details,
			want: "desired:\n  resources:" + strings.Replace(secret, "name: app-connection", "name: app-connection, namespace: secrets", 1) +
				"    database:\n      ready: READY_TRUE" + cluster.Replace(withSecret) + ready,
		},
		"Nowhere": {
			reason: "Without a namespace it cannot have a Secret.",
			req: strings.NewReplacer("runs.database.connectionDetails.password", "xr.metadata.name", "runs.database.connectionDetails.user",
				"xr.metadata.name").Replace(input) + "observed:\n  composite: {" + clustered("crossplane: {}, ") + "}\n  resources:\n    database:" +
				cluster.Replace(observedRun) + readyStatus,
			want: "desired:\n  resources:\n    database:\n      ready: READY_TRUE" + cluster.Replace(renderedDatabase) + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_TRUE, reason: InvalidStatus, message: "connectionDetails: a cluster-scoped XR has no namespace for its Secret; set connectionSecret.namespace", target: TARGET_COMPOSITE_AND_CLAIM}
results:
- {severity: SEVERITY_WARNING, reason: InvalidStatus, message: "connectionDetails: a cluster-scoped XR has no namespace for its Secret; set connectionSecret.namespace", target: TARGET_COMPOSITE_AND_CLAIM}
`,
		},
		"TwoSecrets": {
			reason: "Of two steps with connection details, the second one would drop those of the first.",
			req:    input + "observed:\n  composite: {" + modern + "}\n  resources:\n    database:" + databaseRun + readyStatus + details + "\ndesired:\n  resources:" + secret,
			want: "desired:\n  resources:" + secret + "    database:\n      ready: READY_TRUE" + withSecret + `
results:
- {severity: SEVERITY_FATAL, message: 'an earlier step of the pipeline composes "connection-details", which is to be the Secret with connectionDetails: only one step can have these', target: TARGET_COMPOSITE}
`,
		},
		"NotText": {
			reason: "What no expression can use says so, instead of being awaited for ever, and shows nothing of itself.",
			req: strings.Replace(input, "connectionDetails.user}", "connectionDetails.password}", 1) +
				"observed:\n  composite: {" + modern + "}\n  resources:" + composed + "    database:" + databaseRun + readyStatus + "\n      connection_details: {password: //8=, user: YWRtaW4=}\n",
			want: "desired:\n  resources:" + secret + "    database:\n      ready: READY_TRUE" + withSecret + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_TRUE, reason: InvalidStatus, message: ` + quoted(notText) + `, target: TARGET_COMPOSITE_AND_CLAIM}
results:
- {severity: SEVERITY_WARNING, reason: InvalidStatus, message: ` + quoted(notText) + `, target: TARGET_COMPOSITE_AND_CLAIM}
`,
		},
		"NotTold": {
			reason: "No condition and no event holds a connection detail.",
			req: strings.Replace(input, "${runs.database.connectionDetails.password}", "${string(int(runs.database.connectionDetails.password))}", 1) +
				"observed:\n  composite: {" + modern + "}\n  resources:" + composed + "    database:" + databaseRun + readyStatus + details,
			want: "desired:\n  resources:" + secret + "    database:\n      ready: READY_TRUE" + withSecret + `
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_TRUE, reason: InvalidStatus, message: "connectionDetails[0].value: cannot be computed", target: TARGET_COMPOSITE_AND_CLAIM}
results:
- {severity: SEVERITY_WARNING, reason: InvalidStatus, message: "connectionDetails[0].value: cannot be computed", target: TARGET_COMPOSITE_AND_CLAIM}
`,
		},
		"StatusWhole": {
			reason: "An object of the status without a field that the XRD requires would stop the whole XR: it comes with that field. Nothing is left of an object without fields.",
			req: `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  runs: [{name: database, runPolicy: RunOnChange, role: acme.postgres.server, vars: {size: "${xr.spec.size}"}}]
  status:
    missing: {host: "${runs.database.outputs.host}", port: 5432}
    none: {host: "${xr.spec.?host}", port: 5432}
    kept: {host: "${runs.database.outputs.host}", port: 5432}
    theirs: {port: 5432}
    empty: {host: "${runs.database.outputs.host}"}
    literal: {}
observed:
  composite:
    resource: {apiVersion: example.org/v1, kind: App, metadata: {name: app, namespace: default}, spec: {size: 5}, status: {kept: {host: db, port: 1}}}
  resources:
    database:` + observedRun + `
meta: {capabilities: [CAPABILITY_CAPABILITIES, CAPABILITY_REQUIRED_SCHEMAS]}
required_schemas:
  xr:
    openapi_v3:
      type: object
      properties:
        spec: {type: object, properties: {size: {type: integer}, host: {type: string}}}
        status:
          type: object
          properties:
            missing: &address {type: object, required: [host, port], properties: {host: {type: string}, port: {type: integer}}}
            none: *address
            kept: *address
            theirs: *address
            empty: {type: object, properties: {host: {type: string}}}
            literal: {type: object}
`,
			want: `
desired:
  composite:
    resource: {status: {kept: {host: db, port: 5432}, theirs: {port: 5432}}}
  resources:
    database:
      ready: READY_FALSE` + renderedDatabase + `
requirements: {schemas: {xr: {api_version: example.org/v1, kind: App}}}
` + isRunning,
		},
		"StatusFits": {
			reason: "Status fields become what the XRD says where nothing is lost; one that does not fit stays as it is.",
			req: `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  runs: [{name: database, runPolicy: RunOnChange, role: acme.postgres.server, vars: {size: "${xr.spec.size}"}}]
  status:
    text: "${runs.database.outputs.port}"
    number: "${string(runs.database.outputs.port)}"
    list: ["${runs.database.outputs.port}"]
    wrong: "${runs.database.outputs.endpoint}"
    choice: "${runs.database.outputs.endpoint}"
    object: "${{'a': 1}}"
    unknown: "${runs.database.outputs.port}"
observed:
  composite:
    resource: {apiVersion: example.org/v1, kind: App, metadata: {name: app, namespace: default}, spec: {size: 5}, status: {wrong: 7, choice: a, object: 5}}
  resources:
    database:` + observedRun + readyStatus + `
meta: {capabilities: [CAPABILITY_CAPABILITIES, CAPABILITY_REQUIRED_SCHEMAS]}
required_schemas:
  xr:
    openapi_v3:
      type: object
      properties:
        spec: {type: object, properties: {size: {type: integer}}}
        status:
          type: object
          properties:
            text: {type: string}
            number: {type: integer}
            list: {type: array, items: {type: string}}
            wrong: {type: integer}
            choice: {type: string, enum: [a, b]}
            object: {type: object, properties: {b: {type: string}}}
`,
			want: `
desired:
  composite:
    resource: {status: {text: "5432", number: 5432, list: ["5432"], wrong: 7, choice: a}}
  resources:
    database:
      ready: READY_TRUE` + renderedDatabase + `
requirements: {schemas: {xr: {api_version: example.org/v1, kind: App}}}
conditions:
- {type: AnsibleRunsReady, status: STATUS_CONDITION_TRUE, reason: InvalidStatus, message: "status.choice: does not fit the XRD: Unsupported value: \"db:5432\": supported values: \"a\", \"b\"\nstatus.object: the XRD does not declare its field \"a\"\nstatus.unknown: the XRD does not declare this field\nstatus.wrong: is not of type integer, as the XRD says", target: TARGET_COMPOSITE_AND_CLAIM}
results:
- {severity: SEVERITY_WARNING, reason: InvalidStatus, message: "status.choice: does not fit the XRD: Unsupported value: \"db:5432\": supported values: \"a\", \"b\"\nstatus.object: the XRD does not declare its field \"a\"\nstatus.unknown: the XRD does not declare this field\nstatus.wrong: is not of type integer, as the XRD says", target: TARGET_COMPOSITE_AND_CLAIM}
`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want := &fnv1.RunFunctionResponse{}
			fromYAML(t, tc.want, want)
			withDefaults(want)

			got := respond(t, request(t, tc.req))

			withDefaults(got)

			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Errorf("\n%s\nf.RunFunction(...): -want rsp, +got rsp:\n%s", tc.reason, diff)
			}
		})
	}
}

// Core would show an error of gRPC that says nothing.
func TestTooLarge(t *testing.T) {
	req := request(t, `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  runs: [{name: app, role: acme.app.server, forEach: "${lists.range(1000).map(i, string(i))}", vars: {text: "${xr.spec.text}"}}]
observed: {composite: {resource: {apiVersion: example.org/v1, kind: App, metadata: {namespace: default, name: app}, spec: {text: `+strings.Repeat("x", 5000)+`}}}}
`)

	got := respond(t, req)

	want := &fnv1.RunFunctionResponse{}
	fromYAML(t, `
conditions: [{type: AnsibleRunsReady, status: STATUS_CONDITION_FALSE, reason: TooLarge, message: "the desired state is 5.1 MiB large, and Crossplane receives 4 MiB at most: compose fewer or smaller AnsibleRuns in one XR", target: TARGET_COMPOSITE_AND_CLAIM}]
results: [{severity: SEVERITY_FATAL, message: "the desired state is 5.1 MiB large, and Crossplane receives 4 MiB at most: compose fewer or smaller AnsibleRuns in one XR", target: TARGET_COMPOSITE}]
`, want)
	withDefaults(want)
	withDefaults(got)

	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("f.RunFunction(...): -want rsp, +got rsp:\n%s", diff)
	}
}
