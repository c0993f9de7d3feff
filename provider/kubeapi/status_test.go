package kubeapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

// ofSite returns the proxy of a run with a Site as its XR, and a client for it. Earlier runs have reported a part of
// the status.
func ofSite(t *testing.T, mode common.RunMode, state common.RunState, was string, h http.HandlerFunc) (*proxy, *rest.Config) {
	t.Helper()

	run := spec()
	run.Mode, run.State, run.Object.Owner = mode, state, runner.Owner{Group: "example.org", Kind: "Site", Name: "site"}

	return openedFor(t, run, events.NewRecorder(events.Options{Status: json.RawMessage(was)}), h)
}

func TestTakeStatus(t *testing.T) {
	const (
		site  = "/apis/example.org/v1/namespaces/team-a/sites/site/status"
		own   = `{"apiVersion":"example.org/v1","kind":"Site","status":{"size":3}}`
		merge = "application/merge-patch+json"
	)

	for name, tc := range map[string]struct {
		reason string
		mode   common.RunMode
		method string
		path   string
		kind   string
		body   string
		// taken is the reported status, and passed is the body that the API server gets.
		taken, passed string
		status        int
	}{
		"Patch":         {"A patch of the status of the XR is a report.", common.ModeApply, "PATCH", site, merge, own, `{"phase":"Ready","size":3}`, "", 200},
		"Put":           {"A replacement of the status of the XR is a report.", common.ModeApply, "PUT", site, "application/json", own, `{"size":3}`, "", 200},
		"ClusterScoped": {"A patch of the status of a cluster scoped XR is a report.", common.ModeApply, "PATCH", "/apis/example.org/v1/sites/site/status", merge, own, `{"phase":"Ready","size":3}`, "", 200},
		"Check":         {"A check reports nothing.", common.ModeCheck, "PATCH", site, merge, own, "", "", 200},
		"DryRun":        {"A dry run reports nothing.", common.ModeApply, "PATCH", site + "?dryRun=All", merge, own, "", "", 200},
		"Refused":       {"A status that is no object is refused.", common.ModeApply, "PATCH", site, merge, `{"apiVersion":"example.org/v1","kind":"Site","status":[]}`, "", "", 422},
		"OtherName":     {"A status of another object goes to the API server.", common.ModeApply, "PATCH", strings.Replace(site, "site/", "other/", 1), merge, own, "", own, 200},
		"OtherKind":     {"A status of another kind goes to the API server.", common.ModeApply, "PATCH", site, merge, `{"apiVersion":"example.org/v1","kind":"Backup"}`, "", `{"apiVersion":"example.org/v1","kind":"Backup"}`, 200},
		"OtherGroup":    {"A status of another group goes to the API server.", common.ModeApply, "PATCH", "/apis/example.com/v1/namespaces/team-a/sites/site/status", merge, own, "", own, 200},
		"OtherSpace":    {"A status in another namespace goes to the API server.", common.ModeApply, "PATCH", strings.Replace(site, "team-a", "team-b", 1), merge, own, "", own, 200},
		"Spec":          {"A patch of the XR itself goes to the API server.", common.ModeApply, "PATCH", strings.TrimSuffix(site, "/status"), merge, own, "", own, 200},
	} {
		t.Run(name, func(t *testing.T) {
			passed := ""

			p, way := ofSite(t, tc.mode, common.StatePresent, `{"phase":"Ready"}`, func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				passed = string(body)
			})
			code, answer := do(t, way, tc.method, tc.path, tc.kind, tc.body)

			got := fmt.Sprint(code, " ", string(p.rec.Summary().Report.Status), " ", passed)
			if diff := cmp.Diff(fmt.Sprint(tc.status, " ", tc.taken, " ", tc.passed), got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}

			if tc.status == 200 && tc.passed == "" && answer != tc.body {
				t.Errorf("The module should get its object back, got %q", answer)
			}
		})
	}
}

// TestShowStatus checks the status that a run reads. The XR gets a reported status only later, here never. Content of
// operators reads the status before it sends a change, and sends nothing that is there.
func TestShowStatus(t *testing.T) {
	const (
		up   = `{"conditions":[{"type":"Up","status":"True"}]}`
		both = `{"conditions":[{"type":"Up","status":"True"},{"type":"Full","status":"True"}]}`
		// Crossplane sets Ready. Content sends back all conditions that it has read.
		ready   = `{"conditions":[{"status":"False","type":"Ready"}]}`
		readyUp = `{"conditions":[{"status":"False","type":"Ready"},{"type":"Up","status":"True"}]}`
	)

	times := regexp.MustCompile(`,"lastTransitionTime":"[^"]*"`)

	for name, tc := range map[string]struct {
		reason string
		// xr is the status in the API server, and was the status that earlier runs have reported.
		xr, was string
		mode    common.RunMode
		// set has the statuses that the run sends, and shows those that it reads before and after each.
		set, shows []string
		want       string
		// conditions that the run has reported.
		conditions []string
	}{
		"BackAndForth": {
			"The status of the last task is kept, also if the XR has the same status from the last run.", `{"phase":"Ready"}`, `{"phase":"Ready"}`, common.ModeApply,
			[]string{`{"phase":"Deploying"}`, `{"phase":"Ready"}`},
			[]string{`{"phase":"Ready"}`, `{"phase":"Deploying"}`, `{"phase":"Ready"}`},
			`{"phase":"Ready"}`, nil,
		},
		"Again": {"A status of an earlier report is shown.", `{}`, `{"phase":"Ready"}`, common.ModeApply, nil, []string{`{"phase":"Ready"}`}, ``, nil},
		"Foreign": {
			"Conditions of the XR that content only sends back are not reported.", `{"conditions":[{"type":"Failure","status":"True"},{"type":"Ready","status":"False"}]}`, ``, common.ModeApply,
			[]string{readyUp},
			[]string{ready, readyUp},
			`{}`,
			[]string{"Up=True"},
		},
		"Unchanged": {
			"A condition that the XR already has is reported again.", `{"conditions":[{"type":"Up","status":"True"}]}`, ``, common.ModeApply,
			[]string{up},
			[]string{`{}`, up},
			`{}`,
			[]string{"Up=True"},
		},
		"TwoTasks": {
			"A condition of a task does not reset those of an earlier task.", `{"conditions":[{"type":"Up","status":"False"},{"type":"Full","status":"False"}]}`, ``, common.ModeApply,
			[]string{up, both},
			[]string{`{}`, up, both},
			`{}`,
			[]string{"Up=True", "Full=True"},
		},
		"Check": {
			"A check sees that nothing would change.", `{"phase":"Ready","conditions":[{"type":"Up","status":"True"}]}`, `{"phase":"Ready"}`, common.ModeCheck,
			nil,
			[]string{`{"conditions":[{"type":"Up","status":"True"}],"phase":"Ready"}`},
			``, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			const site = "/apis/example.org/v1/namespaces/team-a/sites/site"

			p, way := ofSite(t, tc.mode, common.StatePresent, tc.was, func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet {
					t.Errorf("%s\nThe API server should not get the status", tc.reason)
				}

				w.Header().Set("Content-Type", typeJSON)
				_, _ = fmt.Fprintf(w, `{"apiVersion":"example.org/v1","kind":"Site","metadata":{"name":"site"},"status":%s}`, tc.xr)
			})

			var shows, reported []string

			show := func() {
				_, text := do(t, way, http.MethodGet, site, typeJSON, "")
				shows = append(shows, times.ReplaceAllString(string(members([]byte(text))["status"]), ""))
			}
			show()

			for _, s := range tc.set {
				do(t, way, http.MethodPatch, site+"/status", "application/merge-patch+json", `{"apiVersion":"example.org/v1","kind":"Site","status":`+s+`}`)
				show()
			}

			got := p.rec.Summary().Report
			for _, c := range got.Conditions {
				reported = append(reported, fmt.Sprintf("%s=%s", c.Type, c.Status))
			}

			if diff := cmp.Diff(tc.shows, shows); diff != "" {
				t.Errorf("%s\n-want shown, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(append([]string{tc.want}, tc.conditions...), append([]string{string(got.Status)}, reported...)); diff != "" {
				t.Errorf("%s\n-want reported, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestShowStatusOf checks that only the XR of the run is shown with the reported status. A deletion run may outlast its
// XR, and content of operators sets the status nevertheless.
func TestShowStatusOf(t *testing.T) {
	const (
		site  = "/apis/example.org/v1/namespaces/team-a/sites/site"
		other = "/apis/example.org/v1/namespaces/team-a/sites/other"
		xr    = `{"apiVersion":"example.org/v1","kind":"Site"}`
		gone  = "" // The API server does not find the object.

		applies, removes = common.StatePresent, common.StateAbsent
	)

	for name, tc := range map[string]struct {
		reason string
		state  common.RunState
		path   string
		// kind is the content type of the answer.
		kind, answer, want string
	}{
		"XR":     {"The XR is shown with the reported status, and is otherwise unchanged.", applies, site, typeJSON, `{"apiVersion":"example.org/v1","kind":"Site","n":9007199254740993}`, `200 {"apiVersion":"example.org/v1","kind":"Site","n":9007199254740993,"status":{"shown":true}}`},
		"Status": {"The status subresource of the XR is shown with the reported status.", applies, site + "/status", typeJSON, `{"apiVersion":"example.org/v1","kind":"Site","status":{}}`, `200 {"apiVersion":"example.org/v1","kind":"Site","status":{"shown":true}}`},
		"Other":  {"Another object is unchanged.", applies, other, typeJSON, xr, "200 " + xr},
		"Kind":   {"An object of another kind is unchanged.", applies, site, typeJSON, `{"apiVersion":"example.org/v1","kind":"Backup"}`, `200 {"apiVersion":"example.org/v1","kind":"Backup"}`},
		"Table":  {"A table with the XR is unchanged.", applies, site, typeJSON, `{"apiVersion":"meta.k8s.io/v1","kind":"Table"}`, `200 {"apiVersion":"meta.k8s.io/v1","kind":"Table"}`},
		"Format": {"An answer that is not JSON is unchanged.", applies, site, "application/yaml", xr, "200 " + xr},
		"Scale":  {"Another subresource is unchanged.", applies, site + "/scale", typeJSON, xr, "200 " + xr},

		"Gone":        {"A deletion run sees its deleted XR with the reported status.", removes, site, typeJSON, gone, `200 {"apiVersion":"example.org/v1","kind":"Site","metadata":{"name":"site","namespace":"team-a"},"status":{"shown":true}}`},
		"GoneCluster": {"A deletion run sees its deleted cluster scoped XR.", removes, "/apis/example.org/v1/sites/site", typeJSON, gone, `200 {"apiVersion":"example.org/v1","kind":"Site","metadata":{"name":"site"},"status":{"shown":true}}`},
		"GonePresent": {"Other runs do not see the deleted XR.", applies, site, typeJSON, gone, "404 {}"},
		"GoneKind":    {"A deletion run does not see a missing object of another kind with the name of the XR.", removes, strings.Replace(site, "sites", "backups", 1), typeJSON, gone, "404 {}"},
		"GoneOther":   {"A deletion run does not see another missing object.", removes, other, typeJSON, gone, "404 {}"},
		"GoneUnknown": {"A deletion run does not see a missing object of an unknown kind.", removes, strings.Replace(site, "v1", "v2", 1), typeJSON, gone, "404 {}"},
	} {
		t.Run(name, func(t *testing.T) {
			_, way := ofSite(t, common.ModeApply, tc.state, `{"shown":true}`, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", tc.kind)

				switch {
				case r.URL.Path == "/apis/example.org/v1":
					_, _ = io.WriteString(w, `{"kind":"APIResourceList","resources":[{"name":"backups","kind":"Backup"},{"name":"sites","kind":"Site"},{"name":"sites/status","kind":"Site"}]}`)
				case tc.answer == gone:
					w.WriteHeader(http.StatusNotFound)

					_, _ = io.WriteString(w, "{}")
				default:
					_, _ = io.WriteString(w, tc.answer)
				}
			})
			code, answer := do(t, way, http.MethodGet, tc.path, typeJSON, "")

			if diff := cmp.Diff(tc.want, fmt.Sprint(code, " ", answer)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
