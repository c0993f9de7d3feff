package docs

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestColumns prints an object as kubectl get -o wide does: what is going on, and
// what is wrong, are seen without describing it.
func TestColumns(t *testing.T) {
	type cells map[string]string

	cases := map[string]struct {
		reason string
		object string
		want   cells
	}{
		"Running": {
			reason: "While a run is in progress its task is shown.",
			object: `{metadata: {annotations: {ansible.crossplane.io/runPolicy: RunOnChange}},
status: {atProvider: {lastRun: {phase: Running, trigger: Changed, currentTask: Write the page, progress: task 3 of ~9}},
conditions: [{type: Ready, status: "True", message: all is well}, {type: Synced, status: "True"}]}}`,
			want: cells{
				"READY": "True", "SYNCED": "True", "POLICY": "RunOnChange", "PHASE": "Running",
				"TRIGGER": "Changed", "PROGRESS": "task 3 of ~9", "TASK": "Write the page",
			},
		},
		"Failed": {
			reason: "When a run has failed the reason is shown.",
			object: `{status: {atProvider: {lastRun: {phase: Failed, trigger: Retry}},
conditions: [{type: Ready, status: "False", reason: RunFailed, message: no space},
{type: Synced, status: "False", reason: ReconcileError, message: "observe failed: no space"}]}}`,
			want: cells{
				"READY": "False", "SYNCED": "False", "PHASE": "Failed", "TRIGGER": "Retry",
				"REASON": "RunFailed", "MESSAGE": "no space",
			},
		},
		"Mistaken": {
			reason: "When inputs cannot be resolved Ready has no message, and that of Synced is shown.",
			object: `{status: {conditions: [{type: Ready, status: "False", reason: Creating},
{type: Synced, status: "False", reason: ReconcileError, message: no such Secret}]}}`,
			want: cells{"READY": "False", "SYNCED": "False", "REASON": "Creating", "MESSAGE": "no such Secret"},
		},
		"Paused": {
			reason: "A pause is a reason without a message.",
			object: `{status: {conditions: [{type: Ready, status: "True"}, {type: Synced, status: "False", reason: ReconcilePaused}]}}`,
			want:   cells{"READY": "True", "SYNCED": "False", "REASON": "ReconcilePaused"},
		},
	}

	files, err := filepath.Glob("../../package-provider/crds/*_ansibleruns.yaml")
	if err != nil || len(files) != 2 {
		t.Fatalf("want the definitions of both kinds of AnsibleRuns, got %v, %v", files, err)
	}

	for _, file := range files {
		var crd apiextensionsv1.CustomResourceDefinition
		needs.OK(t, yaml.Unmarshal([]byte(needs.Read(t, file)), &crd))

		for name, tc := range cases {
			t.Run(filepath.Base(file)+"/"+name, func(t *testing.T) {
				var object map[string]any
				needs.OK(t, yaml.Unmarshal([]byte(tc.object), &object))

				got := cells{}

				for _, c := range crd.Spec.Versions[0].AdditionalPrinterColumns {
					if text := cell(t, c, object); text != "" {
						got[c.Name] = text
					}
				}

				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
				}
			})
		}
	}
}

// cell of a column, as the API server makes it: the first result counts.
func cell(t *testing.T, c apiextensionsv1.CustomResourceColumnDefinition, object map[string]any) string {
	t.Helper()

	path := jsonpath.New(c.Name).AllowMissingKeys(true)
	needs.OK(t, path.Parse("{"+c.JSONPath+"}"))

	results, err := path.FindResults(object)
	if err != nil || len(results) == 0 || len(results[0]) == 0 {
		return ""
	}

	var b bytes.Buffer
	needs.OK(t, path.PrintResults(&b, results[0][:1]))

	return b.String()
}
