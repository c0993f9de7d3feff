// Package bench measures what AnsibleRuns cost, on a control plane of its own: the figures of docs/operations.md.
package bench

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// namespace of all that is measured.
const namespace = "bench"

// The control plane, and its provider as it was last started.
var (
	stack    *controlplane.Stack
	kube     client.WithWatch
	provider *controlplane.Piece
)

func TestMain(m *testing.M) {
	flag.Parse()

	if flag.Lookup("test.bench").Value.String() == "" {
		os.Exit(m.Run()) // Nothing needs a control plane.
	}

	(&cluster.Suite{Stack: "bench", Target: "bench", Prepare: prepare}).Main(m)
}

func prepare(ctx context.Context, s *controlplane.Stack) error {
	stack, provider = s, s.Provider()

	cfg, err := s.Config()
	if err != nil {
		return err
	}
	if kube, err = client.NewWithWatch(cfg, client.Options{Scheme: controlplane.Scheme()}); err != nil {
		return err
	}
	return errors.Join(
		kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}),
		kube.Create(ctx, &v1alpha1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}))
}

// restart the provider with flags. What the runs of a benchmark have left goes with its end.
func restart(b *testing.B, flags ...string) {
	b.Helper()
	needs.OK(b, provider.Stop(b.Context()))
	provider = stack.Provider(append([]string{"--debug=false"}, flags...)...)
	needs.OK(b, provider.Start(b.Context()))
	b.Cleanup(func() {
		ctx := context.Background()
		// The API server gives up on the deletion of thousands of objects after a minute.
		needs.OK(b, cluster.Await(ctx, func() bool {
			return kube.DeleteAllOf(ctx, &v1alpha1.AnsibleRun{}, client.InNamespace(namespace)) == nil
		}))
		needs.OK(b, cluster.Await(ctx, func() bool {
			l := &v1alpha1.AnsibleRunList{}
			return kube.List(ctx, l, client.InNamespace(namespace)) == nil && len(l.Items) == 0
		}))
	})
}

// A work is a playbook that is measured.
type work struct {
	playbook string
	// inventory in INI; empty for localhost.
	inventory string
	// env of the AnsibleRun.
	env []common.EnvVar
}

// cold is the work with a setting that Ansible reads while it is imported, so that its runs start cold.
func (w work) cold() work {
	w.env = []common.EnvVar{{Name: "ANSIBLE_COLOR_OK", Value: new("blue")}}
	return w
}

// debug is the least that a playbook does.
func debug() work {
	return work{playbook: "- hosts: localhost\n  gather_facts: false\n  tasks:\n  - ansible.builtin.debug: {msg: Hello}\n"}
}

// little is a bit of what playbooks do.
func little() work {
	return work{playbook: `- hosts: localhost
  gather_facts: false
  tasks:
  - ansible.builtin.command: "true"
  - ansible.builtin.copy:
      dest: "{{ lookup('env', 'TMPDIR') | default('/tmp', true) }}/bench-{{ 999999 | random }}"
      content: Hello
  - ansible.builtin.debug: {msg: "{{ item }}"}
    loop: "{{ range(20) | list }}"
`}
}

// run is an AnsibleRun of the work, of which nothing is to be undone.
func (w work) run() *v1alpha1.AnsibleRun {
	r := &v1alpha1.AnsibleRun{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, GenerateName: "run-",
		Annotations: map[string]string{common.AnnotationRunPolicy: string(common.RunOnChange)},
	}}
	r.Spec.ProviderConfigReference = &xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: "default"}
	r.Spec.ManagementPolicies = xpv2.ManagementPolicies{
		xpv2.ManagementActionObserve, xpv2.ManagementActionCreate, xpv2.ManagementActionUpdate,
	}
	r.Spec.ForProvider.PlaybookInline = w.playbook
	r.Spec.ForProvider.InventoryInline = w.inventory
	r.Spec.ForProvider.Env = w.env
	return r
}

// play the work with ansible-playbook, with nothing of the configuration of the current user.
func (w work) play(b *testing.B) {
	b.Helper()

	dir, path := b.TempDir(), stack.VirtualEnv()
	needs.OK(b, os.WriteFile(filepath.Join(dir, "playbook.yml"), []byte(w.playbook), 0o600))
	args := []string{"playbook.yml"}
	if w.inventory != "" {
		needs.OK(b, os.WriteFile(filepath.Join(dir, "hosts"), []byte(w.inventory), 0o600))
		args = append(args, "--inventory=hosts")
	}
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), filepath.Join(path, "ansible-playbook"), args...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + path + ":" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "LANG=C.UTF-8"}
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("ansible-playbook: %v\n%s", err, out)
		}
	}
}

// apply AnsibleRuns of the work, and wait until all of them are Ready.
func (w work) apply(b *testing.B, n int) {
	b.Helper()

	watch, err := kube.Watch(b.Context(), &v1alpha1.AnsibleRunList{}, client.InNamespace(namespace))
	needs.OK(b, err)
	defer watch.Stop()

	waiting := map[string]bool{}
	for range n {
		r := w.run()
		needs.OK(b, kube.Create(b.Context(), r))
		waiting[r.Name] = true
	}
	for e := range watch.ResultChan() {
		r, ok := e.Object.(*v1alpha1.AnsibleRun)
		if !ok {
			continue
		}
		if a := r.Status.AtProvider.LastApply; a != nil && a.Result.Finished() && a.Result != common.PhaseSucceeded {
			b.Fatalf("%s: %s", r.Name, r.Status.AtProvider.LastRun.Message)
		}
		if r.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue {
			delete(waiting, r.Name)
		}
		if len(waiting) == 0 {
			return
		}
	}
	b.Fatal("the watch of AnsibleRuns has ended")
}

// warmUp runs the work until its runs start warm, and waits until nothing is left but the process that they start from:
// another one builds modules at first.
func (w work) warmUp(b *testing.B) {
	b.Helper()
	cluster.Eventually(b, "runs that start warm", func() bool {
		w.apply(b, 1)
		return cluster.Metric(b, stack.ProviderMetrics(), "provider_ansible_starts_total", `reason=""`, `start="warm"`) > 0
	})
	cluster.Eventually(b, "the process that runs start from, alone", func() bool {
		n, _, err := provider.Descendants()
		return err == nil && n == 1
	})
}

// usage of the provider.
func usage(b *testing.B) controlplane.Usage {
	b.Helper()

	u, err := provider.Usage()
	needs.OK(b, err)
	return u
}

func mebibytes(n uint64) float64 { return float64(n) / (1 << 20) }
