package calendar

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestNew(t *testing.T) {
	cases := map[string]struct {
		reason string
		of     common.Times
		want   string
	}{
		"Cron":       {reason: "A schedule has five fields.", of: common.Times{Cron: "30 3 * * 1-5", TimeZone: "Europe/Berlin"}},
		"Word":       {reason: "A schedule may be a word.", of: common.Times{Cron: "@daily"}},
		"Seconds":    {reason: "A schedule with seconds is an error.", of: common.Times{Cron: "0 30 3 * * *"}, want: "schedule.cron"},
		"Text":       {reason: "Another text is an error.", of: common.Times{Cron: "at night"}, want: "schedule.cron"},
		"Every":      {reason: "An interval is an error, since a window needs a beginning.", of: common.Times{Cron: "@every 5m"}, want: "must name points in time: the poll interval sets a time between runs"},
		"OwnZone":    {reason: "A time zone in the schedule, on which the library would panic, is an error.", of: common.Times{Cron: "TZ=0"}, want: "must have no time zone"},
		"Never":      {reason: "A time that never comes is an error.", of: common.Times{Cron: "0 0 30 2 *"}, want: "30th of February"},
		"Zone":       {reason: "An unknown time zone is an error.", of: common.Times{Cron: "@daily", TimeZone: "Europe/Atlantis"}, want: "schedule.timeZone"},
		"Path":       {reason: "A path as the time zone is an error.", of: common.Times{Cron: "@daily", TimeZone: "../../etc/passwd"}, want: "schedule.timeZone"},
		"LocalZone":  {reason: "The time zone of the provider's Pod is an error.", of: common.Times{Cron: "@daily", TimeZone: "Local"}, want: "schedule.timeZone"},
		"BothWrong":  {reason: "Both mistakes are reported.", of: common.Times{Cron: "x", TimeZone: "y"}, want: "schedule.timeZone"},
		"Descending": {reason: "A descending range is an error.", of: common.Times{Cron: "0 22-4 * * *"}, want: "schedule.cron"},
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

func at(t *testing.T, s string) time.Time {
	t.Helper()

	v, err := time.Parse(time.RFC3339, s)
	needs.OK(t, err)

	return v
}

// TestDue has changes of clocks. In the night of the 29th of March 2026 clocks in Berlin go from 2:00 to 3:00, at 01:00
// UTC. On the 25th of October they go from 3:00 back to 2:00, at the same time. In Lord Howe they go back from 2:00 to
// 1:30 in April.
func TestDue(t *testing.T) {
	const berlin = "Europe/Berlin"

	cases := map[string]struct {
		reason     string
		cron, zone string
		after      string
		want       []string
	}{
		"Missing":     {"A run in a missing hour is due when the clocks are put forward.", "0 2 * * *", berlin, "2026-03-28T12:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"}},
		"MissingLate": {"A run in the middle of a missing hour is due when the clocks are put forward.", "30 2 * * 0", berlin, "2026-03-28T12:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-04-05T00:30:00Z"}},
		"MissingOnce": {"A run is due once when two times fall together.", "0 2,3 * * *", berlin, "2026-03-28T12:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"}},
		"Twice":       {"A run in an hour that comes twice is due once.", "0 2 * * *", berlin, "2026-10-24T12:00:00Z", []string{"2026-10-25T00:00:00Z", "2026-10-26T01:00:00Z"}},
		"TwiceLate":   {"A run is not due again when its hour comes for the second time.", "15 2 * * *", berlin, "2026-10-25T01:10:00Z", []string{"2026-10-26T01:15:00Z"}},
		"AfterTwice":  {"A run after an hour that comes twice is due at its own hour.", "0 2,3 * * *", berlin, "2026-10-25T00:00:00Z", []string{"2026-10-25T02:00:00Z", "2026-10-26T01:00:00Z"}},
		"Hourly":      {"An hourly run is due in both of two equal hours.", "@hourly", berlin, "2026-10-24T23:30:00Z", []string{"2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"}},
		"HourlyGap":   {"An hourly run is not due in a missing hour.", "0 * * * *", berlin, "2026-03-29T00:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"}},
		"HalfAnHour":  {"Clocks may be put back by half an hour.", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00Z", []string{"2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"}},
		"Plain":       {"UTC has no changes of clocks.", "0 2 * * *", "", "2026-03-28T12:00:00Z", []string{"2026-03-29T02:00:00Z", "2026-03-30T02:00:00Z"}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, errs := New(&common.Times{Cron: tc.cron, TimeZone: tc.zone}, nil)
			if len(errs) > 0 {
				t.Fatal(errs)
			}

			after := at(t, tc.after)

			for _, want := range tc.want {
				got := c.Due(after)
				if !got.Equal(at(t, want)) {
					t.Fatalf("%s\nDue(%s): want %s, got %s", tc.reason, after.UTC(), want, got.UTC())
				}

				after = got
			}
		})
	}
}

// TestOpens has times around the changes of clocks.
func TestOpens(t *testing.T) {
	cases := map[string]struct {
		reason   string
		cron     string
		duration time.Duration
		now      string
		opens    string // Empty if the window is open.
	}{
		"Before":      {"A closed window opens next Saturday.", "0 22 * * 6", 6 * time.Hour, "2026-11-24T12:00:00Z", "2026-11-28T21:00:00Z"},
		"Beginning":   {"A window is open from its first second on.", "0 22 * * 6", 6 * time.Hour, "2026-11-28T21:00:00Z", ""},
		"Over":        {"A window stays open on the next day.", "0 22 * * 6", 6 * time.Hour, "2026-11-29T02:59:59Z", ""},
		"End":         {"A window is closed at its end.", "0 22 * * 6", 6 * time.Hour, "2026-11-29T03:00:00Z", "2026-12-05T21:00:00Z"},
		"Summer":      {"A window opens at the same hour in summer.", "0 22 * * 6", 6 * time.Hour, "2026-06-24T12:00:00Z", "2026-06-27T20:00:00Z"},
		"Spring":      {"A night that lacks an hour has a window of the same length.", "0 1 * * 0", 2 * time.Hour, "2026-03-29T01:59:00Z", ""},
		"Missing":     {"A window with a missing hour opens when the clocks are put forward.", "0 2 * * 0", time.Hour, "2026-03-29T01:30:00Z", ""},
		"Twice":       {"A window opens once in a night that has its hour twice.", "0 2 * * 0", 30 * time.Minute, "2026-10-25T01:10:00Z", "2026-11-01T01:00:00Z"},
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
				want = at(t, tc.opens)
			}

			if got := c.Opens(at(t, tc.now), true); !got.Equal(want) {
				t.Errorf("%s\nOpens(...): want %s, got %s", tc.reason, want, got)
			}

			closes := c.Closes(at(t, tc.now), true)
			if closes.IsZero() != (tc.opens != "") || tc.opens == "" && (!closes.After(at(t, tc.now)) || closes.After(at(t, tc.now).Add(tc.duration))) {
				t.Errorf("%s\nCloses(...): got %s", tc.reason, closes.UTC())
			}
		})
	}
}
