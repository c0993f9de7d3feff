package main

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
	"github.com/crossplane-ansible/crossplane-ansible/test/fakenode"
	"github.com/crossplane-ansible/crossplane-ansible/test/faults/ledger"
	"github.com/crossplane-ansible/crossplane-ansible/test/faults/trap"
)

// A place where runs happen, or several.
type place int

// Places.
const (
	// inProvider is the provider itself, in which each run starts cold: its programs may be faulty.
	inProvider place = 1 << iota
	// inForks is the provider, too, with runs that start warm.
	inForks
	// onNode is a Pod for each run, on a node.
	onNode
	// onScripts is a Pod for each run, too, but Pods and nodes are scripts.
	onScripts

	byProvider = inProvider | inForks
	inPods     = onNode | onScripts
	anywhere   = byProvider | inPods
)

// placeOf a name.
func placeOf(name string) place {
	return map[string]place{"Provider": inProvider, "Warm": inForks, "Pod": onNode, "Script": onScripts}[name]
}

const (
	// labelRun is the label of all that belongs to a run in a Pod.
	labelRun = "ansible.crossplane.io/run"
	// keepFor is how long Pods are kept.
	keepFor = 5 * time.Second
	// scripts are the Pods that there may be at a time if they are scripts.
	scripts = 50
)

// place of runs, as the provider calls it.
func (s *stage) place() common.Place {
	if s.where&byProvider != 0 {
		return common.PlaceProvider
	}

	return common.PlacePod
}

// env of configurations. The faults of programs are those of programs that are executed: a setting that Ansible reads
// while it is imported keeps runs from being forked.
func (s *stage) env() []common.EnvVar {
	if s.where != inProvider {
		return nil
	}

	return []common.EnvVar{{Name: "ANSIBLE_COLOR_OK", Value: new("blue")}}
}

// host is the address of this machine that runs reach it by.
func (s *stage) host() string {
	if s.where == onNode {
		return s.stack.Address()
	}

	return "127.0.0.1"
}

// size of the population. With scripts more want a Pod than there may be.
func (s *stage) size() int {
	if s.where == onScripts {
		return 2 * scripts
	}

	return 9
}

// podLimit is how many Pods there may be.
func (s *stage) podLimit() int {
	if s.where == onScripts {
		return scripts
	}

	return 6
}

// pace is the mean time between changes of the population.
func (s *stage) pace() time.Duration {
	switch s.where {
	case onNode:
		return 3 * time.Second // Each run takes seconds of CPU.
	case onScripts:
		return 100 * time.Millisecond
	}

	return time.Second
}

// poll interval of AnsibleRuns.
func (s *stage) poll() time.Duration {
	if s.where == onScripts {
		return 5 * time.Second
	}

	return 25 * time.Second
}

// timeout of each run.
func (s *stage) timeout() time.Duration {
	if s.where&byProvider != 0 {
		return 20 * time.Second
	}

	return 2 * time.Minute
}

// cleaning is how long it takes at most until nothing is left. Pods that are not followed are
// looked for every minute, from their third one on.
func (s *stage) cleaning() time.Duration {
	if s.where&byProvider != 0 {
		return 15 * time.Second
	}

	return 5 * time.Minute
}

// execution of configurations.
func (s *stage) execution() *common.Execution {
	if s.where&byProvider != 0 {
		return nil
	}

	return &common.Execution{KeepFor: &metav1.Duration{Duration: keepFor}, Resources: &corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("10m"),
			corev1.ResourceMemory: resource.MustParse("64Mi"),
		},
		Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
	}, Tolerations: []corev1.Toleration{{
		Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
		TolerationSeconds: new(int64(3)),
	}}}
}

// preparePods gives the provider what it needs for runs in Pods.
func (s *stage) preparePods(ctx context.Context) error {
	if s.where&byProvider != 0 {
		return nil
	}

	if err := s.stack.AllowPods(ctx, ""); err != nil {
		return err
	}

	if s.where == onNode {
		return s.stack.ImportProvider(ctx)
	}

	// The scripts end before the ledger does.
	working, stop := context.WithCancel(ctx)
	s.later(func() error { stop(); return nil })

	var err error
	s.nodes, err = fakenode.Start(working, s.cfg, 2*scripts, fakenode.Script{Work: s.work})

	return err
}

// records has the results of runs that were to be written to a status, and those that were.
type records struct {
	mu            sync.Mutex
	told, results map[string]string
}

// seen is a status that is about to be written. The end of the provider ends no run that has a Pod.
func (s *stage) seen(e trap.Event) {
	phase := common.RunPhase(e.Phase)
	if s.where&byProvider != 0 || e.Kind != trap.StatusWritten || !phase.Finished() {
		return
	}

	s.records.mu.Lock()
	defer s.records.mu.Unlock()

	// A provider that ends between its note of a run and the Pod leaves one that has not begun, and one that ends before
	// it can record that a run was canceled, as a deletion does, leaves no Pod.
	if phase == common.PhaseInterrupted && !s.book.Struck(e.RunID) && s.book.Run(e.RunID) != nil &&
		s.records.told[e.RunID] != string(common.PhaseCanceled) && !s.book.IsDeleted(e.UID) {
		s.book.Breach(e.UID, "a run in a Pod is interrupted only by what hits that",
			fmt.Sprintf("run %s is %s", e.RunID, phase))
	}

	if s.records.told == nil {
		s.records.told = map[string]string{}
	}

	s.records.told[e.RunID] = e.Phase
}

// written is a status that the API server has taken. One that it has not taken may differ: the next
// provider may find the run canceled, or gone.
func (s *stage) written(e trap.Event) {
	if s.where&byProvider != 0 || e.Kind != trap.StatusWritten || !common.RunPhase(e.Phase).Finished() {
		return
	}

	s.records.mu.Lock()
	defer s.records.mu.Unlock()

	if was := s.records.results[e.RunID]; was != "" && was != e.Phase {
		s.book.Breach(e.UID, "a run has one result", fmt.Sprintf("run %s is %s, and was %s", e.RunID, e.Phase, was))
	}

	if s.records.results == nil {
		s.records.results = map[string]string{}
	}

	s.records.results[e.RunID] = e.Phase
}

// lost are runs that have ended by themselves and of which no status was told.
func (s *stage) lost() {
	if s.where&byProvider != 0 {
		return
	}

	s.records.mu.Lock()
	defer s.records.mu.Unlock()

	for _, r := range s.book.Runs() {
		// An object that was only ever checked goes at once when it is deleted: it gets no result any more.
		if s.book.IsGone(r.UID) && s.book.LastApply(r.UID) == nil {
			continue
		}

		if (r.Outcome == ledger.Done || r.Outcome == ledger.Failed) && s.records.told[r.ID] == "" {
			s.book.Breach(r.UID, "no result of a run in a Pod is lost", fmt.Sprintf("run %s is %s", r.ID, r.Outcome))
		}
	}
}

// leftOfPods is what is left of runs in Pods after keepFor.
func (s *stage) leftOfPods(ctx context.Context) []string {
	if s.where&byProvider != 0 {
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
