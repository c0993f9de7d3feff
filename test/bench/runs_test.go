package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/sshd"
)

// remote has 20 tasks over ssh. Runs may read the key in the shared directory.
func remote(b *testing.B) work {
	b.Helper()

	s := sshd.Start(b, filepath.Join(stack.SharedDir(), "sshd"), sshd.Options{})

	return work{
		playbook: "- hosts: all\n  gather_facts: false\n  tasks:\n" + strings.Repeat(`  - ansible.builtin.command: "true"
  - ansible.builtin.stat: {path: /etc}
  - ansible.builtin.debug: {msg: Hello}
  - ansible.builtin.file: {path: "{{ ansible_env.HOME | default('/tmp') }}", state: directory}
`, 5),
		inventory: fmt.Sprintf("target ansible_host=%s ansible_port=%d ansible_user=%s ansible_ssh_private_key_file=%s "+
			"ansible_ssh_common_args='-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null'\n",
			s.Host, s.Port, s.User, s.KeyFile()),
	}
}

// BenchmarkRun measures one run at a time from apply to Ready, and the processor time of the provider with all that it
// starts.
func BenchmarkRun(b *testing.B) {
	for _, each := range []struct {
		name string
		work work
	}{{"debug", debug()}, {"three-tasks", little()}, {"20-tasks-over-ssh", remote(b)}} {
		b.Run(each.name+"/ansible-playbook", each.work.play)
		b.Run(each.name+"/warm", func(b *testing.B) {
			restart(b)
			each.work.warmUp(b)
			each.work.measure(b)
		})
		b.Run(each.name+"/cold", func(b *testing.B) {
			restart(b)
			each.work.cold().measure(b)
		})
	}
}

func (w work) measure(b *testing.B) {
	b.Helper()

	before := usage(b).CPU
	for b.Loop() {
		w.apply(b, 1)
	}
	cpu := (usage(b).CPU - before).Seconds() / float64(b.N)
	b.ReportMetric(1000*cpu, "cpu-ms/op")
	b.ReportMetric(1000*cpu/(10*time.Minute).Seconds(), "cores/1000-objects-every-10-min")
}

// BenchmarkMemory measures what all that the provider has started takes while many runs go on, and what one run more
// takes.
func BenchmarkMemory(b *testing.B) {
	const runs, workers = 40, 2

	restart(b, fmt.Sprintf("--max-concurrent-runs=%d", workers))
	debug().warmUp(b)

	_, idle, err := provider.Descendants()
	needs.OK(b, err)

	var watcher sync.WaitGroup

	peak := idle
	watching, stop := context.WithCancel(b.Context())
	watcher.Go(func() {
		for ticks := time.NewTicker(100 * time.Millisecond); watching.Err() == nil; <-ticks.C {
			if _, n, err := provider.Descendants(); err == nil {
				peak = max(peak, n)
			}
		}
	})
	for b.Loop() {
		debug().apply(b, runs)
	}
	stop()
	watcher.Wait()
	b.ReportMetric(mebibytes(idle), "MiB/idle")
	b.ReportMetric(mebibytes(peak-idle)/workers, "MiB/run")
}

// BenchmarkIdle measures objects that nothing happens to: an operation is a poll of all of them.
func BenchmarkIdle(b *testing.B) {
	const (
		objects = 1000
		poll    = 20 * time.Second
	)

	needs.OK(b, provider.Stop(b.Context())) // It would run what is not settled yet.
	for range objects {
		settled(b)
	}
	restart(b, "--poll-interval="+poll.String())

	reconciles := func() float64 {
		return cluster.Metric(b, stack.ProviderMetrics(), "controller_runtime_reconcile_total", `controller="managed/ansiblerun`)
	}
	polls := time.NewTicker(poll)
	<-polls.C // All objects are looked at once at the start.
	looked, before := reconciles(), usage(b).CPU
	for b.Loop() {
		<-polls.C
	}
	b.ReportMetric(1000*(usage(b).CPU-before).Seconds()/(reconciles()-looked), "cpu-ms/reconcile")
	b.ReportMetric(mebibytes(usage(b).Resident), "MiB")

	l := &v1alpha1.AnsibleRunList{}
	needs.OK(b, kube.List(b.Context(), l, client.InNamespace(namespace)))
	for _, r := range l.Items {
		if r.Status.AtProvider.LastRun != nil {
			b.Fatalf("%s was run", r.Name)
		}
	}
}

// settled makes an object as a provider leaves it that has applied it: one that had another key for its digests, so that
// it counts as applied.
func settled(b *testing.B) {
	b.Helper()

	r, now := little().run(), metav1.Now()
	needs.OK(b, kube.Create(b.Context(), r))
	was := client.MergeFrom(r.DeepCopy())
	r.SetConditions(xpv2.Available().WithObservedGeneration(r.Generation),
		xpv2.ReconcileSuccess().WithObservedGeneration(r.Generation))
	r.Status.AtProvider = common.AnsibleRunObservation{
		AppliedDigest: "v1.00000000.00",
		LastApply: &common.Apply{
			ID: "settled", Result: common.PhaseSucceeded, State: common.StatePresent,
			InputsDigest: "v1.00000000.00", Attempts: 1, CompletionTime: &now,
		},
	}
	needs.OK(b, kube.Status().Patch(b.Context(), r, was))
}

// BenchmarkFailing measures a healthy object beside many that miss a Secret.
func BenchmarkFailing(b *testing.B) {
	const (
		objects = 8000
		missing = "missing"
	)

	restart(b)
	little().warmUp(b)
	for range objects {
		r := little().run()
		r.Spec.ForProvider.VarFiles = []common.VarFile{{
			Source:       common.VarFileSourceSecretKey,
			SecretKeyRef: &common.KeySelector{Name: missing, Key: "vars.yml"},
		}}
		needs.OK(b, kube.Create(b.Context(), r))
	}
	cluster.Eventually(b, "all of them to have failed", func() bool {
		l := &v1alpha1.AnsibleRunList{}
		needs.OK(b, kube.List(b.Context(), l, client.InNamespace(namespace)))

		failed := 0
		for _, r := range l.Items {
			if s := r.GetCondition(xpv2.TypeSynced); s.Status == corev1.ConditionFalse && strings.Contains(s.Message, missing) {
				failed++
			}
		}
		return failed == objects
	})
	for b.Loop() {
		little().apply(b, 1)
	}
	b.ReportMetric(mebibytes(usage(b).Resident), "MiB")
}
