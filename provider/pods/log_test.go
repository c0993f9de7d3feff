package pods

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/time/rate"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sealed"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestLogAgain has logs that break off, and are read again from their start. No line is shown twice.
func TestLogAgain(t *testing.T) {
	key := sealed.NewKey()
	reports := &bytes.Buffer{}

	w, err := sealed.NewWriter(reports, key, "id", "pod")
	needs.OK(t, err)

	report := func(phase common.RunPhase) string {
		reports.Reset()

		needs.OK(t, w.Report(runs.Report{Run: common.Run{Phase: phase}}))

		return reports.String()
	}
	first, second, last := report(common.PhaseInstalling), report(common.PhaseRunning), report(common.PhaseSucceeded)

	for name, tc := range map[string]struct {
		reason string
		logs   []string
		want   string
	}{
		"Once":     {"A log shows its lines.", []string{"a\n" + first + "b\n" + last}, "a\nb\n"},
		"Before":   {"A log may break off before the first report.", []string{"a\n", "a\nb\n" + first + "c\n" + last}, "a\nb\nc\n"},
		"Rotated":  {"The previous report may be missing after a rotation.", []string{first + "a\n", "b\n" + second + "c\n" + last}, "b\nc\n"},
		"NoReport": {"A line may only begin like a report.", []string{"ansible.crossplane.io/report:" + string(bytes.Repeat([]byte("A"), 200)) + "\na\n", "a\n" + last}, "a\n"},
	} {
		t.Run(name, func(t *testing.T) {
			reader, err := sealed.NewReader(key, "id", "pod")
			needs.OK(t, err)

			c, r := newCluster(t), onCluster(t)
			r.Backend, r.log.reader, r.log.pace = c.x, reader, rate.NewLimiter(logRate, logBurst)
			r.reports = make(chan runs.Report, len(tc.logs)+1)
			r.mask(nil)

			for n, text := range tc.logs {
				c.log = text

				if err := r.readOnce(t.Context()); (err == nil) != (n == len(tc.logs)-1) {
					t.Errorf("%s\nreadOnce(...): %v", tc.reason, err)
				}
			}

			if diff := cmp.Diff(tc.want, r.tail()); diff != "" {
				t.Errorf("%s\nshown: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestAttackShown has a hostile image that writes into its log.
func TestAttackShown(t *testing.T) {
	r, log := onCluster(t), &events.LogTail{}
	r.log.shown.Store(log)
	log.Add([]byte("ok: correct horse \x1b[2J"))

	if got := r.tail(); got != "" {
		t.Errorf("Nothing should be shown before the secrets are known, got %q", got)
	}

	r.todo.Inputs = inputs.Inputs{Credentials: []inputs.File{{Name: "password", Data: []byte("correct horse"), Secret: true}}}
	r.mask(map[string][]byte{"password": []byte("battery staple"), "all": []byte(`{"host": "db.example.org"}`)})
	log.Add([]byte("ok: battery staple, and db.example.org"))

	if got := r.tail(); got != "ok: ********\nok: ********, and ********\n" {
		t.Errorf("Secrets and connection details should be redacted, and control characters removed, got %q", got)
	}
}
