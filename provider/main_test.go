package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// parser returns a parser of command lines, and the struct that it sets.
func parser(t *testing.T, stateDir string, options ...kong.Option) (*kong.Kong, *cli) {
	t.Helper()

	c := &cli{}

	p, err := kong.New(c, append(options, kong.Vars{"state_dir": stateDir}, kong.BindTo(t.Context(), (*context.Context)(nil)))...)
	needs.OK(t, err)

	return p, c
}

// TestFlags has invalid values of flags: values with which a provider would execute no runs, or never pause,
// and contradictory flags of run.
func TestFlags(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "pod.yaml")
	needs.Write(t, dir, map[string]string{"pod.yaml": `{"spec": {"nodeSelectors": {"pool": "a"}}}`})

	for name, tc := range map[string]struct{ args, want string }{
		"Defaults":                {"", ""},
		"NoRuns":                  {"--max-concurrent-runs=0", "--max-concurrent-runs must be at least 1"},
		"NoReconciles":            {"start --max-reconcile-rate=0", "--max-reconcile-rate must be at least 1"},
		"NoPollInterval":          {"--poll-interval=0s", "--poll-interval must be more than 0: objects that are not to be run at a poll have the run policy RunOnChange"},
		"NegativeTimeout":         {"--max-timeout=-1m", "--max-timeout must not be negative: 0 means that there is none"},
		"NegativeTimeoutOfOneRun": {"run --file=" + file + " --max-timeout=-1m", "--max-timeout must not be negative: 0 means that there is none"},
		"NegativeTTL":             {"--content-ttl=-1h", "--content-ttl must not be negative: 0 means for ever"},
		"Misspelt":                {"--pod-template=" + file, `is not a PodTemplateSpec: error unmarshaling JSON: while decoding JSON: json: unknown field "nodeSelectors"`},
		"Nothing":                 {"run", "give the manifest of an AnsibleRun with --file, or a directory with --project"},
		"Both":                    {"run --file=" + file + " --project=.", "--project and --file can't be used together"},
		"Tags":                    {"run --file=" + file + " --tags=web", "need --project: manifests say it themselves"},
		"Playbook":                {"run --project=. --role=a site.yml", "--role is in place of a playbook"},
		"Output":                  {"run --file=" + file + " --output=yaml", "--output=yaml prints what --project runs"},
		"Lists":                   {"run --project=. --output=json --list-tasks", "--syntax-check and --list-tasks carry out none"},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := parser(t, t.TempDir())
			got := ""

			if _, err := p.Parse(strings.Fields(tc.args)); err != nil {
				got = err.Error()
			}

			if !strings.HasSuffix(got, tc.want) || tc.want == "" && got != "" {
				t.Errorf("Parse(%q): want an error with %q, got %q", tc.args, tc.want, got)
			}
		})
	}
}

// TestPodTemplate tests that a template is not changed, so that only its own fields are merged.
func TestPodTemplate(t *testing.T) {
	dir := t.TempDir()
	needs.Write(t, dir, map[string]string{"pod.yaml": "spec:\n  nodeSelector: {pool: a}\n"})

	p, c := parser(t, dir)

	_, err := p.Parse([]string{"--pod-template=" + filepath.Join(dir, "pod.yaml")})
	needs.OK(t, err)

	if diff := cmp.Diff(`{"spec":{"nodeSelector":{"pool":"a"}}}`, string(c.Start.PodTemplate)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestFlagsAreDocumented looks for each flag in the table of flags.
func TestFlagsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/operations.md")
	needs.OK(t, err)

	p, _ := parser(t, t.TempDir())

	for _, f := range p.Model.Children[0].Flags {
		if !strings.Contains(string(text), "`--"+f.Name+"`") && !strings.Contains(string(text), "`--no-"+f.Name+"`") {
			t.Errorf("docs/operations.md should have --%s.", f.Name)
		}
	}
}

// TestPodArgs tests that flags are passed on to Pods. A new flag must be passed on, or be listed here.
func TestPodArgs(t *testing.T) {
	start := startCommand{ContentTTL: 6 * time.Hour}
	start.Confinement, start.MaxTimeout = sandbox.Off, 5*time.Hour

	dir := t.TempDir()
	p, c := parser(t, dir)

	_, err := p.Parse(append([]string{"work", "--payload=/payload"}, start.podArgs()...))
	needs.OK(t, err)

	want := start.Machine
	// Other flags have their defaults: the payload has the timeout of the run, and the container has one run.
	want.StateDir = dir

	if c.Work.ContentTTL != start.ContentTTL {
		t.Errorf("want TTL %s, got %s", start.ContentTTL, c.Work.ContentTTL)
	}

	if diff := cmp.Diff(want, c.Work.Machine, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestVersion prints the versions of the tools, which a bug report needs. Without the tools, it prints the rest.
func TestVersion(t *testing.T) {
	needs.Ansible(t)

	for path, want := range map[string]string{
		os.Getenv("PATH"): `ansible-core 2\.\d+\.\d+\nansible-runner 2\.\d+\.\d+`,
		t.TempDir():       `ansible-core not found\nansible-runner not found`,
	} {
		t.Setenv("PATH", path)

		out := &bytes.Buffer{}
		p, _ := parser(t, t.TempDir(), kong.Writers(out, out), kong.Exit(func(int) {}))
		_, _ = p.Parse([]string{"--version"}) // The test replaces the exit.

		want = `^provider-ansible dev\ncommit unknown\ngo1\.\S+\n` + want + "\n"
		if !regexp.MustCompile(want).Match(out.Bytes()) {
			t.Errorf("PATH=%s --version: want a match of %s, got %s", path, want, out)
		}
	}
}

// TestSupervisorIsLean traces the initialization of packages: a supervisor must start before the packages of a
// provider.
func TestSupervisorIsLean(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "supervise", `--enter={}`, "--", "/bin/true")
	cmd.Env = []string{"GODEBUG=inittrace=1"}

	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("supervise --enter={} -- /bin/true: %v\n%s", err, out)
	}

	for pkg, want := range map[string]bool{"os": true, "k8s.io/client-go/kubernetes/scheme": false, "sigs.k8s.io/controller-runtime/pkg/client/apiutil": false} {
		if got := bytes.Contains(out, []byte("\ninit "+pkg+" @")); got != want {
			t.Errorf("GODEBUG=inittrace=1: init %s: want %t, got %t", pkg, want, got)
		}
	}
}
