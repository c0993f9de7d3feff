package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// ownerOperation is the prefix of the field manager with which Crossplane applies the desired state of an Operation,
// followed by the UID of the Operation.
const ownerOperation = "ops.crossplane.io/operation/"

// TestOperations applies the desired state of Operations to real API servers, one after
// another, and reconciles.
func TestOperations(t *testing.T) {
	needs.APIServer(t)

	env := &envtest.Environment{CRDDirectoryPaths: []string{"../../package-provider/crds"}}

	cfg, err := env.Start()
	needs.OK(t, err)

	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})

	kube, err := client.NewWithWatch(cfg, client.Options{Scheme: testScheme(t)})
	needs.OK(t, err)

	for name, test := range map[string]func(*target){
		"SaysWhatTheLastOneSays": saysWhatTheLastOneSays,
		"RunsOnceForEach":        runsOnceForEach,
		"LeavesWhatIsOthers":     leavesWhatIsOthers,
		"AppliedWhileReconciled": appliedWhileReconciled,
		"ChangedWhileSettled":    changedWhileSettled,
		"RequestOfNoOperation":   requestOfNoOperation,
		"StaysSmall":             staysSmall,
	} {
		t.Run(name, func(t *testing.T) { test(newTarget(t, kube, strings.ToLower(name))) })
	}
}

// A target is an object that Operations change.
type target struct {
	*testing.T

	live client.WithWatch
	// onRead is called when settle has read the object.
	onRead  func()
	key     types.NamespacedName
	pool    *fakePool
	runtime reconcile.Reconciler
	settled reconcile.Reconciler
	runs    int
	applied int
}

// newTarget returns a target. Its client returns no managed fields, like the cache.
func newTarget(t *testing.T, live client.WithWatch, name string) *target {
	t.Helper()

	w := &target{T: t, live: live, key: types.NamespacedName{Namespace: "default", Name: name}, onRead: func() {}}
	w.pool = &fakePool{now: time.Now, free: true, begins: func(runs.Run) {
		w.runs++
		w.pool.end(common.PhaseSucceeded)
	}}
	cached := interceptor.NewClient(live, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, os ...client.GetOption) error {
		err := c.Get(ctx, key, o, os...)
		o.SetManagedFields(nil)

		return err
	}})
	reader := interceptor.NewClient(live, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, os ...client.GetOption) error {
		err := c.Get(ctx, key, o, os...)
		w.onRead()

		return err
	}})

	ids := 0
	c := newConnector(w.pool, func(c *connector) {
		c.Resolver, c.kube, c.metadata, c.now = ofObject{}, cached, cached, time.Now
		c.schedule = newSchedule(pollOfPlay, time.Second)
		c.newID = func() string { ids++; return strconv.Itoa(ids) }
	})
	w.runtime = runtimeOf(cached, c)
	w.settled = fresh{connector: c, runtime: w.runtime, reader: reader}

	return w
}

// ofObject resolves objects to their own parameters.
type ofObject struct{}

func (ofObject) Resolve(_ context.Context, run common.AnsibleRun) (inputs.Inputs, error) {
	roles, err := run.Parameters().ParseRoles()
	return inputs.Inputs{Parameters: *run.Parameters(), Roles: roles}, err
}

func (ofObject) PodNamespace(context.Context, common.AnsibleRun) (string, error) { return "", nil }

// apply applies the desired state of an Operation: metadata and spec, as YAML.
func (w *target) apply(operation, desired string) {
	w.Helper()

	u := &unstructured.Unstructured{}
	needs.OK(w, yaml.Unmarshal([]byte(desired), &u.Object))

	w.applied++
	u.SetGroupVersionKind(runKinds()[1])
	u.SetNamespace(w.key.Namespace)
	u.SetName(w.key.Name)
	meta.AddAnnotations(u, map[string]string{meta.AnnotationKeyReconcileRequestedAt: common.OperationRequest + strconv.Itoa(w.applied)})

	if err := w.live.Apply(w.Context(), client.ApplyConfigurationFromUnstructured(u), client.ForceOwnership, client.FieldOwner(ownerOperation+operation)); err != nil {
		w.Fatalf("cannot apply what Operation %s desires: %v", operation, err)
	}
}

// patch patches the object like other clients.
func (w *target) patch(owner, patch string) {
	w.Helper()

	needs.OK(w, w.live.Patch(w.Context(), w.object(), client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner(owner)))
}

func (w *target) object() *unstructured.Unstructured {
	w.Helper()

	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(runKinds()[1])

	needs.OK(w, w.live.Get(w.Context(), w.key, u))

	return u
}

// reconcile reconciles until nothing changes; all runs succeed.
func (w *target) reconcile() {
	w.Helper()

	for range 30 {
		before := w.object().GetResourceVersion()

		if _, err := w.settled.Reconcile(w.Context(), reconcile.Request{NamespacedName: w.key}); err != nil {
			w.Fatal(err)
		}

		if w.pool.report == nil && before == w.object().GetResourceVersion() {
			return
		}
	}

	w.Fatal("something happens for ever")
}

// answers fails unless a request was the last one that was answered.
func (w *target) answers(want string) {
	w.Helper()

	run := &v1alpha1.AnsibleRun{}
	needs.OK(w, w.live.Get(w.Context(), w.key, run))

	if got := run.Observation().HandledRequest; got != want {
		w.Errorf("want the request %q answered, got %q", want, got)
	}
}

// ran compares the number of runs.
func (w *target) ran(want int) {
	w.Helper()

	if w.runs != want {
		w.Fatalf("want %d runs, got %d", want, w.runs)
	}
}

// says compares the labels, the annotations that are not Crossplane's
// and the spec, as YAML.
func (w *target) says(want string) {
	w.Helper()

	u := w.object()
	annotations := u.GetAnnotations()
	maps.DeleteFunc(annotations, func(k, _ string) bool { return strings.HasPrefix(k, "crossplane.io/") })

	got := map[string]any{"labels": u.GetLabels(), "annotations": annotations, "spec": u.Object["spec"]}
	w.compare(want, got)
}

// owners returns the field managers that apply the object.
func (w *target) owners() []string {
	var names []string

	for _, e := range w.object().GetManagedFields() {
		if e.Operation == "Apply" {
			names = append(names, e.Manager)
		}
	}

	slices.Sort(names)

	return names
}

func (w *target) compare(want string, got any) {
	w.Helper()

	var a, b any
	needs.OK(w, yaml.Unmarshal([]byte(want), &a))

	text, err := json.Marshal(got)
	needs.OK(w, err)

	needs.OK(w, json.Unmarshal(text, &b))

	if diff := cmp.Diff(a, b); diff != "" {
		w.Errorf("-want, +got:\n%s", diff)
	}
}

func saysWhatTheLastOneSays(w *target) {
	w.apply("first", `
metadata:
  labels: {shop: a, old: a}
  annotations: {ansible.crossplane.io/runPolicy: RunOnChange, note: a}
spec:
  managementPolicies: [Observe, Create, Update]
  writeConnectionSecretToRef: {name: connection}
  forProvider: {role: acme.shop.backup, timeout: 1h, executableInventory: false, vars: {a: 1, deep: {a: 1, b: 1}}}
`)
	w.reconcile()
	w.apply("second", `
metadata: {labels: {shop: a}}
spec:
  forProvider: {playbook: acme.shop.purge, vars: {deep: {b: 2}}}
`)
	w.reconcile()
	w.says(`
labels: {shop: a}
annotations: {}
spec:
  managementPolicies: ["*"]
  providerConfigRef: {kind: ClusterProviderConfig, name: default}
  forProvider: {playbook: acme.shop.purge, vars: {deep: {b: 2}}}
`)
	w.ran(2)
	w.compare(`["`+ownerOperation+`second"]`, w.owners())
}

// runsOnceForEach has an Operation that Crossplane retries as a whole, because another of its resources could not
// be applied.
func runsOnceForEach(w *target) {
	const desired = `{metadata: {labels: {shop: a}}, spec: {forProvider: {role: acme.shop.backup, vars: {a: 1}}}}`

	for i, operation := range []string{"first", "second", "third"} {
		w.apply(operation, desired)
		w.reconcile()
		w.apply(operation, desired)
		w.apply(operation, desired)
		w.reconcile()
		w.ran(i + 1)
		w.answers(operation)
	}
}

func leavesWhatIsOthers(w *target) {
	w.apply("first", `{metadata: {labels: {shop: a, old: a}}, spec: {forProvider: {role: acme.shop.backup}}}`)
	w.reconcile()
	w.patch("kubectl-edit", `{"metadata": {"labels": {"theirs": "1"}, "annotations": {"theirs": "1"}, "finalizers": ["example.org/theirs"]},
		"spec": {"writeConnectionSecretToRef": {"name": "theirs"}}}`)
	w.apply("second", `{metadata: {labels: {shop: a}}, spec: {forProvider: {role: acme.shop.purge}}}`)

	before := w.object().GetManagedFields()
	w.reconcile()
	w.says(`
labels: {shop: a, theirs: "1"}
annotations: {theirs: "1"}
spec:
  managementPolicies: ["*"]
  providerConfigRef: {kind: ClusterProviderConfig, name: default}
  writeConnectionSecretToRef: {name: theirs}
  forProvider: {role: acme.shop.purge}
`)

	for _, e := range before {
		if e.Manager == "kubectl-edit" && !slices.ContainsFunc(w.object().GetManagedFields(), func(now metav1.ManagedFieldsEntry) bool { return cmp.Equal(e, now) }) {
			w.Error("fields of other managers should not change")
		}
	}
}

// appliedWhileReconciled has an Operation that applies the object between two reads.
func appliedWhileReconciled(w *target) {
	w.apply("first", `{spec: {forProvider: {role: acme.shop.backup}}}`)
	w.reconcile()
	w.apply("second", `{spec: {forProvider: {role: acme.shop.purge}}}`)

	if _, err := w.runtime.Reconcile(w.Context(), reconcile.Request{NamespacedName: w.key}); err != nil {
		w.Fatal(err)
	}

	if w.pool.report != nil {
		w.Error("no run should start before the object was settled")
	}

	w.reconcile()
	w.ran(2)
}

func changedWhileSettled(w *target) {
	w.apply("first", `{spec: {forProvider: {role: acme.shop.backup}}}`)
	w.reconcile()
	w.apply("second", `{spec: {forProvider: {role: acme.shop.backup}}}`)

	w.onRead = func() {
		w.onRead = func() {}
		w.apply("third", `{spec: {forProvider: {role: acme.shop.purge}}}`)
	}

	w.reconcile()
	w.compare(`["`+ownerOperation+`third"]`, w.owners())
	w.ran(2)
}

func requestOfNoOperation(w *target) {
	w.apply("first", `{spec: {forProvider: {role: acme.shop.backup}}}`)
	w.reconcile()
	w.patch("kubectl-annotate", `{"metadata": {"annotations": {"`+meta.AnnotationKeyReconcileRequestedAt+`": "`+common.OperationRequest+`mine"}}}`)
	w.reconcile()
	w.ran(2)
	w.answers("mine")
}

// staysSmall has Operations that are not all seen. Every other one pauses the object.
func staysSmall(w *target) {
	what := []string{"role: acme.shop.a", "playbook: acme.shop.b", "roles: [acme.shop.c]", "playbooks: [acme.shop.d]"}

	for i := range 40 {
		w.apply(strconv.Itoa(i), fmt.Sprintf(`{metadata: {labels: {l%d: a}, annotations: {crossplane.io/paused: "%t"}}, spec: {forProvider: {%s, vars: {k%d: 1}}}}`, i%7, i%2 == 0, what[i%4], i))

		if i%3 == 0 {
			w.reconcile()
		}
	}

	w.ran(7)
	w.says(`
labels: {l4: a}
annotations: {}
spec:
  managementPolicies: ["*"]
  providerConfigRef: {kind: ClusterProviderConfig, name: default}
  forProvider: {playbooks: [acme.shop.d], vars: {k39: 1}}
`)
	w.compare(`["`+ownerOperation+`39"]`, w.owners())
}
