package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/yaml"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/config"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

type runCommand struct {
	execution

	Files            []string        `help:"Manifests: the AnsibleRun, its configuration, and the Secrets and ConfigMaps that they refer to; - reads standard input." name:"file"     placeholder:"FILE" required:"" sep:"none" short:"f"`
	Name             string          `help:"Name of the AnsibleRun, when the manifests have more than one."`
	Check            bool            `help:"Only predict what the run would change."`
	State            common.RunState `default:"present"                                                                                                          enum:"present,absent" help:"State to bring about: present or absent."`
	AllowHostSources bool            `help:"Allow the sources Filesystem and Environment."`
}

// Run one AnsibleRun on this machine.
func (c *runCommand) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	m, err := manifests(c.Files)
	if err != nil {
		return err
	}

	run, err := choose(m.Runs(), c.Name)
	if err != nil {
		return err
	}

	in, err := config.NewResolver(m, config.AllowHost(c.AllowHostSources)).Resolve(ctx, run)
	if err != nil {
		return err
	}

	t := &terminal{w: os.Stdout}

	local, store, err := c.executor(ctx, nil, logging.NewLogrLogger(funcr.New(func(_, args string) { t.printf("%s", args) }, funcr.Options{})), func(func() int) {})
	if err != nil {
		return err
	}

	j := executor.Job{
		Run: runner.Run{
			ID:      string(uuid.NewUUID()),
			Mode:    common.ModeApply,
			State:   c.State,
			Trigger: common.TriggerRequested,
			Attempt: 1,
			Object:  runner.ObjectOf(run),
			Inputs:  in,
			Timeout: c.timeouts().Of(*run.Parameters()),
		},
		Digest: func(content.Set) string { return "" },
	}

	if c.Check {
		j.Mode = common.ModeCheck
	}

	if err := t.refresh(ctx, store, in); err != nil {
		return err
	}

	return t.end(local.Execute(ctx, j, executor.Watch{Progress: t.progress}))
}

// manifests of files.
func manifests(files []string) (*config.Manifests, error) {
	m, err := config.NewManifests()
	if err != nil {
		return nil, err
	}

	for _, f := range files {
		data, err := read(f)
		if err != nil {
			return nil, errors.Wrapf(err, "cannot read %q", f)
		}

		if err := m.Add(f, data); err != nil {
			return nil, err
		}
	}

	return m, nil
}

func read(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(os.Stdin)
	}

	return os.ReadFile(filepath.Clean(file))
}

// choose the run that is meant.
func choose(runs []common.AnsibleRun, name string) (common.AnsibleRun, error) {
	var names []string

	for _, r := range runs {
		if r.GetName() == name || name == "" && len(runs) == 1 {
			return r, nil
		}

		names = append(names, r.GetName())
	}

	switch {
	case len(runs) == 0:
		return nil, errors.New("the manifests have no AnsibleRun")
	case name == "":
		return nil, errors.Errorf("the manifests have more than one AnsibleRun, choose with --name: %s", strings.Join(names, ", "))
	}

	return nil, errors.Errorf("the manifests have no AnsibleRun named %q, but %s", name, strings.Join(names, ", "))
}

// A terminal shows a person how a run goes.
type terminal struct {
	w     io.Writer
	phase common.RunPhase
	task  string
}

func (t *terminal) progress(r executor.Report) {
	if r.Run.Phase != t.phase {
		t.phase = r.Run.Phase
		t.printf("%s", t.phase)

		if c := r.Content; c != nil && t.phase == common.PhaseRunning {
			t.items("collection", c.Collections)
			t.items("role", c.Roles)
		}
	}

	if task := r.Run.CurrentTask; task != "" && task != t.task {
		t.task = task
		t.printf("  %s", task)
	}
}

func (t *terminal) items(kind string, items []common.ContentItem) {
	for _, i := range items {
		t.printf("  with %s %s %s", kind, i.Name, i.Version)
	}
}

// refresh content that is installed and was not resolved for long: there is
// nobody else to do so. When that fails, what is installed serves.
func (t *terminal) refresh(ctx context.Context, store *content.Store, in inputs.Inputs) error {
	defer store.Stop()

	req, err := content.NewRequest(in)
	if err != nil {
		return err
	}

	req.Redact = redact.New(in.InstallSecrets()...).String

	r, err := store.Resolution(req)
	if err != nil || !r.Found || !r.Stale {
		return err
	}

	t.printf("Resolving the content again")

	done := make(chan struct{})
	if err := store.Refresh(req, "", func() { close(done) }); err != nil {
		return err
	}

	select {
	case <-done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}

	if r, err = store.Resolution(req); r.Err != nil {
		t.printf("  using what is installed: %s", r.Err)
	}

	return err
}

// end shows the result, and returns an error unless the run succeeded.
func (t *terminal) end(r executor.Report) error {
	if h := r.Run.Hosts; h != nil {
		t.printf("%s: ok=%d changed=%d unreachable=%d failed=%d skipped=%d rescued=%d ignored=%d",
			r.Run.Phase, h.OK, h.Changed, h.Unreachable, h.Failed, h.Skipped, h.Rescued, h.Ignored)
	}

	for _, c := range r.Changed {
		t.printf("  changed: [%s] %s", c.Host, c.Task)
	}

	for _, c := range r.Reported.Conditions {
		t.printf("  condition: %s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
	}

	if r.Outputs != nil {
		if text, err := yaml.JSONToYAML(r.Outputs.Raw); err == nil {
			t.printf("outputs:\n  %s", strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n  "))
		}
	}

	if r.Run.Phase == common.PhaseSucceeded {
		return nil
	}

	for _, f := range r.Run.Failures {
		t.printf("  failed: [%s] %s: %s", f.Host, f.Task, f.Message)
	}

	return errors.Errorf("%s: %s", r.Run.Reason, r.Run.Message)
}

func (t *terminal) printf(format string, args ...any) {
	fmt.Fprintf(t.w, "%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...) //nolint:errcheck // There is nobody else to tell.
}
