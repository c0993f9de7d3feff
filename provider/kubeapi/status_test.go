package kubeapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

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
		// taken is what is reported, and passed what the API server gets.
		taken, passed string
		status        int
	}{
		"Patch":         {"A patch of the status of the XR is a report.", common.ModeApply, "PATCH", site, merge, own, `merge {"size":3}`, "", 200},
		"Put":           {"So is its replacement.", common.ModeApply, "PUT", site, "application/json", own, `replace {"size":3}`, "", 200},
		"ClusterScoped": {"An XR may be cluster scoped.", common.ModeApply, "PATCH", "/apis/example.org/v1/sites/site/status", merge, own, `merge {"size":3}`, "", 200},
		"Check":         {"A check reports nothing.", common.ModeCheck, "PATCH", site, merge, own, "", "", 200},
		"DryRun":        {"Neither does a dry run.", common.ModeApply, "PATCH", site + "?dryRun=All", merge, own, "", "", 200},
		"Refused":       {"What cannot be kept is refused.", common.ModeApply, "PATCH", site, merge, `{"apiVersion":"example.org/v1","kind":"Site","status":{"bad":true}}`, `merge {"bad":true}`, "", 422},
		"OtherName":     {"Other objects are the API server's.", common.ModeApply, "PATCH", strings.Replace(site, "site/", "other/", 1), merge, own, "", own, 200},
		"OtherKind":     {"So are those of another kind.", common.ModeApply, "PATCH", site, merge, `{"apiVersion":"example.org/v1","kind":"Backup"}`, "", `{"apiVersion":"example.org/v1","kind":"Backup"}`, 200},
		"OtherGroup":    {"So are those of another group.", common.ModeApply, "PATCH", "/apis/example.com/v1/namespaces/team-a/sites/site/status", merge, own, "", own, 200},
		"OtherSpace":    {"And those of another namespace.", common.ModeApply, "PATCH", strings.Replace(site, "team-a", "team-b", 1), merge, own, "", own, 200},
		"Spec":          {"The rest of the XR is the API server's.", common.ModeApply, "PATCH", strings.TrimSuffix(site, "/status"), merge, own, "", own, 200},
	} {
		t.Run(name, func(t *testing.T) {
			passed, taken := "", ""

			run := spec()
			run.Mode, run.Object.Owner = tc.mode, runner.Owner{Group: "example.org", Kind: "Site", Name: "site"}

			p, way := openedFor(t, run, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				passed = string(body)
			}))
			p.Statuses(func(status json.RawMessage, replace bool) error {
				taken = map[bool]string{false: "merge ", true: "replace "}[replace] + string(status)
				if strings.Contains(taken, "bad") {
					return errors.New("it cannot be kept")
				}

				return nil
			})

			c, err := rest.HTTPClientFor(way)
			if err != nil {
				t.Fatal(err)
			}

			req, err := http.NewRequestWithContext(t.Context(), tc.method, way.Host+tc.path, strings.NewReader(tc.body))
			if err != nil {
				t.Fatal(err)
			}

			req.Header.Set("Content-Type", tc.kind)

			rsp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}

			answer, _ := io.ReadAll(rsp.Body)
			_ = rsp.Body.Close()

			got := fmt.Sprint(rsp.StatusCode, " ", taken, " ", passed)
			if diff := cmp.Diff(fmt.Sprint(tc.status, " ", tc.taken, " ", tc.passed), got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}

			if tc.status == 200 && tc.passed == "" && string(answer) != tc.body {
				t.Errorf("The module should get its object back, got %q", answer)
			}
		})
	}
}
