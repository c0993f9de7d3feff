package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestFlags shows which values of flags are refused: those with which a provider
// would wait in silence, or never rest.
func TestFlags(t *testing.T) {
	for name, tc := range map[string]struct {
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
			args:   "--max-timeout=-1m",
			want:   "--max-timeout must not be negative: 0 means that there is none",
		},
		"NegativeTimeoutOfOneRun": {
			reason: "Also without a cluster.",
			args:   "run --file=run.yaml --max-timeout=-1m",
			want:   "--max-timeout must not be negative: 0 means that there is none",
		},
		"NegativeTTL": {
			reason: "Nobody can mean that.",
			args:   "--content-ttl=-1h",
			want:   "--content-ttl must not be negative: 0 means for ever",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := kong.New(&cli{}, kong.Vars{"state_dir": t.TempDir()})
			needs.OK(t, err)

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

// TestPodTemplate reads a file with a template of Pods.
func TestPodTemplate(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		text   string
		want   string
		error  string
	}{
		"YAML": {
			reason: "The template is kept as it is written, so that nothing that it does not say is merged.",
			text:   "spec:\n  nodeSelector: {pool: a}\n",
			want:   `{"spec":{"nodeSelector":{"pool":"a"}}}`,
		},
		"Misspelt": {
			reason: "A provider whose Pods would lack something should not start.",
			text:   `{"spec": {"nodeSelectors": {"pool": "a"}}}`,
			error:  `is no PodTemplateSpec: error unmarshaling JSON: while decoding JSON: json: unknown field "nodeSelectors"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pod.yaml")
			needs.OK(t, os.WriteFile(file, []byte(tc.text), 0o600))

			c := &cli{}

			p, err := kong.New(c, kong.Vars{"state_dir": t.TempDir()})
			needs.OK(t, err)

			got := ""
			if _, err := p.Parse([]string{"start", "--pod-template=" + file}); err != nil {
				got = err.Error()
			}

			if !strings.HasSuffix(got, tc.error) || tc.error == "" && got != "" || string(c.Start.PodTemplate) != tc.want {
				t.Errorf("%s\nwant %s and error %q, got %s and error %q", tc.reason, tc.want, tc.error, c.Start.PodTemplate, got)
			}
		})
	}
}

// TestFlagsAreDocumented looks for each flag in the table that has them all.
func TestFlagsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/operations.md")
	needs.OK(t, err)

	p, err := kong.New(&cli{}, kong.Vars{"state_dir": t.TempDir()})
	needs.OK(t, err)

	for _, f := range p.Model.Children[0].Flags {
		if !strings.Contains(string(text), "`--"+f.Name+"`") && !strings.Contains(string(text), "`--no-"+f.Name+"`") {
			t.Errorf("docs/operations.md should have --%s.", f.Name)
		}
	}
}

// TestPodArgs passes the flags on that hold in Pods, too. A flag that is new is one of the others, or is passed on.
func TestPodArgs(t *testing.T) {
	start := startCommand{ContentTTL: 6 * time.Hour}
	start.Confinement, start.MaxTimeout = sandbox.Off, 5*time.Hour

	dir := t.TempDir()
	c := &cli{}

	p, err := kong.New(c, kong.Vars{"state_dir": dir})
	needs.OK(t, err)

	if _, err := p.Parse(append([]string{"work", "--payload=/payload"}, start.podArgs()...)); err != nil {
		t.Fatalf("Parse(...): %v", err)
	}

	want := start.Machine
	// The rest has its default: the payload has the timeout of the run, and one run has the container for itself.
	want.StateDir = dir

	if diff := cmp.Diff(start.ContentTTL, c.Work.ContentTTL); diff != "" {
		t.Errorf("-want TTL, +got:\n%s", diff)
	}

	if diff := cmp.Diff(want, c.Work.Machine, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
