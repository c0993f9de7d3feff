package events

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// ended returns an event of a task with a resolved action and a result.
func ended(kind, action, result string) string {
	return fmt.Sprintf(`{"uuid":"1","event":%q,"event_data":{"host":"localhost","resolved_action":%q,"res":%s}}`+"\n", kind, action, result)
}

func TestRequeue(t *testing.T) {
	const own = "operator_sdk.util.requeue_after"

	for name, tc := range map[string]struct {
		reason string
		stream string
		want   time.Duration
	}{
		"None":    {"Most content requests no run.", ended(hostOK, "ansible.builtin.debug", `{"period":"5s"}`), 0},
		"Once":    {"Content requests another run.", ended(hostOK, own, `{"period":"1h30m"}`), 90 * time.Minute},
		"Last":    {"The last request counts, also in a loop.", ended(hostOK, own, `{"period":"1h"}`) + ended(itemOK, own, `{"period":"5s"}`), 5 * time.Second},
		"Skipped": {"A skipped task requests no run.", ended(hostSkipped, own, `{"period":"5s"}`), 0},
		"Failed":  {"A failed task requests no run.", ended(hostFailed, own, `{"period":"5s"}`), 0},
		"Garbage": {"The module only checks the letters of the period.", ended(hostOK, own, `{"period":"hms"}`) + ended(hostOK, own, `{"period":["5s"]}`) + ended(hostOK, own, `{"period":"-5s"}`), 0},
		"Longest": {"The period is limited.", ended(hostOK, own, `{"period":"999999h"}`), maxRequeue},
	} {
		t.Run(name, func(t *testing.T) {
			if got := record(t, tc.stream, Options{}).Summary().Requeue; got != tc.want {
				t.Errorf("%s\nwant %s, got %s", tc.reason, tc.want, got)
			}
		})
	}
}

func TestReportStatus(t *testing.T) {
	type report struct {
		status  string
		replace bool
	}

	for name, tc := range map[string]struct {
		reason     string
		was        string
		reports    []report
		want       string
		conditions string
		err        string
	}{
		"First":      {"A status of content is kept.", "", []report{{`{"size":3}`, false}}, `{"size":3}`, "", ""},
		"Merged":     {"A status is merged into the earlier one.", `{"a":{"b":1,"c":2},"d":9007199254740993}`, []report{{`{"a":{"b":null},"e":[1]}`, false}}, `{"a":{"c":2},"d":9007199254740993,"e":[1]}`, "", ""},
		"Twice":      {"Reports add up.", "", []report{{`{"a":1}`, false}, {`{"b":2}`, false}}, `{"a":1,"b":2}`, "", ""},
		"Replaced":   {"A status may replace the earlier one.", `{"a":1}`, []report{{`{"b":2}`, true}, {`{"c":3}`, false}}, `{"b":2,"c":3}`, "", ""},
		"Nothing":    {"A status may be empty.", "", []report{{``, false}}, `{}`, "", ""},
		"Conditions": {"Conditions in the status are conditions of the content, except the types of Crossplane.", "", []report{{`{"conditions":[{"type":"Up","status":"True","reason":"Yes"},{"type":"Ready","status":"True"}]}`, false}}, `{}`, "Up=True Yes", ""},
		"Secret":     {"A field with a secret is left out.", "", []report{{`{"a":{"hunter22":1},"b":["x-hunter22"],"c":1}`, false}}, `{"c":1}`, "", ""},
		"Mended":     {"A field is shown again once it has no secret.", "", []report{{`{"a":{"b":"hunter22","c":1}}`, false}, {`{"a":{"b":null}}`, false}}, `{"a":{"c":1}}`, "", ""},
		"InReason":   {"A reason cannot be redacted: another one replaces it.", "", []report{{`{"conditions":[{"type":"Up","status":"True","reason":"Has_hunter22"},{"type":"hunter22","status":"True"}]}`, false}}, `{}`, "Up=True ContainsSecret", ""},
		"TooLarge":   {"A status that is too large is refused, and changes nothing.", `{"a":1}`, []report{{`{"b":"` + strings.Repeat("x", MaxOutputs) + `"}`, false}}, ``, "", "at most 65536 can be kept"},
		"Huge":       {"A very large status is not decoded: it would need far more memory than its size.", `{"a":1}`, []report{{`{"b":null,"c":[` + strings.Repeat("0,", maxStatus/2) + `0]}`, false}}, ``, "", "at most 1048576 can be read"},
		"NoObject":   {"A status that is not an object is refused.", "", []report{{`[1]`, false}}, ``, "", "cannot read the status"},
		"Unstorable": {"A status that the API server cannot keep is refused.", "", []report{{`{"n":1` + strings.Repeat("0", 400) + `}`, false}}, ``, "", "cannot be kept"},
	} {
		t.Run(name, func(t *testing.T) {
			progress := 0
			r := NewRecorder(Options{Status: json.RawMessage(tc.was), Secrets: redact.New(redact.InFile("hunter22", redact.Source{})), Watch: Watch{Progress: func(Summary) { progress++ }}})

			var err error
			for _, p := range tc.reports {
				err = r.ReportStatus(json.RawMessage(p.status), p.replace)
			}

			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s\nwant error %q, got %v", tc.reason, tc.err, err)
			}

			if err == nil && progress != len(tc.reports) {
				t.Errorf("Each report should call Progress, got %d calls", progress)
			}

			s := r.Summary().Report
			if diff := cmp.Diff(tc.want, string(s.Status)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}

			var conditions []string
			for _, c := range s.Conditions {
				conditions = append(conditions, fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason))
			}

			if diff := cmp.Diff(tc.conditions, strings.Join(conditions, " ")); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}

			r.Close()

			if err := r.ReportStatus(json.RawMessage(`{}`), false); err == nil {
				t.Errorf("Nothing should be reported after the end")
			}
		})
	}
}

// TestReportStatusWithheld has a field that stays withheld until content sets it again.
func TestReportStatusWithheld(t *testing.T) {
	before := common.Withheld{"url": "of an earlier run"}

	for name, tc := range map[string]struct {
		reason, patch string
		replace       bool
		want          common.Withheld
	}{
		"Other":    {"Other fields do not change it.", `{"phase":"b"}`, false, before},
		"Again":    {"The reason is that of the new value.", `{"url":"x-hunter22"}`, false, common.Withheld{"url": "key k of Secret s is in it"}},
		"Whole":    {"A field without a secret is not withheld any more.", `{"url":"b"}`, false, nil},
		"Removed":  {"A removed field is not withheld any more.", `{"url":null}`, false, nil},
		"Replaced": {"A new status has no fields of the old one.", `{"phase":"b"}`, true, nil},
		"InName":   {"The name of a field may have a secret, too.", `{"hunter22":1}`, false, common.Withheld{"": "key k of Secret s is in its name"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewRecorder(Options{
				Status: json.RawMessage(`{"phase":"a"}`), Withheld: before,
				Secrets: redact.New(redact.InFile("hunter22", redact.Source{Secret: "s", Key: "k"})),
			})

			needs.OK(t, r.ReportStatus(json.RawMessage(tc.patch), tc.replace))

			if diff := cmp.Diff(tc.want, r.Summary().Report.WithheldStatus); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
