package main

import (
	"strings"
	"testing"
)

// TestBackOnXR checks the status and the connection details of the XR.
func TestBackOnXR(t *testing.T) {
	const (
		input = `
runs: [{name: database, role: a.b.c}]
connectionDetails:
- {name: password, value: "${runs.database.connectionDetails.password}"}
- {name: url, value: "postgres://${runs.database.connectionDetails.user}@${runs.database.outputs.url}"}
- {name: gone, value: "${xr.spec.?none}"}
`
		// The values are s3cret and admin.
		details  = "\n      connection_details: {password: czNjcmV0, user: YWRtaW4=}\n"
		modern   = "apiVersion: example.org/v1, kind: App, metadata: {name: app}, spec: {crossplane: {}}"
		data     = "password: czNjcmV0, url: cG9zdGdyZXM6Ly9hZG1pbkB0aGVyZQ=="
		composed = "\n    connection-details: {resource: {apiVersion: v1, kind: Secret, metadata: {name: app-connection}, type: connection.crossplane.io/v1alpha1, data: {" + data + "}}}\n"
		notText  = " is not UTF-8 text, and an expression can use no other; have the content encode it, for example as base64"
	)

	// The AnsibleRun has this Secret already, and keeps it.
	before := strings.NewReplacer("spec: {", "spec: {writeConnectionSecretToRef: {name: before}, ")
	database, rendered := before.Replace(existing("database", "", "role: a.b.c")), before.Replace(rendered("database", "", "", ""))
	running := strings.Replace(database, readyOf, "status: {}", 1)
	secret := strings.Replace(composed, "{resource", "{ready: READY_TRUE, resource", 1)
	readyRun := strings.Replace(rendered, "READY_FALSE", "READY_TRUE", 1)

	cluster := strings.NewReplacer("ansible.m.crossplane.io", "ansible.crossplane.io", "kind: ClusterProviderConfig, ", "", "          namespace: default\n", "", "{name: before}", "{namespace: secrets, name: before}")

	check(t, map[string]step{
		"Namespaced": {
			reason: "The connection details of a namespaced XR are in a Secret in its namespace.",
			input:  input, observed: database + details,
			response: "desired:\n  resources:" + secret + readyRun + condition("TRUE", "Available", ""),
		},
		"NothingYet": {
			reason: "The Secret is not created before it has a connection detail.",
			input:  input, observed: running, want: "database", said: "Running database: is running",
		},
		"Kept": {
			reason: "A connection detail without a value keeps its value in the Secret.",
			input:  input, observed: composed + running,
			response: "desired:\n  resources:" + secret + rendered + condition("FALSE", "Running", "database: is running"),
		},
		"Legacy": {
			reason:   "A legacy XR has the connection details itself. A connection detail without a value keeps its value.",
			input:    input + "- {name: kept, value: \"${runs.database.connectionDetails.later}\"}\nconnectionSecret: {namespace: secrets}\n",
			xr:       "apiVersion: example.org/v1, kind: App, metadata: {name: app}, spec: {compositionRef: {name: x}}}, connection_details: {kept: a2VwdA==",
			observed: cluster.Replace(database) + details,
			response: "desired:\n  composite: {connection_details: {" + data + ", kept: a2VwdA==}}\n  resources:" + cluster.Replace(readyRun) +
				warned("TRUE", "InvalidStatus", "connectionDetails[3].value: runs.database.connectionDetails.later is not there yet"),
		},
		"ClusterScoped": {
			reason: "The Secret of a modern cluster-scoped XR is in the namespace of connectionSecret.",
			input:  input + "connectionSecret: {namespace: secrets}\n", xr: modern, observed: cluster.Replace(database) + details,
			response: "desired:\n  resources:" + strings.Replace(secret, "name: app-connection", "name: app-connection, namespace: secrets", 1) +
				cluster.Replace(readyRun) + condition("TRUE", "Available", ""),
		},
		"Nowhere": {
			reason: "A modern cluster-scoped XR without connectionSecret.namespace cannot have a Secret.",
			runs:   "[{name: database}]", input: "connectionDetails: [{name: a, value: '${xr.metadata.name}'}]", xr: modern, observed: cluster.Replace(database),
			want: "database", said: "InvalidStatus connectionDetails: a cluster-scoped XR has no namespace for its Secret; set connectionSecret.namespace",
		},
		"TwoSecrets": {
			reason: "Only one step can have connectionDetails, since the second one would remove those of the first.",
			input:  input, observed: database + details, earlier: secret, want: "connection-details, database",
			said: `an earlier step of the pipeline composes "connection-details", which is to be the Secret with connectionDetails: only one step can have these`,
		},
		"NotText": {
			reason: "A connection detail that can never have a value is a problem. The message does not quote values.",
			input:  strings.Replace(input, "connectionDetails.user}", "connectionDetails.password}", 1), observed: composed + database + "\n      connection_details: {password: //8=, user: YWRtaW4=}\n",
			response: "desired:\n  resources:" + secret + readyRun + warned("TRUE", "InvalidStatus", "connectionDetails[0].value: runs.database.connectionDetails.password"+notText+
				"\nconnectionDetails[1].value: runs.database.connectionDetails.password"+notText),
		},
		"NotTold": {
			reason: "No condition and no event contains a connection detail.",
			input:  strings.Replace(input, "${runs.database.connectionDetails.password}", "${string(int(runs.database.connectionDetails.password))}", 1), observed: composed + database + details,
			response: "desired:\n  resources:" + secret + readyRun + warned("TRUE", "InvalidStatus", "connectionDetails[0].value: cannot be computed"),
		},
		"StatusWhole": {
			reason: "An object of the status without a field that the XRD requires is left out, since it would block the whole XR. An object without fields is left out.",
			runs:   "[{name: database}]", observed: running, status: "kept: {host: db, port: 1}",
			input: `
status:
  missing: {host: "${runs.database.outputs.host}", port: 5432}
  none: {host: "${xr.spec.?host}", port: 5432}
  kept: {host: "${runs.database.outputs.host}", port: 5432}
  theirs: {port: 5432}
  empty: {host: "${runs.database.outputs.host}"}
  literal: {}
`,
			more: schemaOf(`spec: {type: object, properties: {host: {type: string}}}, status: {type: object, properties: {
  missing: &address {type: object, required: [host, port], properties: {host: {type: string}, port: {type: integer}}},
  none: *address, kept: *address, theirs: *address, empty: {type: object, properties: {host: {type: string}}}, literal: {type: object}}}`),
			want: "database", said: "Running database: is running", shown: `{kept: {host: db, port: 5432}, theirs: {port: 5432}}`,
		},
		"StatusFits": {
			reason: "Status fields are converted to the types of the XRD without loss. A field that does not fit keeps its value.",
			runs:   "[{name: database}]", observed: strings.Replace(database, "url: there", "port: 5432, endpoint: 'db:5432'", 1), status: "wrong: 7, choice: a, object: 5",
			input: `
status:
  text: "${runs.database.outputs.port}"
  number: "${string(runs.database.outputs.port)}"
  list: ["${runs.database.outputs.port}"]
  wrong: "${runs.database.outputs.endpoint}"
  choice: "${runs.database.outputs.endpoint}"
  object: "${{'a': 1}}"
  sizes: "${[1, 'many']}"
  nested: "${{'list': [{'size': 'many'}]}}"
  deep: "${{'list': [{'color': 'green'}]}}"
  colors: [red, "${'green'}"]
  unknown: "${runs.database.outputs.port}"
  undeclared: {port: "${runs.database.outputs.port}"}
`,
			more: schemaOf(`status: {type: object, properties: {text: {type: string}, number: {type: integer}, list: {type: array, items: {type: string}},
  sizes: {type: array, items: {type: integer}}, nested: &nested {type: object, properties: {list: {type: array, items: {type: object, properties: {
    size: {type: integer}, color: {type: string, enum: [red]}}}}}}, deep: *nested, colors: {type: array, items: {type: string, enum: [red]}},
  wrong: {type: integer}, choice: {type: string, enum: [a, b]}, object: {type: object, properties: {b: {type: string}}}}}`),
			want: "database", shown: `{text: "5432", number: 5432, list: ["5432"], wrong: 7, choice: a}`,
			said: "InvalidStatus status.choice: does not fit the XRD: Unsupported value: \"db:5432\": supported values: \"a\", \"b\"\n" +
				"status.colors[1]: does not fit the XRD: Unsupported value: \"green\": supported values: \"red\"\n" +
				"status.deep.list[0].color: does not fit the XRD: Unsupported value: \"green\": supported values: \"red\"\n" +
				"status.nested.list[0].size: is not of type integer, as the XRD says\n" +
				"status.object: the XRD does not declare its field \"a\"\nstatus.sizes[1]: is not of type integer, as the XRD says\n" +
				"status.undeclared: the XRD does not declare this field\nstatus.unknown: the XRD does not declare this field\nstatus.wrong: is not of type integer, as the XRD says",
		},
	})
}

// Without the check of the size, core would show only an error of gRPC.
func TestTooLarge(t *testing.T) {
	const message = "the desired state is 5.2 MiB large, and Crossplane receives 4 MiB at most: compose fewer or smaller AnsibleRuns in one XR"

	step{
		runs: `[{name: app, forEach: "${lists.range(1000).map(i, string(i))}", vars: {text: "${xr.spec.text}"}}]`, spec: "text: " + strings.Repeat("x", 5000),
		response: condition("FALSE", "TooLarge", message) + "results: [{severity: SEVERITY_FATAL, message: '" + message + "', target: TARGET_COMPOSITE}]",
	}.check(t)
}
