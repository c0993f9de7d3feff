package main

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestFlags shows which values of flags are refused: those with which a provider
// would wait in silence, or never rest.
func TestFlags(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   string
		want   string
	}{
		"Defaults": {
			reason: "A provider starts without any flags.",
		},
		"NoRuns": {
			reason: "Every run would wait for ever.",
			args:   "--max-concurrent-runs=0",
			want:   "--max-concurrent-runs must be at least 1",
		},
		"NoReconciles": {
			reason: "No object would ever be looked at.",
			args:   "start --max-reconcile-rate=0",
			want:   "--max-reconcile-rate must be at least 1",
		},
		"NoPollInterval": {
			reason: "Content would be applied again as soon as it was applied.",
			args:   "--poll-interval=0s",
			want:   "--poll-interval must be more than 0: objects that are not to be run at a poll have the run policy RunOnChange",
		},
		"NegativeTimeout": {
			reason: "Every run would be over before it begins.",
			args:   "--timeout=-1m",
			want:   "--timeout must not be negative: 0 means none",
		},
		"NegativeTimeoutOfOneRun": {
			reason: "Also without a cluster.",
			args:   "run --file=run.yaml --timeout=-1m",
			want:   "--timeout must not be negative: 0 means none",
		},
		"NegativeTTL": {
			reason: "Nobody can mean that.",
			args:   "--content-ttl=-1h",
			want:   "--content-ttl must not be negative: 0 means for ever",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := kong.New(&cli{}, kong.Vars{"state_dir": t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}

			got := ""
			if _, err := p.Parse(strings.Fields(tc.args)); err != nil {
				got = err.Error()
			}

			if !strings.HasSuffix(got, tc.want) || tc.want == "" && got != "" {
				t.Errorf("\n%s\nParse(%q): want an error with %q, got %q", tc.reason, tc.args, tc.want, got)
			}
		})
	}
}
