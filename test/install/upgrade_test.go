package install

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// work is two AnsibleRuns that write to a ledger when they begin and end. One ends at once, the other waits for a file.
var work = runOf("idle", "", "", `
        - ansible.builtin.shell: echo idle {{ ansible_provider_meta.managed_resource.state }} >> /ledger/lines
`) + runOf("busy", "", "", `
        - when: ansible_provider_meta.managed_resource.state == 'present'
          block:
          - ansible.builtin.shell: echo busy begins >> /ledger/lines
          - ansible.builtin.wait_for: {path: /ledger/go, timeout: 240}
          - ansible.builtin.shell: echo busy ends >> /ledger/lines
        - ansible.builtin.shell: echo busy absent >> /ledger/lines
          when: ansible_provider_meta.managed_resource.state == 'absent'
`)

// workInPod is an AnsibleRun with runs in Pods. Its play writes when it begins and ends, too.
var workInPod = runOf("pod", `execution: {place: Pod, podTemplate: {spec: {
    containers: [{name: run, volumeMounts: [{name: ledger, mountPath: /ledger}]}],
    volumes: [{name: ledger, persistentVolumeClaim: {claimName: ledger}}]}}}`, keeping, `
        - ansible.builtin.shell: echo begins >> /ledger/pod
        - ansible.builtin.wait_for: {path: /ledger/go-pod, timeout: 240}
        - ansible.builtin.shell: echo ends >> /ledger/pod
`)

// volumes for the claim of the example, and for a ledger.
const volumes = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: provider-ansible}
spec:
  capacity: {storage: 100Gi}
  accessModes: [ReadWriteOnce]
  claimRef: {namespace: crossplane-system, name: provider-ansible}
  hostPath: {path: DIR/state}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: ledger}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  claimRef: {namespace: crossplane-system, name: ledger}
  hostPath: {path: DIR/ledger}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {namespace: crossplane-system, name: ledger}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
---
apiVersion: v1
kind: ConfigMap
metadata: {namespace: crossplane-system, name: authorities}
data: {ca-bundle.crt: ""}
---
`

// TestUpgrade goes from one version to the next with objects in place and a run in
// progress, as the documentation says: with an account that all versions share, in a
// namespace that allows nothing that Pod Security does not allow.
func TestUpgrade(t *testing.T) {
	install(t)
	// The documentation says that none may depend on packages that are upgraded by themselves.
	cp.Kubectl(t, "delete", "configuration.pkg", "configuration-ansible", "--ignore-not-found", "--cascade=foreground")
	dir := cp.Stack.SharedDir()
	ledger := filepath.Join(dir, "ledger")
	for _, d := range []string{ledger, filepath.Join(dir, "state")} {
		needs.OK(t, errors.Join(os.MkdirAll(d, 0o755), os.Chown(d, 2000, 2000)))
	}
	read := func(file string) string {
		b, _ := os.ReadFile(filepath.Join(ledger, file))
		return string(b)
	}
	lines := func() string { return read("lines") }
	provider := object("pkg.crossplane.io/v1", "Provider", "", "provider-ansible")

	// The example, with a volume for the ledger.
	config := strings.NewReplacer(
		"            - --state-dir=/state\n", "            - --state-dir=/state\n            - --write-path=/ledger\n",
		"            volumeMounts:\n", "            volumeMounts:\n            - {name: ledger, mountPath: /ledger}\n",
		"          volumes:\n", "          volumes:\n          - name: ledger\n            persistentVolumeClaim: {claimName: ledger}\n",
	).Replace(example(t, "operations/runtime.yaml"))
	cp.Kubectl(t, "label", "namespace", "crossplane-system", "pod-security.kubernetes.io/enforce=restricted")
	t.Cleanup(func() {
		// Crossplane's own Deployments ask for more.
		kubectl("label", "namespace", "crossplane-system", "pod-security.kubernetes.io/enforce-")
	})
	apply(t, strings.ReplaceAll(volumes, "DIR", dir)+example(t, "operations/volume.yaml")+"---\n"+config)
	publish(t, "provider-ansible", "v0.2.0") // This takes as long as the rollout.
	cp.WaitFor(t, provider, Condition("Healthy", "True"))
	Eventually(t, "the provider with its new configuration", func() bool {
		pods := podsOf(t, "provider-ansible")
		return len(pods) == 1 && *pods[0].Spec.TerminationGracePeriodSeconds == 330
	})

	allowPods(t)
	apply(t, work+workInPod)
	idle := object("ansible.m.crossplane.io/v1alpha1", "AnsibleRun", "default", "idle")
	busy := object("ansible.m.crossplane.io/v1alpha1", "AnsibleRun", "default", "busy")
	pod := object("ansible.m.crossplane.io/v1alpha1", "AnsibleRun", "default", "pod")
	id := func(u *unstructured.Unstructured) any { return Value(u, "status.atProvider.lastRun.id") }
	first := id(cp.WaitFor(t, idle, Condition("Ready", "True"), Condition("Synced", "True")))
	running := id(cp.WaitFor(t, busy, That("a run in progress", func(u *unstructured.Unstructured) bool {
		return Value(u, "status.atProvider.lastRun.phase") == "Running" && strings.Contains(lines(), "busy begins")
	})))
	inPod := id(cp.WaitFor(t, pod, That("a run in progress in a Pod", func(u *unstructured.Unstructured) bool {
		return Value(u, "status.atProvider.lastRun.phase") == "Running" && strings.Contains(read("pod"), "begins")
	})))

	old := podsOf(t, "provider-ansible")[0]
	cp.Kubectl(t, "patch", "provider.pkg", "provider-ansible", "--type=merge", "-p",
		`{"spec":{"package":"registry.example.org/crossplane-ansible/provider-ansible:v0.2.0"}}`)
	Eventually(t, "the old provider to be told to stop", func() bool { return strings.Contains(kubectl("logs", old.Name), "Stopping") })
	needs.OK(t, os.WriteFile(filepath.Join(ledger, "go"), nil, 0o600))
	Eventually(t, "the new provider to lead", func() bool {
		for _, p := range podsOf(t, "provider-ansible") {
			log := kubectl("logs", p.Name)
			if p.UID != old.UID && strings.Contains(log, "v0.2.0") && strings.Contains(log, "Starting workers") {
				return true
			}
		}
		return false
	})
	cp.WaitFor(t, provider, Condition("Installed", "True"), Condition("Healthy", "True"))
	cp.WaitFor(t, busy, Condition("Ready", "True"), Condition("Synced", "True"))
	cp.WaitFor(t, idle, Condition("Ready", "True"), Condition("Synced", "True"))

	// The run in a Pod has not noticed anything.
	needs.OK(t, os.WriteFile(filepath.Join(ledger, "go-pod"), nil, 0o600))
	cp.WaitFor(t, pod, Condition("Ready", "True"), Condition("Synced", "True"))
	if want, got := "begins\nends\n", read("pod"); want != got {
		t.Errorf("ledger of the run in a Pod: want\n%sgot\n%s", want, got)
	}

	for run, want := range map[Object]any{pod: inPod, busy: running, idle: first} {
		if got := id(cp.Get(t, run)); got != want {
			t.Errorf("%s: want run %v to be the last one still, got %v", run, want, got)
		}
	}
	// What Prometheus finds, by the port that the Service of the examples names.
	service, _, _ := strings.Cut(example(t, "operations/monitor.yaml"), "\n---\n")
	apply(t, service)
	rsp, err := http.Get("http://" + podsOf(t, "provider-ansible")[0].Status.PodIP + ":8080/metrics")
	needs.OK(t, err)
	defer rsp.Body.Close()
	if b, err := io.ReadAll(rsp.Body); err != nil || !strings.Contains(string(b), `provider_ansible_runs_limit{place="Provider"} 8`) {
		t.Errorf("metrics: want a limit of 8, got %v\n%s", err, b)
	}

	// The new one carries out what comes, and what has come before was carried out
	// once.
	cp.Kubectl(t, "delete", "ansibleruns.ansible.m.crossplane.io", "-n", "default", "idle", "--wait=false")
	cp.WaitGone(t, idle)
	if want, got := "idle present\nbusy begins\nbusy ends\nidle absent\n", lines(); want != got && got != "busy begins\nidle present\nbusy ends\nidle absent\n" {
		t.Errorf("ledger: want\n%sgot\n%s", want, got)
	}
}

// TestRemoval takes the provider away before its objects, which is the wrong order:
// first as the installation prevents it, and then as it says how to mend it.
func TestRemoval(t *testing.T) {
	install(t)
	apply(t, runOf("left", "", "", `
        - ansible.builtin.debug: {msg: hello}
`))
	left := object("ansible.m.crossplane.io/v1alpha1", "AnsibleRun", "default", "left")
	cp.WaitFor(t, left, Condition("Ready", "True"), Condition("Synced", "True"))
	provider := object("pkg.crossplane.io/v1", "Provider", "", "provider-ansible")
	cp.WaitFor(t, provider, Condition("Healthy", "True"))
	cp.WaitFor(t, object("protection.crossplane.io/v1beta1", "ClusterUsage", "", "provider-ansible"), Condition("Ready", "True"))

	// It would bring the provider back, as long as one of its revisions is there.
	cp.Kubectl(t, "delete", "configuration.pkg", "configuration-ansible", "--ignore-not-found", "--cascade=foreground")
	if err := cp.Kube.Delete(t.Context(), provider.Unstructured()); err == nil || !strings.Contains(err.Error(), "AnsibleRuns need it to go away") {
		t.Errorf("delete the provider: want a refusal that says why, got %v", err)
	}
	cp.Kubectl(t, "delete", "clusterusage.protection", "provider-ansible")
	cp.Kubectl(t, "delete", "provider.pkg", "provider-ansible")
	Eventually(t, "the provider to go", func() bool { return len(podsOf(t, "provider-ansible")) == 0 })
	cp.WaitFor(t, left, That("a deletion that waits", func(u *unstructured.Unstructured) bool {
		return u.GetDeletionTimestamp() != nil && len(u.GetFinalizers()) > 0
	}))

	// All that is left is let go, of other tests, too, and its definitions follow.
	for group, kinds := range map[string]map[string]string{
		"ansible.m.crossplane.io": {
			"ansibleruns": "AnsibleRun", "providerconfigs": "ProviderConfig",
			"providerconfigusages": "ProviderConfigUsage", "clusterproviderconfigs": "ClusterProviderConfig",
			"approvals": "Approval",
		},
		"ansible.crossplane.io": {
			"ansibleruns": "AnsibleRun", "providerconfigs": "ProviderConfig", "providerconfigusages": "ProviderConfigUsage",
			"approvals": "Approval",
		},
	} {
		for plural, kind := range kinds {
			crd := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", plural+"."+group)
			Eventually(t, crd.Name+" to go", func() bool {
				letGo(t, group, kind)
				return kerrors.IsNotFound(cp.Kube.Get(t.Context(), client.ObjectKey{Name: crd.Name}, crd.Unstructured()))
			})
		}
	}

	// What a Configuration brings has another name.
	name := "provider-ansible"
	if controlplane.Since("v2.1") {
		installConfiguration(t)
		name = organisation + "-" + name
	} else {
		apply(t, example(t, "install.yaml"))
	}
	cp.WaitFor(t, object("pkg.crossplane.io/v1", "Provider", "", name), Condition("Installed", "True"), Condition("Healthy", "True"))
}

// letGo of all objects of a kind, as far as there are any.
func letGo(t *testing.T, group, kind string) {
	t.Helper()
	l := &unstructured.UnstructuredList{}
	l.SetAPIVersion(group + "/v1alpha1")
	l.SetKind(kind + "List")
	if cp.Kube.List(t.Context(), l) != nil {
		return // There is no such kind any more.
	}
	for i := range l.Items {
		_ = cp.Kube.Patch(t.Context(), &l.Items[i], client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	}
}

// example of the documentation.
func example(t *testing.T, file string) string {
	t.Helper()
	return needs.Read(t, filepath.Join(root, "examples", file))
}
