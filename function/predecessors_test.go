package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// after returns a step for an XR that has replaced a deleted one with the same name, which has this AnsibleRun.
func after(xr, apiVersion, metadata string) step {
	return step{
		runs: "[{name: database, previousNames: [db]}]",
		xr:   "apiVersion: example.org/v1, kind: App, metadata: {name: app, " + xr + "}",
		more: `
required_resources:
  ansible.fn.crossplane.io/predecessors/` + apiVersion + `:
    items:
    - resource:
        apiVersion: ` + apiVersion + `
        kind: AnsibleRun
        metadata: {name: app-123, uid: r1, ` + metadata + `}
        spec: {providerConfigRef: {kind: ClusterProviderConfig, name: default}, forProvider: {role: a.b.c}}
`,
	}
}

// TestPredecessors checks that a run waits for the AnsibleRun of a deleted XR with the same name.
func TestPredecessors(t *testing.T) {
	const (
		cluster    = `uid: u2`
		namespaced = `namespace: default, uid: u2`
		deleted    = `, deletionTimestamp: "2026-01-01T00:00:00Z"`
		database   = `, annotations: {crossplane.io/composition-resource-name: database}`
		db         = `, annotations: {crossplane.io/composition-resource-name: db}`
		controller = `, ownerReferences: [{apiVersion: example.org/v1alpha1, kind: App, name: app, uid: u1, controller: true}]`

		waits   = "DependencyNotReady database: waiting for database, which is being deleted"
		creates = "Running database: is running"
	)

	owned := func(reference string) string {
		return `, ownerReferences: [{` + reference + `, controller: true}]`
	}

	cases := map[string]struct {
		reason       string
		xr, metadata string
		said         string
	}{
		"Waits":          {"It waits until the other one is gone: its content would be removed after it was applied.", namespaced, `namespace: default` + deleted + database + controller, waits},
		"PreviousName":   {"So it does for one that has kept the name that the run had.", namespaced, `namespace: default` + deleted + db + controller, strings.Replace(waits, "for database", "for db", 1)},
		"Renamed":        {"It is called by its name in the Composition, too.", namespaced, `namespace: default` + deleted + strings.Replace(db, "{", "{ansible.fn.crossplane.io/run: database, ", 1) + controller, strings.Replace(waits, "for database", "for database (db)", 1)},
		"Cluster":        {"XRs may be cluster scoped, and so are their runs.", cluster, `labels: {a: b}` + deleted + database + controller, waits},
		"NotDeletedYet":  {"Kubernetes deletes it a moment later, or when a Usage of it is gone.", namespaced, `namespace: default` + database + controller, waits},
		"OtherRun":       {"Other runs do not matter.", namespaced, `namespace: default, annotations: {crossplane.io/composition-resource-name: app}` + deleted + controller, creates},
		"OtherNamespace": {"Neither do XRs of other namespaces.", namespaced, `namespace: team-a` + deleted + database + controller, creates},
		"OtherName":      {"Any client may write the label.", namespaced, `namespace: default` + deleted + database + owned(`apiVersion: example.org/v1, kind: App, name: other, uid: u1`), creates},
		"OtherKind":      {"XRs of other kinds do not matter.", namespaced, `namespace: default` + deleted + database + owned(`apiVersion: example.org/v1, kind: Site, name: app, uid: u1`), creates},
		"OtherGroup":     {"Nor do those of other groups.", namespaced, `namespace: default` + deleted + database + owned(`apiVersion: example.com/v1, kind: App, name: app, uid: u1`), creates},
		"Nobodys":        {"Nor does what no XR composes.", namespaced, `namespace: default` + deleted + database, creates},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			apiVersion := "ansible.m.crossplane.io/v1alpha1"
			if tc.xr == cluster {
				apiVersion = "ansible.crossplane.io/v1alpha1"
			}

			s := after(tc.xr, apiVersion, tc.metadata)
			s.reason, s.said = tc.reason, tc.said

			if tc.said == creates {
				s.want = "database"
			}

			s.check(t)
		})
	}
}

// The AnsibleRuns of earlier XRs are required by the label with the name of the XR while a run is created.
func TestRequirePredecessors(t *testing.T) {
	const apiVersion = "ansible.m.crossplane.io/v1alpha1"

	for want, s := range map[string]step{
		"app":  after("namespace: default, uid: u2", apiVersion, "namespace: default"),
		"shop": after("namespace: default, uid: u2, labels: {crossplane.io/composite: shop}", apiVersion, "namespace: default"),
	} {
		got := s.respond(t).GetRequirements().GetResources()
		wanted := map[string]*fnv1.ResourceSelector{}

		for name, labels := range map[string]map[string]string{"runs": {"ansible.fn.crossplane.io/composite-uid": "u2"}, "predecessors": {"crossplane.io/composite": want}} {
			wanted["ansible.fn.crossplane.io/"+name+"/"+apiVersion] = &fnv1.ResourceSelector{
				ApiVersion: apiVersion, Kind: "AnsibleRun", Namespace: new("default"),
				Match: &fnv1.ResourceSelector_MatchLabels{MatchLabels: &fnv1.MatchLabels{Labels: labels}},
			}
		}

		if diff := cmp.Diff(wanted, got, protocmp.Transform()); diff != "" {
			t.Errorf("-want, +got:\n%s", diff)
		}

		s.observed = existing("database", "", "role: a.b.c")
		if got := s.respond(t).GetRequirements(); got != nil {
			t.Errorf("Nothing should be asked when all runs are there, got %v", got)
		}
	}
}
