package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/alecthomas/kong"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"

	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
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

// TestPodTemplate reads a file with a template of Pods.
func TestPodTemplate(t *testing.T) {
	cases := map[string]struct {
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
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pod.yaml")
			if err := os.WriteFile(file, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}

			c := &cli{}

			p, err := kong.New(c, kong.Vars{"state_dir": t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}

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
	if err != nil {
		t.Fatal(err)
	}

	p, err := kong.New(&cli{}, kong.Vars{"state_dir": t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}

	for _, f := range p.Model.Children[0].Flags {
		if !strings.Contains(string(text), "`--"+f.Name+"`") && !strings.Contains(string(text), "`--no-"+f.Name+"`") {
			t.Errorf("docs/operations.md should have --%s.", f.Name)
		}
	}
}

// What runs may have follows from what the container has.
func TestMemory(t *testing.T) {
	const mebi = 1 << 20

	root := fstest.MapFS{
		"proc/self/cgroup":         {Data: []byte("0::/\n")},
		"sys/fs/cgroup/memory.max": {Data: []byte("1610612736\n")},
	}

	cases := map[string]struct {
		reason         string
		c              confinement
		root           fstest.MapFS
		each, together int64
	}{
		"Unlimited": {reason: "A machine has no limit.", each: 4096 * mebi},
		"Share":     {reason: "A container is shared.", c: confinement{Sharing: 4}, root: root, each: 640 * mebi, together: 320 * mebi},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			each, together := tc.c.memory(tc.root, logging.NewNopLogger())
			if each != tc.each || together != tc.together {
				t.Errorf("%s\nmemory(...): want %d, %d, got %d, %d", tc.reason, tc.each, tc.together, each, together)
			}
		})
	}
}

// TestMemoryInPod: in the Pod of a run no flag of the provider's says what memory there is, but the configuration does.
func TestMemoryInPod(t *testing.T) {
	root := fstest.MapFS{
		"proc/self/cgroup":         {Data: []byte("0::/\n")},
		"sys/fs/cgroup/memory.max": {Data: []byte("167772160\n")},
	}

	cases := map[string]struct {
		reason string
		c      confinement
		want   string
	}{
		"Provider": {reason: "Runs of the provider's share its memory.", c: confinement{Sharing: 4}, want: "--max-"},
		"Pod":      {reason: "A Pod has one run.", c: confinement{Sharing: 1, InPod: true}, want: "spec.execution.resources"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			warning := ""
			tc.c.memory(root, logging.NewLogrLogger(funcr.New(func(_, args string) { warning += args }, funcr.Options{})))

			for _, text := range []string{warning, tc.c.share()} {
				if !strings.Contains(text, tc.want) || strings.Contains(text, "--max-") != strings.Contains(tc.want, "--max-") {
					t.Errorf("%s\nwant %s to be named, got %q", tc.reason, tc.want, text)
				}
			}
		})
	}
}

// TestPodArgs passes the flags on that hold in Pods, too. A flag that is new is one of the others, or is passed on.
func TestPodArgs(t *testing.T) {
	start := startCommand{execution: execution{
		confinement: confinement{Confinement: sandbox.Off},
		MaxTimeout:  5 * time.Hour,
	}, ContentTTL: 6 * time.Hour}

	dir := t.TempDir()
	c := &cli{}

	p, err := kong.New(c, kong.Vars{"state_dir": dir})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := p.Parse(append([]string{"work", "--payload=/payload"}, start.podArgs()...)); err != nil {
		t.Fatalf("Parse(...): %v", err)
	}

	want := start.execution
	// The rest has its default: the payload has the timeout of the run, and one run has the container for itself.
	want.StateDir = dir

	if diff := cmp.Diff(start.ContentTTL, c.Work.ContentTTL); diff != "" {
		t.Errorf("-want TTL, +got:\n%s", diff)
	}

	if diff := cmp.Diff(want, c.Work.execution, cmp.AllowUnexported(execution{}, confinement{})); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
