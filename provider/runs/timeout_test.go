package runs

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

func TestTimeouts(t *testing.T) {
	of := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

	for name, tc := range map[string]struct {
		reason   string
		timeouts Timeouts
		asked    *metav1.Duration
		want     time.Duration
	}{
		"Default":   {"A run without a timeout should have the default.", Timeouts{time.Minute, time.Hour}, nil, time.Minute},
		"Own":       {"A run should have its own timeout.", Timeouts{time.Minute, time.Hour}, of(time.Second), time.Second},
		"TooLong":   {"A timeout should be at most the longest.", Timeouts{time.Minute, time.Hour}, of(24 * time.Hour), time.Hour},
		"None":      {"A run with the timeout 0 should have the longest.", Timeouts{time.Minute, time.Hour}, of(0), time.Hour},
		"NoDefault": {"Without a default, a run should have the longest timeout.", Timeouts{0, time.Hour}, nil, time.Hour},
		"Cut":       {"The default should be at most the longest timeout.", Timeouts{2 * time.Hour, time.Hour}, nil, time.Hour},
		"Unbounded": {"Without a longest timeout, 0 means none.", Timeouts{time.Minute, 0}, of(0), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.timeouts.Of(common.AnsibleRunParameters{Timeout: tc.asked}); got != tc.want {
				t.Errorf("\n%s\nOf(%v): want %s, got %s", tc.reason, tc.asked, tc.want, got)
			}
		})
	}
}
