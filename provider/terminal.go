package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

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
			t.content(c)
		}
	}

	if task := r.Run.CurrentTask; task != "" && task != t.task {
		t.task = task
		t.printf("  %s", task)
	}
}

func (t *terminal) content(c *common.Content) {
	if c.Project != nil {
		t.items("project", []common.ContentItem{*c.Project})
	}

	t.items("collection", c.Collections)
	t.items("role", c.Roles)
}

func (t *terminal) items(kind string, items []common.ContentItem) {
	for _, i := range items {
		t.printf("  with %s %s %s", kind, i.Name, i.Version)
	}
}

// refresh installed content whose resolution is stale, which the reconciler does in a
// cluster. When that fails, what is installed serves.
func (t *terminal) refresh(ctx context.Context, store *content.Store, in inputs.Inputs) error {
	defer store.Stop()

	req, err := content.NewRequest(in)
	if err != nil {
		return err
	}

	if r := store.Resolution(req); !r.Found || !r.Stale {
		return nil
	}

	t.printf("Resolving the content again")

	done := make(chan struct{})
	store.Refresh(req, "", func() { close(done) })

	select {
	case <-done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}

	if r := store.Resolution(req); r.Err != nil {
		t.printf("  using what is installed: %s", r.Err)
	}

	return nil
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
