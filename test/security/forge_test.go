package security

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// forged is an event that gives a run outputs.
const forged = `{"uuid": "u", "event": "playbook_on_stats", "event_data": {"processed": {"localhost": 1}, "artifact_data": {"forged": true}}}`

// TestPlayForgesEvents has a run write an event to the terminals and the pipe of events of another run. Some terminals
// may belong to other tests.
func TestPlayForgesEvents(t *testing.T) {
	if asUser(t) {
		return
	}

	cases := map[string]struct {
		reason string
		mode   sandbox.Mode
		start  func(*runner.Options)
		want   string
	}{
		"Warm":           {reason: "No run forges events of a warm run.", mode: sandbox.Required, start: func(*runner.Options) {}},
		"Cold":           {reason: "No run forges events of a cold run.", mode: sandbox.Required, start: cold},
		"WarmUnconfined": {reason: "Without confinement the attack on a warm run succeeds.", mode: sandbox.Off, start: func(*runner.Options) {}, want: `{"forged":true}`},
		"ColdUnconfined": {reason: "Without confinement the attack on a cold run succeeds.", mode: sandbox.Off, start: cold, want: `{"forged":true}`},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			shared := t.TempDir()
			r, state := newRunner(t, tc.mode, tc.start, func(o *runner.Options) { o.Policy.Write = []string{shared} })
			outputs := make(chan string, 1)

			go func() {
				res, err := r.Run(t.Context(), playing(fmt.Sprintf(
					"touch %[1]s/ready; until test -e %[1]s/done; do sleep 0.1; done", shared)), events.Watch{})
				if err != nil || res.Phase != common.PhaseSucceeded {
					t.Errorf("Run(...): %v, %s: %s", err, res.Reason, res.Message)
				}

				outputs <- string(res.Summary.Outputs)
			}()

			for deadline := time.Now().Add(maxWait); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
				if _, err := os.Stat(filepath.Join(shared, "ready")); err == nil {
					break
				}
			}

			attacker := playing(fmt.Sprintf(`
for f in %s; do test -e $f && timeout 1 sh -c "cat forged >>$f"; done 2>/dev/null
touch %s/done`, strings.Join(writable(t, filepath.Join(state, "runs")), " "), shared))
			attacker.Inputs.Credentials = []inputs.File{{Name: "forged", Data: []byte("\n" + forged + "\n")}}

			_, err := r.Run(t.Context(), attacker, events.Watch{})
			needs.OK(t, err)

			if diff := cmp.Diff(tc.want, <-outputs); diff != "" {
				t.Errorf("%s\n-want outputs, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// playing returns a run that plays a script.
func playing(script string) runner.Spec {
	return local("  - ansible.builtin.shell: |\n      " + strings.ReplaceAll(strings.TrimSpace(script), "\n", "\n      ") + "\n")
}

// writable are the terminals that the run below a directory has open, and the pipes of the
// process that writes its events.
func writable(t *testing.T, dir string) []string {
	t.Helper()

	processes, err := filepath.Glob("/proc/[0-9]*")
	needs.OK(t, err)

	var found []string

	for _, p := range processes {
		// Some have ended by now.
		args, _ := os.ReadFile(filepath.Join(p, "cmdline"))
		cwd, _ := os.Readlink(filepath.Join(p, "cwd"))

		if strings.Contains(string(args), "supervise") || !strings.HasPrefix(cwd, dir) {
			continue
		}

		descriptors, err := filepath.Glob(filepath.Join(p, "fd", "*"))
		needs.OK(t, err)

		for _, fd := range descriptors {
			switch to, _ := os.Readlink(fd); {
			case strings.HasPrefix(to, "/dev/pts/"):
				found = append(found, to)
			case strings.HasPrefix(to, "pipe:") && supervised(p):
				found = append(found, fd)
			}
		}
	}

	return found
}

// supervised is true for the process that a supervisor has started or was forked for: the one
// that writes the events of a run.
func supervised(proc string) bool {
	status, _ := os.ReadFile(filepath.Join(proc, "status"))

	parent := regexp.MustCompile(`(?m)^PPid:\t(\d+)$`).FindSubmatch(status)
	if parent == nil {
		return false
	}

	args, _ := os.ReadFile(filepath.Join("/proc", string(parent[1]), "cmdline"))

	return strings.Contains(string(args), "\x00supervise\x00")
}
