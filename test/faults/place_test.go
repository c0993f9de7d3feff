package faults

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/test/faults/ledger"
	"github.com/crossplane-ansible/crossplane-ansible/test/faults/trap"
)

const (
	// labelRun is the label of all that belongs to a run in a Pod.
	labelRun = "ansible.crossplane.io/run"
	// keepFor is how long Pods are kept.
	keepFor = 5 * time.Second
	// podPace is the mean time between changes of the population: each run takes seconds of CPU.
	podPace = 3 * time.Second
)

// either of two times: one for runs in the provider, one for those in Pods.
func either(provider, pods time.Duration) time.Duration {
	if inPods {
		return pods
	}

	return provider
}

// execution of configurations.
func execution() *common.Execution {
	if !inPods {
		return nil
	}

	return &common.Execution{KeepFor: &metav1.Duration{Duration: keepFor}, Resources: &corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("10m"),
			corev1.ResourceMemory: resource.MustParse("64Mi"),
		},
		Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
	}}
}

// records has the results of runs that were to be written to a status.
type records struct {
	mu   sync.Mutex
	told map[string]string
}

// seen is a status that is about to be written. The end of the provider ends no run that has a Pod.
func (s *stage) seen(e trap.Event) {
	phase := common.RunPhase(e.Phase)
	if !inPods || e.Kind != trap.StatusWritten || !phase.Finished() {
		return
	}

	s.records.mu.Lock()
	defer s.records.mu.Unlock()

	// A provider that ends between its note of a run and the Pod leaves one that has not begun, and one that ends before
	// it can record that a run was canceled, as a deletion does, leaves no Pod.
	if r := s.book.Run(e.RunID); phase == common.PhaseInterrupted && r != nil && !r.Struck &&
		s.records.told[e.RunID] != string(common.PhaseCanceled) && !s.book.Object(e.UID).Deleted {
		s.book.Breach(e.UID, "a run in a Pod is interrupted only by what hits that",
			fmt.Sprintf("run %s is %s", e.RunID, phase))
	}

	s.records.told[e.RunID] = e.Phase
}

// lost are runs that have ended by themselves and of which no status was told.
func (s *stage) lost() {
	if !inPods {
		return
	}

	s.records.mu.Lock()
	defer s.records.mu.Unlock()

	for _, r := range s.book.Runs() {
		// An object that was only ever checked goes at once when it is deleted: it gets no result any more.
		if o := s.book.Object(r.UID); o.Gone && o.LastApply == nil {
			continue
		}

		if (r.Outcome == ledger.Done || r.Outcome == ledger.Failed) && s.records.told[r.ID] == "" {
			s.book.Breach(r.UID, "no result of a run in a Pod is lost", fmt.Sprintf("run %s is %s", r.ID, r.Outcome))
		}
	}
}

// leftOfPods is what is left of runs in Pods after keepFor.
func (s *stage) leftOfPods(ctx context.Context) []string {
	if !inPods {
		return nil
	}

	var out []string

	for _, kind := range []string{"PodList", "SecretList"} {
		l := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: kind}}
		if err := s.kube.List(ctx, l, client.HasLabels{labelRun}); err != nil {
			out = append(out, errors.Wrap(err, "cannot list what is left").Error())
		}

		for _, o := range l.Items {
			out = append(out, fmt.Sprintf("%s %s/%s of run %s", kind, o.Namespace, o.Name, o.Labels[labelRun]))
		}
	}

	return out
}
