package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Conditions that the input computes for the XR.
func TestConditions(t *testing.T) {
	database := existing("database", "", "role: a.b.c")

	cases := map[string]struct {
		reason     string
		conditions string
		runs       string
		observed   string
		want       []string
		said       string
	}{
		"True": {
			reason:     "A condition follows from what a run reports.",
			conditions: `[{type: DatabaseReady, status: "${runs.database.outputs.url == 'there'}", reason: Reached, message: "at ${runs.database.outputs.url}"}]`,
			observed:   database,
			want:       []string{"DatabaseReady STATUS_CONDITION_TRUE Reached at there"},
			said:       "Available",
		},
		"False": {
			reason:     "It may be false, and say why.",
			conditions: `[{type: DatabaseReady, status: "${runs.database.outputs.url == 'here'}", reason: "${runs.database.outputs.url == 'there' ? 'Elsewhere' : 'Here'}"}]`,
			observed:   database,
			want:       []string{"DatabaseReady STATUS_CONDITION_FALSE Elsewhere "},
			said:       "Available",
		},
		"Literal": {
			reason:     "It may be literal.",
			conditions: `[{type: Managed, status: true}]`,
			observed:   database,
			want:       []string{"Managed STATUS_CONDITION_TRUE Computed "},
			said:       "Available",
		},
		"Pending": {
			reason:     "What is not there yet is not known, and is no mistake.",
			conditions: `[{type: DatabaseReady, status: "${runs.database.outputs.url == 'there'}", reason: Reached, message: there}]`,
			want:       []string{"DatabaseReady STATUS_CONDITION_UNKNOWN ValuePending "},
			said:       "Running",
		},
		"NeverThere": {
			reason:     "What is not there although the run is ready says so.",
			conditions: `[{type: DatabaseReady, status: "${runs.database.outputs.port == 1}"}]`,
			observed:   database,
			want:       []string{"DatabaseReady STATUS_CONDITION_UNKNOWN ValuePending conditions[0].status: runs.database.outputs.port is not there yet"},
			said:       "InvalidStatus",
		},
		"NotSet": {
			reason:     "So does what the XR lacks.",
			conditions: `[{type: DatabaseReady, status: "${xr.spec.port == 1}"}]`,
			observed:   database,
			want:       []string{"DatabaseReady STATUS_CONDITION_UNKNOWN ValueNotSet conditions[0].status: xr.spec.port is not set; write xr.spec.?port if it may be missing"},
			said:       "InvalidStatus",
		},
		"Skipped": {
			reason:     "Of a run that is not wanted nothing is known.",
			runs:       `[{name: database, when: false}]`,
			conditions: `[{type: DatabaseReady, status: "${runs.database.ready}"}]`,
			want:       []string{"DatabaseReady STATUS_CONDITION_UNKNOWN Skipped database is not wanted"},
			said:       "Available",
		},
		"BadReason": {
			reason:     "A reason that the API server refuses would stop the XR.",
			conditions: `[{type: DatabaseReady, status: true, reason: "${runs.database.outputs.url + ' is wrong'}"}]`,
			observed:   database,
			want:       []string{"DatabaseReady STATUS_CONDITION_TRUE Computed "},
			said:       "InvalidStatus",
		},
		"NoBoolean": {
			reason:     "Only true and false are a status.",
			conditions: `[{type: DatabaseReady, status: "${runs.database.outputs.url}"}]`,
			observed:   database,
			want:       []string{"DatabaseReady STATUS_CONDITION_UNKNOWN InvalidValue conditions[0].status: must be true or false"},
			said:       "InvalidStatus",
		},
		"Reserved": {
			reason:     "Crossplane's own are not for Compositions.",
			conditions: `[{type: Ready, status: true}]`,
			said:       "InvalidInput",
		},
		"Twice": {
			reason:     "One condition has one value.",
			conditions: `[{type: A, status: true}, {type: A, status: false}]`,
			said:       "InvalidInput",
		},
		"Text": {
			reason:     "The type of a status is known before.",
			conditions: `[{type: A, status: "${string(1)}"}]`,
			said:       "InvalidInput",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.runs == "" {
				tc.runs = "[{name: database}]"
			}

			rsp := respond(t, request(t, `
input:
  apiVersion: ansible.fn.crossplane.io/v1alpha1
  kind: AnsibleRuns
  defaults: {role: a.b.c}
  runs: `+tc.runs+`
  conditions: `+tc.conditions+`
observed:
  composite:
    resource: {apiVersion: example.org/v1, kind: App, metadata: {name: app, namespace: default, uid: xr}, spec: {}}
  resources: `+tc.observed+`
`))

			var got []string
			for _, c := range rsp.GetConditions()[1:] {
				got = append(got, strings.Join([]string{c.GetType(), c.GetStatus().String(), c.GetReason(), c.GetMessage()}, " "))
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}

			if said := rsp.GetConditions()[0].GetReason(); said != tc.said {
				t.Errorf("\n%s\nwant reason %s, got %v", tc.reason, tc.said, rsp.GetConditions()[0])
			}
		})
	}
}
