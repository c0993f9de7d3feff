package events

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func golden(t *testing.T, name string) string {
	t.Helper()

	return needs.Read(t, "testdata/"+name+".jsonl")
}

func condition(typ, status, reason, message string) xpv2.Condition {
	return xpv2.Condition{
		Type: xpv2.ConditionType(typ), Status: corev1.ConditionStatus(status), Reason: xpv2.ConditionReason(reason), Message: message,
	}
}

func TestReport(t *testing.T) {
	// The reports at the start of each task, while the play runs.
	live := map[string]Report{}

	r := record(t, golden(t, "status"), Options{Secrets: redact.New(redact.InFile("hunter22", redact.Source{})), Watch: Watch{
		Progress: func(s Summary) { live[s.Play+": "+s.Task] = s.Report },
	}})

	outputs := func(o string) map[string]json.RawMessage {
		var m map[string]json.RawMessage
		needs.OK(t, json.Unmarshal([]byte(o), &m))

		return m
	}

	refused := condition("DatabaseReachable", "False", "ConnectionRefused", "******** was refused")
	want := map[string]Report{
		"Report: ": {},
		"Report: Report outputs and a condition": {
			Outputs: outputs(`{"url":"https://example.org","members":[1],"port":443}`), Conditions: []xpv2.Condition{refused},
		},
		"Report: Report in a loop": {
			Outputs: outputs(`{"url":"https://example.org","members":["one", "two"],"port":443,"last":"Second"}`),
			Conditions: []xpv2.Condition{
				refused, condition("First", "True", "Looped", ""), condition("Second", "True", "Looped", ""),
			},
		},
		"Report with a short name: Report in a handler": {
			Outputs: outputs(`{"url":"https://example.org","members":["one", "two"],"port":8443,"last":"Second"}`),
			Conditions: []xpv2.Condition{
				condition("DatabaseReachable", "True", "Connected", ""), condition("First", "True", "Looped", ""), condition("Second", "True", "Looped", ""),
			},
		},
	}

	// Other tasks do not report.
	for _, task := range []string{
		"Report: Report no more", "Report: Try a report", "Report: Fail to report", "Report: Hide a report", "Report: Call a report a failure",
		"Report: Return what a report returns", "Report: Publish", "Report with a short name: ", "Report with a short name: Notify",
	} {
		want[task] = want["Report: Report in a loop"]
	}

	compare := cmp.Options{cmpopts.IgnoreFields(xpv2.Condition{}, "LastTransitionTime"), cmpopts.EquateEmpty()}
	if diff := cmp.Diff(want, live, compare); diff != "" {
		t.Errorf("Reports should be known at once, and other results should not count as reports.\n-want, +got:\n%s", diff)
	}

	s := r.Summary()

	// Ansible itself aggregates the data of several hosts.
	const published = `{"count":2,"host":"example.orgexample.org","last":"Second","members":["one","two"],"port":8443,"url":"https://example.org"}`
	if diff := cmp.Diff(published, string(s.Outputs)); diff != "" {
		t.Errorf("Reported outputs should take precedence over those of set_stats.\n-want outputs, +got outputs:\n%s", diff)
	}

	for _, c := range s.Report.Conditions {
		if c.LastTransitionTime.IsZero() || c.LastTransitionTime.Nanosecond() != 0 {
			t.Errorf("The time should be that of the event, in seconds.\ngot %s", c.LastTransitionTime)
		}
	}
}

// reports returns a stream of results of an action.
func reports(action string, results ...string) string {
	var stream strings.Builder

	for i, res := range results {
		fmt.Fprintf(&stream, `{"event": "runner_on_ok", "uuid": "u", "created": "2026-01-02T03:04:%02d.5+00:00", "event_data": {"host": "h", "resolved_action": %q, "res": %s}}`+"\n",
			i, action, res)
	}

	return stream.String()
}

func TestReports(t *testing.T) {
	at := func(second int) metav1.Time { return metav1.NewTime(time.Date(2026, 1, 2, 3, 4, second, 0, time.UTC)) }
	one := func(status string, message string) string {
		return fmt.Sprintf(`{"reported": true, "conditions": [{"type": "A", "status": %q, "reason": "B", "message": %q}]}`, status, message)
	}
	output := func(name string, n int) string {
		return fmt.Sprintf(`{"reported": true, "outputs": {%q: %q}}`, name, strings.Repeat("x", n))
	}

	var many []string
	for i := range MaxConditions + 1 {
		many = append(many, fmt.Sprintf(`{"reported": true, "conditions": [{"type": "T%d", "status": "True", "reason": "B"}]}`, i))
	}

	type want struct {
		conditions []xpv2.Condition
		outputs    int
		size       int
		excess     bool
	}

	for name, tc := range map[string]struct {
		reason string
		action string
		stream []string
		want   want
	}{
		"Forged": {
			reason: "Only the provider's own action can report.",
			action: "acme.ansible.status",
			stream: []string{one("True", "")},
		},
		"Own": {
			reason: "Content cannot set the provider's own conditions.",
			stream: []string{`{"reported": true, "conditions": [{"type": "Ready", "status": "True", "reason": "B"}]}`},
		},
		"Steady": {
			reason: "The time of a condition is that of the last change of its status.",
			stream: []string{one("False", "one"), one("True", "two"), one("True", "three")},
			want: want{conditions: []xpv2.Condition{
				{Type: "A", Status: "True", Reason: "B", Message: "three", LastTransitionTime: at(1)},
			}},
		},
		"TooLarge": {
			reason: "Outputs that are too large together are left out, with their size.",
			stream: []string{output("a", MaxOutputs/2), output("b", MaxOutputs/2), output("a", 1)},
			want:   want{outputs: 1, size: MaxOutputs + 15},
		},
		"TooMany": {
			reason: "Too many conditions are left out, and Excess is true.",
			stream: many,
			want: want{excess: true, conditions: func() []xpv2.Condition {
				var cs []xpv2.Condition
				for i := range MaxConditions {
					cs = append(cs, xpv2.Condition{Type: xpv2.ConditionType(fmt.Sprintf("T%d", i)), Status: "True", Reason: "B", LastTransitionTime: at(i)})
				}

				return cs
			}()},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.action == "" {
				tc.action = actionStatus
			}

			s := record(t, reports(tc.action, tc.stream...), Options{}).Summary()

			got := want{conditions: s.Report.Conditions, outputs: len(s.Report.Outputs), size: s.OutputsSize, excess: s.Report.Excess}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestWithheld reports more outputs with secrets than a status lists, and one without.
func TestWithheld(t *testing.T) {
	outputs := map[string]string{"whole": "1"}
	for i := range common.MaxWithheld + 50 {
		outputs[fmt.Sprintf("secret%03d", i)] = "hunter22"
	}

	res, err := json.Marshal(map[string]any{"reported": true, "outputs": outputs})
	needs.OK(t, err)

	secrets := redact.New(redact.InFile("hunter22", redact.Source{Secret: "s", Key: "k"}))
	got := record(t, reports(actionStatus, string(res)), Options{Secrets: secrets}).Summary().Report

	if diff := cmp.Diff(map[string]json.RawMessage{"whole": json.RawMessage(`"1"`)}, got.Outputs); diff != "" {
		t.Errorf("The output without a secret should be listed: -want, +got:\n%s", diff)
	}

	if diff := cmp.Diff(common.Withheld{"": "more than 100 are withheld"}, got.Withheld); diff != "" {
		t.Errorf("One entry should stand for all: -want, +got:\n%s", diff)
	}

	if err := got.Check(); err != nil {
		t.Errorf("A report of a recorder should be valid: %v", err)
	}
}

func TestConnectionDetails(t *testing.T) {
	r := record(t, golden(t, "details"), Options{Tail: true})
	s := r.Summary()

	details := `{"host":"two","password":"correct \"horse\" / battery","pin":123,"silent":"silent as a mouse","token_first":"token of first","token_second":"token of second"}`
	if diff := cmp.Diff(decode(t, details), decode(t, string(s.ConnectionDetails))); diff != "" {
		t.Errorf("Connection details should be in a field of their own, unchanged.\n-want, +got:\n%s", diff)
	}

	s.ConnectionDetails = nil

	text, err := json.Marshal([]any{s, r.Tail(), r.Text(), r.Warnings()})
	needs.OK(t, err)

	for _, secret := range []string{"horse", "silent as", "token of"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("Connection details should not be reported elsewhere, got %q in\n%s", secret, text)
		}
	}

	if tail := r.Tail(); strings.Contains(tail, `"pin": 123}, "url"`) || strings.Contains(tail, "CUSTOM STATS") {
		t.Errorf("The display of set_stats should not have them, got\n%s", tail)
	}

	if diff := cmp.Diff(`{"url":"https://example.org/one"}`, string(s.Outputs)); diff != "" {
		t.Errorf("Neither should the outputs have them.\n-want, +got:\n%s", diff)
	}

	if diff := cmp.Diff(common.Withheld{"too_early": "the value of password is in it"}, s.Withheld); diff != "" {
		t.Errorf("An output that was reported before they were published should be withheld.\n-want, +got:\n%s", diff)
	}

	want := []common.Failure{{Task: "Fail with ********", Host: "two", Message: "the password is ********, not ********"}}
	if diff := cmp.Diff(want, s.Failures); diff != "" {
		t.Errorf("Failures should be redacted, also earlier ones.\n-want, +got:\n%s", diff)
	}
}

func decode(t *testing.T, text string) any {
	t.Helper()

	var v any
	needs.OK(t, json.Unmarshal([]byte(text), &v))

	return v
}
