package security

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
	"github.com/crossplane-ansible/crossplane-ansible/provider/supervisor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/workdir"
	"github.com/crossplane-ansible/crossplane-ansible/test/canary"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// flood fills a directory with files of which none is too large, hides what it can,
// and waits for what happens.
const flood = `umask 0; mkdir flood && cd flood && n=0; while test $n -lt 64; do head -c 1048576 /dev/zero >$n; n=$((n+1)); done; cd .. && chmod 0 flood; sleep $WAIT`

// TestPlayFills has a play fill its private data directory.
func TestPlayFills(t *testing.T) {
	if asUser(t) {
		return
	}

	cases := map[string]struct {
		reason string
		size   int64
		wait   string
		want   runner.Result
	}{
		"Limited": {
			reason: "It is ended when it takes too much of the disk, and says why.",
			size:   32 << 20,
			wait:   "1000",
			want: runner.Result{
				Phase: common.PhaseFailed, Reason: runner.ReasonRunTooLarge,
				Message: `wrote more than 32Mi below its private directory, the limit of a run, during task "Flood" of play "localhost"`,
			},
		},
		"Unlimited": {
			reason: "Without a limit it has the space.",
			wait:   "0",
			want:   runner.Result{Phase: common.PhaseSucceeded},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, state := newRunner(t, sandbox.Required, func(o *runner.Options) { o.Policy.RunSize = tc.size })

			t.Parallel()

			s := local("  - {name: Flood, ansible.builtin.shell: '" + flood + "'}\n")
			s.Inputs.Env = map[string]string{"WAIT": tc.wait}

			got, err := r.Run(t.Context(), s, events.Watch{})
			needs.OK(t, err)

			if diff := cmp.Diff(tc.want, runner.Result{Phase: got.Phase, Reason: got.Reason, Message: got.Message}); diff != "" {
				t.Errorf("%s\nRun(...): -want, +got:\n%s", tc.reason, diff)
			}

			if left, err := filepath.Glob(filepath.Join(state, "runs", "*")); err != nil || len(left) > 0 {
				t.Errorf("%s\nNothing of it should be left: %v, %v", tc.reason, left, err)
			}
		})
	}
}

// TestInstallFills has what installs content fill its workspace.
func TestInstallFills(t *testing.T) {
	if asUser(t) {
		return
	}

	l := newInstallFixture(t)
	l.write(t, map[string]string{"MIRROR/bin/git": "#!/bin/sh\nWAIT=1000\n" + flood + "\n"})

	policy := l.policy()
	policy.System = append(policy.System, system(t, l.dir)...)
	policy.Read = []string{l.mirror}
	policy.RunSize = 32 << 20

	store := filepath.Join(l.dir, "store")

	s, err := content.NewStore(content.Config{Dir: store, Installer: galaxy.Installer{
		Run: supervisor.Command.Run, Policy: policy,
		Environ: []string{"PATH=" + filepath.Join(l.mirror, "bin") + ":" + os.Getenv("PATH")},
	}})
	needs.OK(t, err)

	req, err := content.NewRequest(inputs.Inputs{Requirements: "roles: [{name: x, src: 'https://git.example.org/x', scm: git}]"})
	needs.OK(t, err)

	_, _, err = s.Ensure(t.Context(), req)
	if want := (&workdir.SizeError{Limit: policy.RunSize}).Error(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Ensure(...): %v, want %s", err, want)
	}

	if left := canary.Files(t, store); len(left) > 0 {
		t.Errorf("Nothing of it should be left: %d files", len(left))
	}
}
