package worker

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pods"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sealed"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestOOMKilled(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		file   string
		text   string
		want   bool
	}{
		"None":    {"Without control groups, nothing is known.", "cgroup.procs", "", false},
		"Never":   {"A process that had to wait for memory was not ended.", "memory.events", "low 0\nhigh 3\nmax 12\noom 2\noom_kill 0\noom_group_kill 0\n", false},
		"Killed":  {"The kernel counts the processes that it ended.", "memory.events", "low 0\nhigh 0\nmax 12\noom 2\noom_kill 2\noom_group_kill 0\n", true},
		"Version": {"The kernel counts them in version 1 of control groups, too.", "memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", true},
		"Disable": {"The setting of the OOM killer does not matter.", "memory/memory.oom_control", "oom_kill_disable 1\nunder_oom 1\noom_kill 0\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := oomKilled(fstest.MapFS{tc.file: {Data: []byte(tc.text)}}); got != tc.want {
				t.Errorf("\n%s\noomKilled(...): want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

// TestWorkEnd has a Pod write its last report. A kubelet may put lines of standard error between the parts
// of a long line of standard output, so that nothing may be written to standard error then.
func TestWorkEnd(t *testing.T) {
	c := &Worker{Payload: t.TempDir()}
	c.StateDir = t.TempDir()

	p := pods.Payload{Spec: runner.Spec{ID: "id"}, Key: sealed.NewKey()}
	packed := &bytes.Buffer{}
	z := gzip.NewWriter(packed)

	if err := errors.Join(json.NewEncoder(z).Encode(p), z.Close()); err != nil { //nolint:musttag // The same program reads it.
		t.Fatal(err)
	}

	for name, text := range map[string][]byte{"payload.000": packed.Bytes(), "pod": []byte("pod"), "podUID": []byte("pod")} {
		needs.OK(t, os.WriteFile(filepath.Join(c.Payload, name), text, 0o600))
	}

	failed := runs.Run{}.Report()
	failed.Run.Phase, failed.Run.Reason, failed.Run.Message = common.PhaseFailed, "Content", "no such role"

	needs.OK(t, c.keep(installation{Failed: &failed}))

	written := output(t, func() {
		if err := c.work(t.Context()); !errors.As(err, new(*DisplayedError)) {
			t.Errorf("The log should show why the run has failed: %v", err)
		}
	})

	r, err := sealed.NewReader(p.Key, "id", "pod")
	needs.OK(t, err)

	shown, last, _ := strings.Cut(written, "\n")
	if got, _, ok := r.Read([]byte(last)); !ok || got.Run.Message != "no such role" || shown != "Failed: Content: no such role" {
		t.Errorf("The last report should be the last line, got %q", written)
	}
}

// output returns the text that a function writes to standard output.
func output(t *testing.T, fn func()) string {
	t.Helper()

	to, err := os.Create(filepath.Join(t.TempDir(), "output"))
	needs.OK(t, err)
	defer to.Close()

	was := os.Stdout
	os.Stdout = to

	defer func() { os.Stdout = was }()

	fn()

	text, err := os.ReadFile(to.Name())
	needs.OK(t, err)

	return string(text)
}

// TestInstallation passes the result of the installation from one container to the next one.
func TestInstallation(t *testing.T) {
	c := &Worker{}
	c.StateDir = t.TempDir()

	set := content.Set{Dir: "/set", Content: common.Content{
		Digest: "abc", Resolved: &metav1.Time{Time: time.Unix(1767319445, 0)},
		Collections: []common.ContentItem{{Name: "a.b", Version: "1.0.0"}}, Roles: []common.ContentItem{{Name: "c", Revision: "r"}},
	}}
	failed := runs.Run{}.Report()
	failed.Run.Phase, failed.Run.Message = common.PhaseFailed, "no such role"

	for name, want := range map[string]installation{"None": {}, "Installed": {Set: set}, "Failed": {Failed: &failed}} {
		t.Run(name, func(t *testing.T) {
			if name != "None" {
				needs.OK(t, c.keep(want))

				defer os.Remove(c.installed())
			}

			got, err := c.kept()
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("noted(): %v, -want, +got:\n%s", err, diff)
			}
		})
	}

	needs.OK(t, os.WriteFile(c.installed(), []byte("{"), 0o600))

	if _, err := c.carryOut(t.Context(), runs.Run{}, nil); err == nil {
		t.Error("A run that cannot read the result of the installation should not begin.")
	}

	needs.OK(t, c.keep(installation{Failed: &failed}))

	if report, err := c.carryOut(t.Context(), runs.Run{}, nil); err != nil || report.Run.Message != "no such role" || !report.Untouched {
		t.Errorf("A run without its content should say why: %+v", report)
	}
}
