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
	// labelRun is the label of the objects of a run in a Pod.
	labelRun = "ansible.crossplane.io/run"
	keepFor  = 5 * time.Second
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

// records has the results of runs in requests that write a status.
type records struct {
	mu   sync.Mutex
	told map[string]string
}

// seen records a status before it is written. The end of the provider must not end a run that has a Pod.
func (s *stage) seen(e trap.Event) {
	phase := common.RunPhase(e.Phase)
	if !inPods || e.Kind != trap.StatusWritten || !phase.Finished() {
		return
	}

	s.records.mu.Lock()
	defer s.records.mu.Unlock()

	// A run is interrupted before it begins if the provider ends between its record of the run and the Pod. It has no Pod
	// if the provider ends before it records that a deletion has canceled the run.
	if r := s.book.Run(e.RunID); phase == common.PhaseInterrupted && r != nil && !r.Struck &&
		s.records.told[e.RunID] != string(common.PhaseCanceled) && !s.book.Object(e.UID).Deleted {
		s.book.Breach(e.UID, "only a fault of its Pod interrupts a run",
			fmt.Sprintf("run %s is %s", e.RunID, phase))
	}

	s.records.told[e.RunID] = e.Phase
}

// lost reports runs that ended by themselves and whose result was never written to a status.
func (s *stage) lost() {
	if !inPods {
		return
	}

	s.records.mu.Lock()
	defer s.records.mu.Unlock()

	for _, r := range s.book.Runs() {
		// The deletion of an object that was only checked ends at once, and writes no result.
		if o := s.book.Object(r.UID); o.Gone && o.LastApply == nil {
			continue
		}

		if (r.Outcome == ledger.Done || r.Outcome == ledger.Failed) && s.records.told[r.ID] == "" {
			s.book.Breach(r.UID, "no result of a run in a Pod is lost", fmt.Sprintf("run %s is %s", r.ID, r.Outcome))
		}
	}
}

// leftOfPods are the objects of runs in Pods that are left after keepFor.
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
