package calendar

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

func TestNew(t *testing.T) {
	cases := map[string]struct {
		reason string
		of     common.Times
		want   string
	}{
		"Cron":       {reason: "It has five fields.", of: common.Times{Cron: "30 3 * * 1-5", TimeZone: "Europe/Berlin"}},
		"Word":       {reason: "Or it is a word.", of: common.Times{Cron: "@daily"}},
		"Seconds":    {reason: "It has no seconds.", of: common.Times{Cron: "0 30 3 * * *"}, want: "schedule.cron"},
		"Text":       {reason: "It is no text.", of: common.Times{Cron: "at night"}, want: "schedule.cron"},
		"Every":      {reason: "A window has to have a beginning.", of: common.Times{Cron: "@every 5m"}, want: "poll-interval"},
		"OwnZone":    {reason: "The time zone has a field, and this would end the program.", of: common.Times{Cron: "TZ=0"}, want: "must have no time zone"},
		"Never":      {reason: "The time has to come.", of: common.Times{Cron: "0 0 30 2 *"}, want: "30th of February"},
		"Zone":       {reason: "A time zone has to be there.", of: common.Times{Cron: "@daily", TimeZone: "Europe/Atlantis"}, want: "schedule.timeZone"},
		"Path":       {reason: "It is no path.", of: common.Times{Cron: "@daily", TimeZone: "../../etc/passwd"}, want: "schedule.timeZone"},
		"LocalZone":  {reason: "That of the provider's Pod is nobody's.", of: common.Times{Cron: "@daily", TimeZone: "Local"}, want: "schedule.timeZone"},
		"BothWrong":  {reason: "All mistakes are told.", of: common.Times{Cron: "x", TimeZone: "y"}, want: "schedule.timeZone"},
		"Descending": {reason: "A range has to ascend.", of: common.Times{Cron: "0 22-4 * * *"}, want: "schedule.cron"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, errs := New(&tc.of, nil)

			got := ""
			if len(errs) > 0 {
				got = errs.ToAggregate().Error()
			}

			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%s\nNew(...): want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

// Times around those when the clocks change.
func TestOpens(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}

		return v
	}

	cases := map[string]struct {
		reason   string
		cron     string
		duration time.Duration
		now      string
		opens    string // Empty if it is open.
	}{
		"Before":      {"It opens next Saturday.", "0 22 * * 6", 6 * time.Hour, "2026-11-24T12:00:00Z", "2026-11-28T21:00:00Z"},
		"Beginning":   {"It is open from its first second on.", "0 22 * * 6", 6 * time.Hour, "2026-11-28T21:00:00Z", ""},
		"Over":        {"It is open on the next day.", "0 22 * * 6", 6 * time.Hour, "2026-11-29T02:59:59Z", ""},
		"End":         {"It is closed at its end.", "0 22 * * 6", 6 * time.Hour, "2026-11-29T03:00:00Z", "2026-12-05T21:00:00Z"},
		"Summer":      {"It opens at the same hour in summer.", "0 22 * * 6", 6 * time.Hour, "2026-06-24T12:00:00Z", "2026-06-27T20:00:00Z"},
		"Spring":      {"A night that lacks an hour has a window of the same length.", "0 1 * * 0", 2 * time.Hour, "2026-03-29T01:59:00Z", ""},
		"Overlapping": {"Windows may overlap.", "0 * * * *", 90 * time.Minute, "2026-11-24T12:45:00Z", ""},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, errs := New(nil, &common.Window{Times: common.Times{Cron: tc.cron, TimeZone: "Europe/Berlin"}, Duration: metav1.Duration{Duration: tc.duration}})
			if len(errs) > 0 {
				t.Fatal(errs)
			}

			want := time.Time{}
			if tc.opens != "" {
				want = at(tc.opens)
			}

			if got := c.Opens(at(tc.now), true); !got.Equal(want) {
				t.Errorf("%s\nOpens(...): want %s, got %s", tc.reason, want, got)
			}
		})
	}
}
