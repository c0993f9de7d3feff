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

// ended is the event of a task of an action that has ended with a result.
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
		"None":    {"Most content does not say.", ended(hostOK, "ansible.builtin.debug", `{"period":"5s"}`), 0},
		"Once":    {"Content says when it wants to run again.", ended(hostOK, own, `{"period":"1h30m"}`), 90 * time.Minute},
		"Last":    {"The last word counts, that of a loop, too.", ended(hostOK, own, `{"period":"1h"}`) + ended(itemOK, own, `{"period":"5s"}`), 5 * time.Second},
		"Skipped": {"What was skipped was not said.", ended(hostSkipped, own, `{"period":"5s"}`), 0},
		"Failed":  {"Neither was what failed.", ended(hostFailed, own, `{"period":"5s"}`), 0},
		"Garbage": {"The module checks letters only.", ended(hostOK, own, `{"period":"hms"}`) + ended(hostOK, own, `{"period":["5s"]}`) + ended(hostOK, own, `{"period":"-5s"}`), 0},
		"Longest": {"Nothing is put off for ever.", ended(hostOK, own, `{"period":"999999h"}`), maxRequeue},
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
		"First":      {"What content sets is kept.", "", []report{{`{"size":3}`, false}}, `{"size":3}`, "", ""},
		"Merged":     {"It is merged over what was there.", `{"a":{"b":1,"c":2},"d":9007199254740993}`, []report{{`{"a":{"b":null},"e":[1]}`, false}}, `{"a":{"c":2},"d":9007199254740993,"e":[1]}`, "", ""},
		"Twice":      {"Reports add up.", "", []report{{`{"a":1}`, false}, {`{"b":2}`, false}}, `{"a":1,"b":2}`, "", ""},
		"Replaced":   {"Or it takes its place.", `{"a":1}`, []report{{`{"b":2}`, true}, {`{"c":3}`, false}}, `{"b":2,"c":3}`, "", ""},
		"Nothing":    {"An empty status is one.", "", []report{{``, false}}, `{}`, "", ""},
		"Conditions": {"Conditions are conditions of the content, but for those of Crossplane.", "", []report{{`{"conditions":[{"type":"Up","status":"True","reason":"Yes"},{"type":"Ready","status":"True"}]}`, false}}, `{}`, "Up=True Yes", ""},
		"Secret":     {"A field with a secret is left out.", "", []report{{`{"a":{"hunter22":1},"b":["x-hunter22"],"c":1}`, false}}, `{"c":1}`, "", ""},
		"Mended":     {"It is there again once it has none.", "", []report{{`{"a":{"b":"hunter22","c":1}}`, false}, {`{"a":{"b":null}}`, false}}, `{"a":{"c":1}}`, "", ""},
		"InReason":   {"A reason is no text: another one takes its place.", "", []report{{`{"conditions":[{"type":"Up","status":"True","reason":"Has_hunter22"},{"type":"hunter22","status":"True"}]}`, false}}, `{}`, "Up=True ContainsSecret", ""},
		"TooLarge":   {"What is too large is refused, and changes nothing.", `{"a":1}`, []report{{`{"b":"` + strings.Repeat("x", MaxOutputs) + `"}`, false}}, ``, "", "at most 65536 can be kept"},
		"Huge":       {"Much is not even decoded: it would take far more memory than it has bytes.", `{"a":1}`, []report{{`{"b":null,"c":[` + strings.Repeat("0,", maxStatus/2) + `0]}`, false}}, ``, "", "at most 1048576 can be read"},
		"NoObject":   {"So is what is no object.", "", []report{{`[1]`, false}}, ``, "", "cannot read the status"},
		"Unstorable": {"So is what the API server cannot keep.", "", []report{{`{"n":1` + strings.Repeat("0", 400) + `}`, false}}, ``, "", "cannot be kept"},
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
				t.Errorf("Each report is progress, got %d", progress)
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

// TestReportStatusWithheld has a field stay withheld until content sets it again.
func TestReportStatusWithheld(t *testing.T) {
	before := common.Withheld{"url": "of an earlier run"}

	for name, tc := range map[string]struct {
		reason, patch string
		replace       bool
		want          common.Withheld
	}{
		"Other":    {"What is set beside it changes nothing.", `{"phase":"b"}`, false, before},
		"Again":    {"It is withheld for what it has now.", `{"url":"x-hunter22"}`, false, common.Withheld{"url": "key k of Secret s is in it"}},
		"Whole":    {"A field that is whole is withheld no more.", `{"url":"b"}`, false, nil},
		"Removed":  {"Nor is one that is gone.", `{"url":null}`, false, nil},
		"Replaced": {"A new status has none of the old one.", `{"phase":"b"}`, true, nil},
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
