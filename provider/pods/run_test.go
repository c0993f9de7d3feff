package pods

import (
	"context"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
)

// A mistake of the provider should end the run that meets it, and no others. Its Job goes, so
// that it does not run beside the next one.
func TestPanic(t *testing.T) {
	r := onCluster(t)
	r = onCluster(t, jobOf(t, r))

	ready := make(chan struct{})
	close(ready)

	x := r.Executor
	x.scopes = &scopes{config: x.config, all: map[string]*scope{"": {ready: ready}}, followers: map[string]chan struct{}{}}
	x.config.Image = func(context.Context) (string, error) { panic("hunter2") }

	got := x.Execute(t.Context(), r.job, executor.Watch{})
	if got.Run.Phase != common.PhaseInterrupted || got.Run.Reason != executor.ReasonInternal || !got.Blameless || strings.Contains(got.Run.Message, "hunter2") {
		t.Errorf("Execute(...): %+v", got)
	}

	if err := x.config.Client.Get(t.Context(), client.ObjectKey{Namespace: r.ref.Namespace, Name: r.ref.Name}, &batchv1.Job{}); err == nil {
		t.Error("The Job should be deleted.")
	}
}
