package executor

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/rights"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
)

type (
	ensure = func(ctx context.Context, r content.Request) (content.Set, func(), error)
	run    = func(ctx context.Context, r runner.Spec, w events.Watch) (runner.Result, error)
)

// installs returns an Ensure function with a result.
func installs(set content.Set, err error) ensure {
	return func(context.Context, content.Request) (content.Set, func(), error) { return set, func() {}, err }
}

// ends returns a Run function with progress and a result.
func ends(r runner.Result, err error, progress ...events.Summary) run {
	return func(_ context.Context, _ runner.Spec, w events.Watch) (runner.Result, error) {
		for _, s := range progress {
			w.Progress(s)
		}

		return r, err
	}
}

func TestExecute(t *testing.T) {
	now := metav1.NewTime(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) // The time in a synctest bubble.
	set := content.Set{Content: common.Content{Digest: "abc", Collections: []common.ContentItem{{Name: "acme.site", Version: "1.0.0"}}}}
	required := inputs.Inputs{Requirements: "collections: [{name: acme.site, version: 1.0.0}]"}
	long := required
	long.Parameters.Timeout = &metav1.Duration{Duration: time.Hour}

	canceled, cancel := context.WithCancel(t.Context())
	cancel()

	begins := []common.RunPhase{common.PhaseInstalling}
	running := []common.RunPhase{common.PhaseInstalling, common.PhaseRunning}
	progressed := []common.RunPhase{common.PhaseInstalling, common.PhaseRunning, common.PhaseRunning}

	type change = func(*runs.Report)

	// missing and ran return the last reports of a run without content, and with content.
	missing := func(phase common.RunPhase, reason, message string, changes ...change) runs.Report {
		r := runs.Report{Attempt: 1, Request: "token", Untouched: true, Run: common.Run{
			ID: "1", Mode: common.ModeApply, State: common.StatePresent, Trigger: common.TriggerCreated, Phase: phase, Reason: reason,
			Message: message, InputsDigest: "digest of before", StartTime: &now, CompletionTime: &now,
		}}
		for _, fn := range changes {
			fn(&r)
		}

		return r
	}
	ran := func(phase common.RunPhase, reason, message string, changes ...change) runs.Report {
		return missing(phase, reason, message, append([]change{func(r *runs.Report) {
			r.Untouched, r.Run.InputsDigest, r.Content = false, "digest of abc", &common.Content{Digest: "abc", Collections: set.Collections}
			r.Run.Confinement = &common.RunConfinement{}
		}}, changes...)...)
	}
	blameless, untouched := func(r *runs.Report) { r.Blameless = true }, func(r *runs.Report) { r.Untouched = true }
	hosts := func(h common.HostTotals) change { return func(r *runs.Report) { r.Run.Hosts = &h } }
	notBefore := func(at time.Time) change { return func(r *runs.Report) { r.NotBefore = at } }
	failed, full := common.PhaseFailed, errors.New("disk full")
	slow := &galaxy.InstallError{Err: context.DeadlineExceeded}

	for name, tc := range map[string]struct {
		reason    string
		ctx       context.Context
		inputs    inputs.Inputs
		installer ensure
		runner    run
		want      runs.Report
		phases    []common.RunPhase
	}{
		"Succeeded": {
			"A run that succeeds should report its content, totals and outputs.", t.Context(), required, installs(set, nil),
			func(ctx context.Context, r runner.Spec, w events.Watch) (runner.Result, error) {
				if diff := cmp.Diff(set, r.Content); diff != "" {
					t.Errorf("The run should use the content that was installed: -want, +got:\n%s", diff)
				}

				summary := events.Summary{Totals: common.HostTotals{OK: 2, Changed: 1}, Outputs: json.RawMessage(`{"a":1}`)}

				return ends(runner.Result{Phase: common.PhaseSucceeded, Summary: summary}, nil, events.Summary{Task: "Install"})(ctx, r, w)
			},
			ran(common.PhaseSucceeded, "", "", hosts(common.HostTotals{OK: 2, Changed: 1}), func(r *runs.Report) {
				r.Outputs = &apiextensionsv1.JSON{Raw: []byte(`{"a":1}`)}
			}), progressed,
		},
		"NothingRequired": {
			"A run that requires no content should not say that it installs any.", t.Context(),
			inputs.Inputs{},
			installs(content.Set{}, nil),
			ends(runner.Result{Phase: failed, Reason: runner.ReasonTaskFailed, Message: "no"}, nil),
			ran(failed, runner.ReasonTaskFailed, "no", hosts(common.HostTotals{}), func(r *runs.Report) {
				r.Run.InputsDigest, r.Content = "digest of ", &common.Content{}
			}),
			[]common.RunPhase{common.PhaseRunning},
		},
		"InstallFailed": {
			"Content that cannot be installed should fail the run, for the inputs that are known.", t.Context(), required,
			installs(set, &galaxy.InstallError{What: "collections", Reason: "no such collection"}), nil,
			missing(failed, common.ReasonInstallFailed, "cannot install collections: no such collection"), begins,
		},
		"InstallBroken": {
			"An error of the provider in an installation is blameless.", t.Context(), required, installs(set, full), nil,
			missing(failed, common.ReasonInternal, "disk full", blameless), begins,
		},
		"BackOff": {
			"A run during the back-off of an installation does not count as an attempt, and has the time of the next one.", t.Context(), required,
			installs(set, &content.BackoffError{Until: now.Time, Err: &galaxy.InstallError{What: "roles", Reason: "no", Err: context.DeadlineExceeded}}), nil,
			missing(failed, common.ReasonInstallFailed, "cannot install roles: no; it is tried again at 2000-01-01T00:00:00Z", blameless, notBefore(now.Time)),
			begins,
		},
		"InstallTooSlow": {
			"An installation that takes too long has timed out, also if another run has started it.", t.Context(), required, installs(set, slow), nil,
			missing(common.PhaseTimedOut, common.ReasonInstallFailed, "installing the content took longer than 1m0s"), begins,
		},
		"InstallCutShort": {
			"The message names the flag that has shortened the timeout.", t.Context(), long, installs(set, slow), nil,
			missing(common.PhaseTimedOut, common.ReasonInstallFailed,
				"installing the content took longer than 1m0s (the longest that the provider's --max-timeout allows)"), begins,
		},
		"InvalidRequirements": {
			"Invalid requirements are an error of the configuration.", t.Context(),
			inputs.Inputs{Config: `ProviderConfig "x"`, Requirements: "1"},
			installs(set, nil), nil,
			missing(failed, common.ReasonInstallFailed,
				`ProviderConfig "x": spec.requirements: must be a mapping with collections and roles, or a list of roles`), nil,
		},
		"CanceledWhileInstalling": {
			"A run that is canceled during its installation is canceled, not failed.", canceled, required, installs(set, context.Canceled), nil,
			missing(common.PhaseCanceled, runner.ReasonCanceled, "canceled while the content was being installed"), begins,
		},
		"Untouched": {
			"Untouched of the result should be reported, whatever the progress was.", t.Context(), required, installs(set, nil),
			ends(runner.Result{Phase: failed, Reason: runner.ReasonPlaybookError, Message: "no such role", Untouched: true}, nil, events.Summary{Started: true}),
			ran(failed, runner.ReasonPlaybookError, "no such role", hosts(common.HostTotals{}), untouched), progressed,
		},
		"RunnerBroken": {
			"A machine that cannot run anything should fail the run.", t.Context(), required, installs(set, nil), ends(runner.Result{}, full),
			ran(failed, common.ReasonInternal, "disk full", blameless), running,
		},
		"RunnerCannotStart": {
			"A machine that cannot start a process has changed nothing.", t.Context(), required, installs(set, nil), ends(runner.Result{Untouched: true}, full),
			ran(failed, common.ReasonInternal, "disk full", blameless, untouched), running,
		},
		"NoAccess": {
			"A run without access to the API server is tried again.", t.Context(), required, installs(set, nil),
			ends(runner.Result{Untouched: true}, errors.Wrap(rights.Lacking(errors.New("no account")), "config")),
			ran(failed, common.ReasonForbidden, "config: no account", blameless, untouched, notBefore(now.Add(runs.AccessAgain))), running,
		},
		"Panic": {
			"A panic of the provider should fail only the run that causes it.", t.Context(), required, installs(set, nil),
			func(context.Context, runner.Spec, events.Watch) (runner.Result, error) { panic("hunter2") },
			ran(failed, common.ReasonInternal, "the provider has made a mistake; its log has a stack trace", blameless), running,
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := Local{Ensure: tc.installer, Run: tc.runner}

			var phases []common.RunPhase

			j := runs.Run{
				Spec: runner.Spec{
					ID: "1", Mode: common.ModeApply, State: common.StatePresent, Trigger: common.TriggerCreated,
					Attempt: 1, Inputs: tc.inputs, Timeout: time.Minute,
					Content: content.Set{Content: common.Content{Digest: "before", Collections: []common.ContentItem{{Name: "before"}}}},
				},
				Request: "token",
			}

			var got runs.Report

			synctest.Test(t, func(*testing.T) {
				got = x.Execute(tc.ctx, j, runs.Watch{Progress: func(r runs.Report) { phases = append(phases, r.Run.Phase) }})
			})

			digests := map[string]string{j.Digest(j.Content): "digest of before", j.Digest(set): "digest of abc", j.Digest(content.Set{}): "digest of "}
			got.Run.InputsDigest = digests[got.Run.InputsDigest]

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nExecute(...): -want, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.phases, phases); diff != "" {
				t.Errorf("\n%s\nExecute(...): -want phases, +got phases:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestExecuteBegun has a run that the predecessor has begun.
func TestExecuteBegun(t *testing.T) {
	begun := &common.Run{ID: "1", Phase: common.PhaseRunning, CurrentTask: "Install", StartTime: &metav1.Time{}}
	got := Local{Ensure: installs(content.Set{}, nil)}.Execute(t.Context(), runs.Run{Begun: begun}, runs.Watch{})

	if r := got.Run; r.Phase != common.PhaseInterrupted || r.CurrentTask != "" || r.CompletionTime == nil || got.Untouched || !got.Blameless {
		t.Errorf("The run should have ended with that provider, and not be executed: %+v", got)
	}
}

// TestRequires tests the tenant, the timeout and the token of requests for content. A run with
// content that could not be installed has the error.
func TestRequires(t *testing.T) {
	boom := &galaxy.InstallError{What: "collections", Reason: "boom"}
	j := runs.Run{
		Spec: runner.Spec{
			Inputs: inputs.Inputs{Requirements: "collections: [{name: acme.site, version: 1.0.0}]"},
			Object: runner.Object{Namespace: "team-a"}, Timeout: time.Minute,
		},
		Request: "token", Missing: boom,
	}

	for trigger, asked := range map[common.RunTrigger]string{
		common.TriggerChanged: "", common.TriggerRequested: "Requested token", common.TriggerPreview: "Preview token",
	} {
		j.Trigger = trigger

		if got, err := j.Requires(); err != nil || got.Tenant != "team-a" || got.Timeout != time.Minute || got.Asked != asked {
			t.Errorf("Requires() of a run that was %s: %+v, %v", trigger, got, err)
		}
	}

	r := Local{}.Execute(t.Context(), j, runs.Watch{Progress: func(runs.Report) {}})
	if r.Run.Phase != common.PhaseFailed || r.Run.Reason != common.ReasonInstallFailed || r.Run.Message != boom.Error() || r.Request != "token" {
		t.Errorf("A run with missing content should have the error: %+v", r.Run)
	}
}

// TestExecuteApproved has approved runs, which are executed only with the content of the check.
func TestExecuteApproved(t *testing.T) {
	set := func(version string) content.Set {
		return content.Set{Content: common.Content{Digest: version, Collections: []common.ContentItem{{Name: "acme.site", Version: version}}}}
	}

	for name, tc := range map[string]struct {
		reason   string
		approved bool
		now      content.Set
		want     common.Run
		begun    int
	}{
		"Same":       {reason: "The checked content should be applied.", approved: true, now: set("1.0.0"), want: common.Run{Phase: common.PhaseSucceeded}, begun: 1},
		"Changed":    {reason: "Another version should not be applied.", approved: true, now: set("1.0.1"), want: common.Run{Phase: common.PhaseFailed, Reason: runs.ReasonContentChanged}},
		"NotGuarded": {reason: "Without approvals the latest version should be applied.", now: set("1.0.1"), want: common.Run{Phase: common.PhaseSucceeded}, begun: 1},
	} {
		t.Run(name, func(t *testing.T) {
			begun := 0
			x := Local{Ensure: installs(tc.now, nil), Run: func(context.Context, runner.Spec, events.Watch) (runner.Result, error) {
				begun++
				return runner.Result{Phase: common.PhaseSucceeded}, nil
			}}

			j := runs.Run{Spec: runner.Spec{ID: "1", Mode: common.ModeApply, State: common.StatePresent, Approved: tc.approved, Content: set("1.0.0")}}
			r := x.Execute(t.Context(), j, runs.Watch{Progress: func(runs.Report) {}})

			if diff := cmp.Diff(tc.want, common.Run{Phase: r.Run.Phase, Reason: r.Run.Reason}); diff != "" || begun != tc.begun {
				t.Errorf("%s\nExecute(...): %d runs; -want, +got:\n%s", tc.reason, begun, diff)
			}

			// The report has the present content, so that a check follows. The attempt does not count.
			if tc.begun == 0 && (r.Run.InputsDigest != j.Digest(tc.now) || !r.Blameless || !r.Untouched) {
				t.Errorf("%s\nExecute(...): got %+v", tc.reason, r)
			}
		})
	}
}

// TestExecuteProgress has a run in progress. Its reports have the features of the kernel that confine it. It is
// untouched until a task has begun, and its display can be read.
func TestExecuteProgress(t *testing.T) {
	x := Local{Kernel: sandbox.Kernel{Landlock: 6, Seccomp: true}, Ensure: installs(content.Set{}, nil), Run: ends(
		runner.Result{Phase: common.PhaseSucceeded}, nil, events.Summary{Play: "p"}, events.Summary{Task: "t", Started: true, Tail: func() string { return "PLAY" }},
	)}

	var (
		got  []bool
		last runs.Report
	)

	r := x.Execute(t.Context(), runs.Run{}, runs.Watch{Progress: func(r runs.Report) {
		got, last = append(got, r.Untouched), r
	}})
	if diff := cmp.Diff([]bool{true, true, false, false}, append(got, r.Untouched)); diff != "" {
		t.Errorf("Untouched: -want, +got:\n%s", diff)
	}

	if diff := cmp.Diff(&common.RunConfinement{Landlock: 6, Seccomp: true}, r.Run.Confinement); diff != "" || last.Tail() != "PLAY" {
		t.Errorf("Execute(...): has displayed %q; confinement: -want, +got:\n%s", last.Tail(), diff)
	}
}

// TestInstall installs content for another process.
func TestInstall(t *testing.T) {
	boom := &galaxy.InstallError{What: "roles", Reason: "boom"}
	j := runs.Run{Spec: runner.Spec{ID: "1", Inputs: inputs.Inputs{Requirements: "roles: [acme.site]"}}}

	for name, want := range map[string]error{"Installed": nil, "Failed": boom} {
		t.Run(name, func(t *testing.T) {
			x := Local{Ensure: func(context.Context, content.Request) (content.Set, func(), error) {
				return content.Set{Content: common.Content{Digest: "abc"}}, func() { t.Error("The set should not be released.") }, want
			}}

			set, r, ok := x.Install(t.Context(), j)
			if ok != (want == nil) || ok && set.Digest != "abc" || !ok && (r.Run.Phase != common.PhaseFailed || r.Run.Message != boom.Error() || r.Run.CompletionTime == nil || !r.Untouched) {
				t.Errorf("Install(...): %v, %+v, %t", set, r.Run, ok)
			}
		})
	}
}

// TestIgnoresState has runs of content that does not use the state. A deletion reports that nothing was run.
func TestIgnoresState(t *testing.T) {
	const message = "nothing was run: neither ansible_provider_meta nor wanted occurs in the playbooks, roles and variables"

	for name, tc := range map[string]struct {
		mode  common.RunMode
		state common.RunState
		phase common.RunPhase
		want  common.Run
	}{
		"Present": {common.ModeApply, common.StatePresent, common.PhaseSucceeded, common.Run{Phase: common.PhaseSucceeded}},
		"Absent":  {common.ModeApply, common.StateAbsent, common.PhaseSucceeded, common.Run{Phase: common.PhaseSucceeded, Reason: runs.ReasonStateIgnored, Message: message}},
		"Check":   {common.ModeCheck, common.StateAbsent, common.PhaseSucceeded, common.Run{Phase: common.PhaseSucceeded, Reason: runs.ReasonStateIgnored, Message: message}},
		"Failed":  {common.ModeApply, common.StateAbsent, common.PhaseFailed, common.Run{Phase: common.PhaseFailed}},
	} {
		t.Run(name, func(t *testing.T) {
			run := runner.Spec{Mode: tc.mode, State: tc.state}
			run.Inputs.Parameters.StateVariable = &common.StateVariable{Name: "wanted"}
			tc.want.Hosts = &common.HostTotals{}

			got := runs.Report{}
			ended(&got, run, runner.Result{Phase: tc.phase, IgnoresState: true, Summary: events.Summary{Ran: 1}})

			if diff := cmp.Diff(runs.Report{Run: tc.want, IgnoresState: true}, got, cmpopts.IgnoreFields(runs.Report{}, "Untouched")); diff != "" {
				t.Errorf("ended(...): -want, +got:\n%s", diff)
			}
		})
	}
}
