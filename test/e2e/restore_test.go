package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
)

// One AnsibleRun of a fleet. It writes what it does into the ledger.
const member = `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata:
  namespace: [[.Namespace]]
  name: [[.Name]]
  labels: {fleet: restored}
  annotations: {ansible.crossplane.io/runPolicy: [[.Policy]]}
spec:
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    vars: {ledger: "[[.Directory]]/ledger", name: [[.Name]]}
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - ansible.builtin.shell: echo {{ ansible_provider_meta.managed_resource.state }} {{ name }} >> {{ ledger | quote }}
`

// TestRestore loses a fleet, and restores it twice by the documented way: without statuses, as Velero does by default,
// and with them. The tool is imitated: objects are got, stripped of what the API server sets, and created.
func TestRestore(t *testing.T) {
	t.Parallel()

	const (
		fleet = 12 // More than run at a time.
		owned = 4
	)

	ns, dir := cp.Namespace(t), directory(t)
	cp.Apply(t, emptyConfig, runData{Namespace: ns})
	owner := owner(t, ns)

	names, want := []string{}, []string{}

	for i := range fleet {
		name := fmt.Sprintf("run-%02d", i)
		policy := []string{"ObserveAndDelete", "RunOnChange"}[i%2]
		o := cp.Apply(t, member, map[string]string{"Namespace": ns, "Name": name, "Policy": policy, "Directory": dir})[0]

		if i < owned {
			cp.Patch(t, o, fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":%q,"uid":%q}]}}`,
				owner.Name, owner.UID))
		} else {
			names = append(names, name)
		}

		want = append(want, "present "+name)
	}

	ledger := func() []string {
		return strings.Fields(strings.ReplaceAll(readFile(t, filepath.Join(dir, "ledger")), " ", "/"))
	}
	objects := func() []unstructured.Unstructured {
		return cp.List(t, "ansible.m.crossplane.io/v1alpha1", "AnsibleRun", ns)
	}

	for _, o := range objects() {
		cp.WaitFor(t, ObjectOf(&o), Condition("Ready", "True"))
	}

	for round, withStatus := range []bool{false, true} {
		backup := objects()
		lose(t, backup)

		if round == 0 {
			// The owner is not the one of the backup any more.
			if err := cp.Kube.Delete(t.Context(), owner); err != nil {
				t.Fatal(err)
			}
		}

		for _, o := range backup {
			restore(t, o, withStatus)
		}

		// The garbage collector deletes those whose owner is gone. The documentation says to wait for that.
		for _, o := range backup {
			if len(o.GetOwnerReferences()) > 0 {
				cp.WaitFor(t, ObjectOf(&o), That("to be deleted", func(u *unstructured.Unstructured) bool {
					return u.GetDeletionTimestamp() != nil
				}))
			}
		}

		for _, o := range backup {
			cp.Patch(t, ObjectOf(&o), `{"metadata":{"annotations":{"crossplane.io/paused":null}}}`)
		}

		for _, o := range backup {
			if len(o.GetOwnerReferences()) > 0 {
				cp.WaitGone(t, ObjectOf(&o))
			}
		}

		for _, name := range names {
			cp.WaitFor(t, run(ns, name), Condition("Ready", "True"), Condition("Synced", "True"),
				That("a uid of its own in the status", func(u *unstructured.Unstructured) bool {
					return Value(u, "status.atProvider.uid") == string(u.GetUID())
				}))
		}
	}

	if got := ledger(); len(got) != len(want) {
		t.Errorf("A restore should run nothing, and remove nothing: got %d runs of %d, %q", len(got), len(want), got)
	}

	for _, o := range objects() {
		cp.Delete(t, ObjectOf(&o))
		want = append(want, "absent "+o.GetName())
	}

	for _, name := range names {
		cp.WaitGone(t, run(ns, name))
	}

	got := ledger()
	slices.Sort(got)

	for i, w := range want {
		want[i] = strings.ReplaceAll(w, " ", "/")
	}

	slices.Sort(want)

	if !slices.Equal(got, want) {
		t.Errorf("Each restored object should be removed once when it is deleted:\ngot %q\nwant %q", got, want)
	}
}

// owner of AnsibleRuns.
func owner(t *testing.T, ns string) *corev1.ConfigMap {
	t.Helper()

	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "owner"}}
	if err := cp.Kube.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}

	return m
}

func run(ns, name string) Object {
	return Object{APIVersion: "ansible.m.crossplane.io/v1alpha1", Kind: "AnsibleRun", Namespace: ns, Name: name}
}

// lose objects without a trace in their targets, as with their cluster.
func lose(t *testing.T, os []unstructured.Unstructured) {
	t.Helper()

	for _, o := range os {
		cp.Patch(t, ObjectOf(&o), `{"metadata":{"annotations":{"crossplane.io/paused":"true"}}}`)
	}

	for _, o := range os {
		cp.WaitFor(t, ObjectOf(&o), Reason("Synced", "ReconcilePaused"))
		cp.Patch(t, ObjectOf(&o), `{"metadata":{"finalizers":null}}`)
		cp.Delete(t, ObjectOf(&o))
		cp.WaitGone(t, ObjectOf(&o))
	}
}

// restore an object, paused and to be adopted.
func restore(t *testing.T, o unstructured.Unstructured, withStatus bool) {
	t.Helper()

	status := o.Object["status"]
	delete(o.Object, "status")

	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}

	annotations := o.GetAnnotations()
	annotations["crossplane.io/paused"], annotations["ansible.crossplane.io/adopt"] = "true", "true"
	o.SetAnnotations(annotations)

	if err := cp.Kube.Create(t.Context(), &o); err != nil {
		t.Fatal(err)
	}

	if !withStatus {
		return
	}

	merge, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		t.Fatal(err)
	}

	if err := cp.Kube.Status().Patch(t.Context(), &o, client.RawPatch(types.MergePatchType, merge)); err != nil {
		t.Fatal(err)
	}
}
