package executor

import (
	"context"
	"encoding/json"
	"testing"
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
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sandbox"
)

type installerFn func(ctx context.Context, r content.Request) (content.Set, func(), error)

func (fn installerFn) Installed(r content.Request) (string, bool) {
	if r.Requirements.Empty() {
		return "", true
	}

	return r.Requirements.Collections[0].Name, false
}

func (fn installerFn) Ensure(ctx context.Context, r content.Request) (content.Set, func(), error) {
	return fn(ctx, r)
}

type runnerFn func(ctx context.Context, r runner.Spec, w events.Watch) (runner.Result, error)

func (fn runnerFn) Run(ctx context.Context, r runner.Spec, w events.Watch) (runner.Result, error) {
	return fn(ctx, r, w)
}

func TestExecute(t *testing.T) {
	now := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	set := content.Set{Content: common.Content{Digest: "abc", Collections: []common.ContentItem{{Name: "acme.site", Version: "1.0.0"}}}}
	required := inputs.Inputs{Requirements: "collections: [{name: acme.site, version: 1.0.0}]"}
	installed := func(context.Context, content.Request) (content.Set, func(), error) { return set, func() {}, nil }

	canceled, cancel := context.WithCancel(t.Context())
	cancel()

	base := func(phase common.RunPhase, reason, message, digest string) common.Run {
		return common.Run{ID: "1", Mode: common.ModeApply, State: common.StatePresent, Trigger: common.TriggerCreated, Phase: phase, InputsDigest: digest, Reason: reason, Message: message, StartTime: &now, CompletionTime: &now}
	}

	type want struct {
		report runs.Report
		phases []common.RunPhase
	}

	for name, tc := range map[string]struct {
		reason    string
		ctx       context.Context
		inputs    inputs.Inputs
		installer installerFn
		runner    runnerFn
		want      want
	}{
		"Succeeded": {
			reason:    "A run that succeeds should report its content, totals and outputs.",
			ctx:       t.Context(),
			inputs:    required,
			installer: installed,
			runner: func(_ context.Context, r runner.Spec, w events.Watch) (runner.Result, error) {
				if diff := cmp.Diff(set, r.Content); diff != "" {
					t.Errorf("The run should use the content that was installed: -want, +got:\n%s", diff)
				}

				w.Progress(events.Summary{Task: "Install"})

				return runner.Result{Phase: common.PhaseSucceeded, Summary: events.Summary{Totals: common.HostTotals{OK: 2, Changed: 1}, Outputs: json.RawMessage(`{"a":1}`)}}, nil
			},
			want: want{
				report: runs.Report{
					Run: func() common.Run {
						r := base(common.PhaseSucceeded, "", "", "digest of abc")
						r.Hosts = &common.HostTotals{OK: 2, Changed: 1}

						return r
					}(),
					Attempt: 1,
					Request: "token",
					Content: &common.Content{Digest: "abc", Collections: set.Collections},
					Outputs: &apiextensionsv1.JSON{Raw: []byte(`{"a":1}`)},
				},
				phases: []common.RunPhase{common.PhaseInstalling, common.PhaseRunning, common.PhaseRunning},
			},
		},
		"NothingRequired": {
			reason: "A run that requires no content should not say that it installs any.",
			ctx:    t.Context(),
			installer: func(context.Context, content.Request) (content.Set, func(), error) {
				return content.Set{}, func() {}, nil
			},
			runner: func(context.Context, runner.Spec, events.Watch) (runner.Result, error) {
				return runner.Result{Phase: common.PhaseFailed, Reason: runner.ReasonTaskFailed, Message: "no"}, nil
			},
			want: want{
				report: runs.Report{
					Run: func() common.Run {
						r := base(common.PhaseFailed, runner.ReasonTaskFailed, "no", "digest of ")
						r.Hosts = &common.HostTotals{}

						return r
					}(),
					Attempt: 1,
					Request: "token",
					Content: &common.Content{},
				},
				phases: []common.RunPhase{common.PhaseRunning},
			},
		},
		"InstallFailed": {
			reason: "Content that cannot be installed should fail the run, for the inputs that are known.",
			ctx:    t.Context(),
			inputs: required,
			installer: func(context.Context, content.Request) (content.Set, func(), error) {
				return content.Set{}, nil, &galaxy.InstallError{What: "collections", Reason: "no such collection"}
			},
			want: want{
				report: runs.Report{
					Run:       base(common.PhaseFailed, runs.ReasonInstallFailed, "cannot install collections: no such collection", "digest of before"),
					Attempt:   1,
					Request:   "token",
					Untouched: true,
				},
				phases: []common.RunPhase{common.PhaseInstalling},
			},
		},
		"InstallBroken": {
			reason: "A provider that cannot install content is at fault itself.",
			ctx:    t.Context(),
			inputs: required,
			installer: func(context.Context, content.Request) (content.Set, func(), error) {
				return content.Set{}, nil, errors.New("disk full")
			},
			want: want{
				report: runs.Report{
					Run:       base(common.PhaseFailed, runs.ReasonInternal, "disk full", "digest of before"),
					Attempt:   1,
					Request:   "token",
					Untouched: true,
					Blameless: true,
				},
				phases: []common.RunPhase{common.PhaseInstalling},
			},
		},
		"BackOff": {
			reason: "What has just failed for another is no attempt, and says when there is one.",
			ctx:    t.Context(),
			inputs: required,
			installer: func(context.Context, content.Request) (content.Set, func(), error) {
				return content.Set{}, nil, &content.BackoffError{Until: now.Time, Err: &galaxy.InstallError{What: "roles", Reason: "no", Err: context.DeadlineExceeded}}
			},
			want: want{
				report: runs.Report{
					Run: base(common.PhaseFailed, runs.ReasonInstallFailed,
						"cannot install roles: no; it is tried again at 2026-01-02T03:04:05Z", "digest of before"),
					Attempt:   1,
					Request:   "token",
					Untouched: true,
					Blameless: true,
					NotBefore: now.Time,
				},
				phases: []common.RunPhase{common.PhaseInstalling},
			},
		},
		"InstallTooSlow": {
			reason: "An installation that takes too long has timed out, also when it is that of another.",
			ctx:    t.Context(),
			inputs: required,
			installer: func(context.Context, content.Request) (content.Set, func(), error) {
				return content.Set{}, nil, &galaxy.InstallError{Err: context.DeadlineExceeded}
			},
			want: want{
				report: runs.Report{
					Run:       base(common.PhaseTimedOut, runs.ReasonInstallFailed, "installing the content took longer than 1m0s", "digest of before"),
					Attempt:   1,
					Request:   "token",
					Untouched: true,
				},
				phases: []common.RunPhase{common.PhaseInstalling},
			},
		},
		"InstallCutShort": {
			reason: "One that the provider gives less than it asks for says so.",
			ctx:    t.Context(),
			inputs: inputs.Inputs{Requirements: required.Requirements, Parameters: common.AnsibleRunParameters{Timeout: &metav1.Duration{Duration: time.Hour}}},
			installer: func(context.Context, content.Request) (content.Set, func(), error) {
				return content.Set{}, nil, &galaxy.InstallError{Err: context.DeadlineExceeded}
			},
			want: want{
				report: runs.Report{
					Run:       base(common.PhaseTimedOut, runs.ReasonInstallFailed, "installing the content took longer than 1m0s (the longest that the provider's --max-timeout allows)", "digest of before"),
					Attempt:   1,
					Request:   "token",
					Untouched: true,
				},
				phases: []common.RunPhase{common.PhaseInstalling},
			},
		},
		"InvalidRequirements": {
			reason:    "Requirements that cannot be read are a mistake of the configuration.",
			ctx:       t.Context(),
			inputs:    inputs.Inputs{Config: `ProviderConfig "x"`, Requirements: "1"},
			installer: installed,
			want: want{
				report: runs.Report{
					Run: base(common.PhaseFailed, runs.ReasonInstallFailed,
						`ProviderConfig "x": spec.requirements: must be a mapping with collections and roles, or a list of roles`, "digest of before"),
					Attempt:   1,
					Request:   "token",
					Untouched: true,
				},
			},
		},
		"CanceledWhileInstalling": {
			reason: "A job that is canceled while its content is installed is canceled, not failed.",
			ctx:    canceled,
			inputs: required,
			installer: func(ctx context.Context, _ content.Request) (content.Set, func(), error) {
				return content.Set{}, nil, ctx.Err()
			},
			want: want{
				report: runs.Report{
					Run:       base(common.PhaseCanceled, runner.ReasonCanceled, "canceled while the content was being installed", "digest of before"),
					Attempt:   1,
					Request:   "token",
					Untouched: true,
				},
				phases: []common.RunPhase{common.PhaseInstalling},
			},
		},
		"Untouched": {
			reason:    "What the runner is certain of should be reported, whatever was told before.",
			ctx:       t.Context(),
			inputs:    required,
			installer: installed,
			runner: func(_ context.Context, _ runner.Spec, w events.Watch) (runner.Result, error) {
				w.Progress(events.Summary{Started: true})

				return runner.Result{Phase: common.PhaseFailed, Reason: runner.ReasonPlaybookError, Message: "no such role", Untouched: true}, nil
			},
			want: want{
				report: runs.Report{
					Run: func() common.Run {
						r := base(common.PhaseFailed, runner.ReasonPlaybookError, "no such role", "digest of abc")
						r.Hosts = &common.HostTotals{}

						return r
					}(),
					Attempt:   1,
					Request:   "token",
					Content:   &common.Content{Digest: "abc", Collections: set.Collections},
					Untouched: true,
				},
				phases: []common.RunPhase{common.PhaseInstalling, common.PhaseRunning, common.PhaseRunning},
			},
		},
		"RunnerBroken": {
			reason:    "A machine that cannot run anything should fail the run.",
			ctx:       t.Context(),
			inputs:    required,
			installer: installed,
			runner: func(context.Context, runner.Spec, events.Watch) (runner.Result, error) {
				return runner.Result{}, errors.New("disk full")
			},
			want: want{
				report: runs.Report{
					Run:       base(common.PhaseFailed, runs.ReasonInternal, "disk full", "digest of abc"),
					Attempt:   1,
					Request:   "token",
					Content:   &common.Content{Digest: "abc", Collections: set.Collections},
					Blameless: true,
				},
				phases: []common.RunPhase{common.PhaseInstalling, common.PhaseRunning},
			},
		},
		"NoAccess": {
			reason:    "A run that gets no access to the API server is tried again by itself.",
			ctx:       t.Context(),
			inputs:    required,
			installer: installed,
			runner: func(context.Context, runner.Spec, events.Watch) (runner.Result, error) {
				return runner.Result{Untouched: true}, errors.Wrap(&runner.AccessError{Cause: errors.New("no account")}, "config")
			},
			want: want{
				report: runs.Report{
					Run:       base(common.PhaseFailed, runs.ReasonForbidden, "config: no account", "digest of abc"),
					Attempt:   1,
					Request:   "token",
					Content:   &common.Content{Digest: "abc", Collections: set.Collections},
					Untouched: true,
					Blameless: true,
					NotBefore: now.Add(runs.AccessAgain),
				},
				phases: []common.RunPhase{common.PhaseInstalling, common.PhaseRunning},
			},
		},
		"RunnerCannotStart": {
			reason:    "Where it could not start anything, nothing was changed.",
			ctx:       t.Context(),
			inputs:    required,
			installer: installed,
			runner: func(context.Context, runner.Spec, events.Watch) (runner.Result, error) {
				return runner.Result{Untouched: true}, errors.New("disk full")
			},
			want: want{
				report: runs.Report{
					Run:       base(common.PhaseFailed, runs.ReasonInternal, "disk full", "digest of abc"),
					Attempt:   1,
					Request:   "token",
					Content:   &common.Content{Digest: "abc", Collections: set.Collections},
					Untouched: true,
					Blameless: true,
				},
				phases: []common.RunPhase{common.PhaseInstalling, common.PhaseRunning},
			},
		},
		"Panic": {
			reason:    "A mistake of the provider should fail the run that meets it, and no others.",
			ctx:       t.Context(),
			inputs:    required,
			installer: installed,
			runner:    func(context.Context, runner.Spec, events.Watch) (runner.Result, error) { panic("hunter2") },
			want: want{
				report: runs.Report{
					Run:       base(common.PhaseFailed, runs.ReasonInternal, "the provider has made a mistake; its log has a stack trace", "digest of abc"),
					Attempt:   1,
					Request:   "token",
					Content:   &common.Content{Digest: "abc", Collections: set.Collections},
					Blameless: true,
				},
				phases: []common.RunPhase{common.PhaseInstalling, common.PhaseRunning},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := NewLocal(tc.installer, tc.runner)
			x.now = func() time.Time { return now.Time }

			var phases []common.RunPhase

			j := runs.Run{
				Spec: runner.Spec{
					ID: "1", Mode: common.ModeApply, State: common.StatePresent, Trigger: common.TriggerCreated,
					Attempt: 1, Inputs: tc.inputs, Timeout: time.Minute,
					Content: content.Set{Content: common.Content{Digest: "before", Collections: []common.ContentItem{{Name: "before"}}}},
				},
				Request: "token",
			}

			got := x.Execute(tc.ctx, j, runs.Watch{Progress: func(r runs.Report) { phases = append(phases, r.Run.Phase) }})

			digests := map[string]string{j.Digest(j.Content): "digest of before", j.Digest(set): "digest of abc", j.Digest(content.Set{}): "digest of "}
			got.Run.InputsDigest = digests[got.Run.InputsDigest]

			if diff := cmp.Diff(tc.want.report, got); diff != "" {
				t.Errorf("\n%s\nExecute(...): -want, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.want.phases, phases); diff != "" {
				t.Errorf("\n%s\nExecute(...): -want phases, +got phases:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestNeeds of jobs.
func TestNeeds(t *testing.T) {
	boom := &galaxy.InstallError{What: "collections", Reason: "boom"}
	released := 0

	var got content.Request

	x := NewLocal(installerFn(func(_ context.Context, r content.Request) (content.Set, func(), error) {
		if got = r; r.Asked {
			return content.Set{}, nil, boom
		}

		return content.Set{}, func() { released++ }, nil
	}), nil)

	required := inputs.Inputs{Requirements: "collections: [{name: acme.site, version: 1.0.0}]"}
	j := runs.Run{
		Spec:    runner.Spec{Inputs: required, Trigger: common.TriggerChanged, Object: runner.Object{Namespace: "team-a"}, Timeout: time.Minute},
		Request: "token",
	}

	if n := x.Needs(runs.Run{}); n.Get != nil {
		t.Error("A job without requirements should need nothing.")
	}

	if n := x.Needs(runs.Run{Spec: runner.Spec{Inputs: inputs.Inputs{Requirements: "{"}}}); n.Get != nil {
		t.Error("A mistake should be reported by the run.")
	}

	n := x.Needs(j)
	if err := n.Get(t.Context()); err != nil || released != 1 || n.Key != "acme.site 1m0s" {
		t.Errorf("Get(...) of %q: %v, released %d times", n.Key, err, released)
	}

	if got.Tenant != "team-a" || got.Timeout != time.Minute {
		t.Errorf("The store should know whose installation this is, and how long it may take: %+v", got)
	}

	j.Trigger = common.TriggerRequested
	if n = x.Needs(j); n.Key != "acme.site 1m0s token" {
		t.Errorf("What is requested should be tried again, not %q", n.Key)
	}

	j.Missing = n.Get(t.Context())
	if !errors.Is(j.Missing, boom) {
		t.Fatalf("Get(...): %v", j.Missing)
	}

	r := x.Execute(t.Context(), j, runs.Watch{Progress: func(runs.Report) {}})
	if r.Run.Phase != common.PhaseFailed || r.Run.Reason != runs.ReasonInstallFailed || r.Run.Message != boom.Error() || r.Request != "token" {
		t.Errorf("A run whose content is missing should say why: %+v", r.Run)
	}
}

// TestExecuteApproved: what was approved is applied with the content that the check used, or not at all.
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
		"Same":       {reason: "The content that was checked should be applied.", approved: true, now: set("1.0.0"), want: common.Run{Phase: common.PhaseSucceeded}, begun: 1},
		"Changed":    {reason: "Another version should not begin.", approved: true, now: set("1.0.1"), want: common.Run{Phase: common.PhaseFailed, Reason: runs.ReasonContentChanged}},
		"NotGuarded": {reason: "Without approvals the latest version should be applied.", now: set("1.0.1"), want: common.Run{Phase: common.PhaseSucceeded}, begun: 1},
	} {
		t.Run(name, func(t *testing.T) {
			begun := 0
			x := NewLocal(
				installerFn(func(context.Context, content.Request) (content.Set, func(), error) { return tc.now, func() {}, nil }),
				runnerFn(func(context.Context, runner.Spec, events.Watch) (runner.Result, error) {
					begun++
					return runner.Result{Phase: common.PhaseSucceeded}, nil
				}),
			)

			j := runs.Run{Spec: runner.Spec{ID: "1", Mode: common.ModeApply, State: common.StatePresent, Approved: tc.approved, Content: set("1.0.0")}}
			r := x.Execute(t.Context(), j, runs.Watch{Progress: func(runs.Report) {}})

			if diff := cmp.Diff(tc.want, common.Run{Phase: r.Run.Phase, Reason: r.Run.Reason}); diff != "" || begun != tc.begun {
				t.Errorf("%s\nExecute(...): %d runs; -want, +got:\n%s", tc.reason, begun, diff)
			}

			// The next check follows from the content as it is now, and the attempt does not count.
			if tc.begun == 0 && (r.Run.InputsDigest != j.Digest(tc.now) || !r.Blameless || !r.Untouched) {
				t.Errorf("%s\nExecute(...): got %+v", tc.reason, r)
			}
		})
	}
}

// While a run goes on, it is certain that nothing was changed until a task has begun.
func TestExecuteStarted(t *testing.T) {
	x := NewLocal(
		installerFn(func(context.Context, content.Request) (content.Set, func(), error) {
			return content.Set{}, func() {}, nil
		}),
		runnerFn(func(_ context.Context, _ runner.Spec, w events.Watch) (runner.Result, error) {
			w.Progress(events.Summary{Play: "p"})
			w.Progress(events.Summary{Play: "p", Task: "t", Started: true})

			return runner.Result{Phase: common.PhaseSucceeded}, nil
		}),
	)

	var got []bool

	r := x.Execute(t.Context(), runs.Run{Spec: runner.Spec{ID: "1"}}, runs.Watch{Progress: func(r runs.Report) { got = append(got, r.Untouched) }})
	if diff := cmp.Diff([]bool{true, true, false, false}, append(got, r.Untouched)); diff != "" {
		t.Errorf("Untouched: -want, +got:\n%s", diff)
	}
}

// TestExecuteConfinement: a run says how the kernel has confined it, from when it executes its content.
func TestExecuteConfinement(t *testing.T) {
	x := NewLocal(
		installerFn(func(context.Context, content.Request) (content.Set, func(), error) {
			return content.Set{}, func() {}, nil
		}),
		runnerFn(func(context.Context, runner.Spec, events.Watch) (runner.Result, error) { return runner.Result{}, nil }),
	).On(sandbox.Kernel{Landlock: 6, Seccomp: true})

	r := x.Execute(t.Context(), runs.Run{}, runs.Watch{Progress: func(runs.Report) {}})
	if diff := cmp.Diff(&common.RunConfinement{Landlock: 6, Seccomp: true}, r.Run.Confinement); diff != "" {
		t.Errorf("Execute(...): -want, +got:\n%s", diff)
	}
}

// TestInstall leaves what is installed in place, for another process.
func TestInstall(t *testing.T) {
	boom := &galaxy.InstallError{What: "roles", Reason: "boom"}
	j := runs.Run{Spec: runner.Spec{ID: "1", Inputs: inputs.Inputs{Requirements: "roles: [acme.site]"}}}

	for name, want := range map[string]error{"Installed": nil, "Failed": boom} {
		t.Run(name, func(t *testing.T) {
			x := NewLocal(installerFn(func(context.Context, content.Request) (content.Set, func(), error) {
				return content.Set{Content: common.Content{Digest: "abc"}}, func() { t.Error("It should not be released.") }, want
			}), nil)

			set, r, ok := x.Install(t.Context(), j)
			if ok != (want == nil) || ok && set.Digest != "abc" || !ok && (r.Run.Phase != common.PhaseFailed || r.Run.Message != boom.Error() || r.Run.CompletionTime == nil || !r.Untouched) {
				t.Errorf("Install(...): %v, %+v, %t", set, r.Run, ok)
			}
		})
	}
}

// TestIgnoresState has runs of content that does not look at the state: that of a deletion says that nothing was run.
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
