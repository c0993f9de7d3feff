package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	kmeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
	ktesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/objects"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
)

// Kinds of the objects of TestStates.
var (
	runs      = schema.GroupVersionKind{Group: common.GroupNamespaced, Version: common.Version, Kind: common.KindAnsibleRun}
	sites     = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Site"}
	namesakes = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: common.KindAnsibleRun}
	disks     = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Disk"}
)

// A generator makes objects in all states, including states that no provider leaves.
type generator struct{ *rand.Rand }

// pick returns a value of a field; nil and the empty text leave the field out.
func (g generator) pick(values ...any) any { return values[g.IntN(len(values))] }

func (g generator) maybe(o map[string]any) any { return g.pick(nil, o, o, o) }

func (g generator) time(early, late time.Duration) any {
	at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
	return g.pick(nil, at(early), at(late))
}

// fields returns the fields that are set.
func fields(all map[string]any) map[string]any {
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil || reflect.DeepEqual(v, "") })
	return all
}

// phases of a run; the last one is that of a newer provider.
func phases() []any {
	return []any{"", "Queued", "Installing", "Running", "Succeeded", "Failed", "TimedOut", "Canceled", "Interrupted", "Suspended"}
}

func (g generator) phase() any { return g.pick(phases()...) }

func statuses() []any { return []any{"", "True", "False", "Unknown"} }

func (g generator) status() any { return g.pick(statuses()...) }

func (g generator) lastRun(phase any) map[string]any {
	failure := fields(map[string]any{"task": g.pick("", "Write the page"), "host": g.pick("", "web"), "message": g.pick("", "denied")})

	return fields(map[string]any{
		"id": g.pick("a", "b"), "phase": phase, "mode": g.pick("", "Apply", "Check"), "state": g.pick("", "present", "absent"),
		"trigger": g.pick("", "Changed", "Deleted"), "reason": g.pick("", "TaskFailed", "Canceled", "NotCheckable", "Strange"),
		"message": g.pick("", "ended badly"), "startTime": g.time(-time.Minute, 0), "completionTime": g.time(-time.Second, time.Minute),
		"currentTask": g.pick("", "Warm the cache"), "failures": g.pick(nil, []any{}, []any{failure}, []any{failure, failure}),
		"hosts": g.pick(nil, map[string]any{"ok": int64(1)}), "pod": g.pick(nil, map[string]any{"name": "p"}),
	})
}

func (g generator) condition(typ string, status any) any {
	if status == "" {
		return nil
	}

	return fields(map[string]any{
		"type": typ, "status": status, "lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
		"reason":  g.pick("", "RunFailed", "ReconcileError", "InputsUnavailable", "RetriesExhausted", "WaitingForWindow", "AwaitingApproval", "NotApplied", "Deleting"),
		"message": g.pick("", "waiting for a", "because of "+typ), "observedGeneration": g.pick(nil, int64(1), int64(2)),
	})
}

func (g generator) metadata(name, owner string, deleted, paused bool) map[string]any {
	annotations := fields(map[string]any{
		"crossplane.io/composition-resource-name": g.pick("", "a", "disk[x]"), "ansible.fn.crossplane.io/depends-on": g.pick("", "a", "b,a", "disk[]"),
		common.AnnotationCancel: g.pick("", "a"), common.AnnotationWatch: g.pick("", "soon"), common.AnnotationRunPolicy: g.pick("", "CheckWhenObserve", "RunOnChange"),
		meta.AnnotationKeyReconcileRequestedAt: g.pick("", "before"),
	})
	m := map[string]any{"name": name, "namespace": "ns", "uid": name, "generation": int64(2), "annotations": annotations}

	if paused {
		annotations[meta.AnnotationKeyReconciliationPaused] = "true"
	}

	if deleted {
		m["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339)
		m["finalizers"] = []any{"crossplane.io/finalizer"}
	}

	if owner != "" {
		m["labels"] = map[string]any{"ansible.fn.crossplane.io/composite-uid": owner}
		m["ownerReferences"] = []any{map[string]any{"apiVersion": "example.org/v1", "kind": "Site", "name": owner, "uid": owner, "controller": true}}
	}

	return m
}

func (g generator) run(name, owner string, phase any, deleted, paused bool, ready, synced any) *unstructured.Unstructured {
	drift := map[string]any{"changed": int64(1), "tasks": []any{map[string]any{"task": "Write", "host": "web", "diff": "+a"}}}

	status := map[string]any{
		"conditions": nonNil(g.condition("Ready", ready), g.condition("Synced", synced), g.condition("Deletable", g.status()),
			g.condition("Approved", g.status()), g.condition("Checkable", g.status())),
		"atProvider": fields(map[string]any{
			"withheldOutputs": g.pick(nil, []any{"x"}, map[string]any{"url": "key password of Secret pg is in it", "": "a secret is in its name"}),
			"lastRun":         g.lastRun(phase),
			"lastApply":       g.maybe(fields(map[string]any{"id": g.pick("", "a"), "result": g.phase(), "attempts": g.pick(nil, int64(1), int64(2)), "nextRetryTime": g.time(-time.Minute, time.Minute)})),
			"drift":           g.pick(nil, map[string]any{"changed": int64(0)}, drift),
			"approval":        g.maybe(fields(map[string]any{"state": g.pick("", "Awaiting", "Approved", "Rejected", "Applied", "Strange"), "digest": g.pick("", "d"), "by": g.pick("", "ada"), "reason": g.pick("", "no"), "unchecked": g.pick("", "NotCheckable"), "time": g.time(-time.Minute, 0)})),
			"preview":         g.maybe(fields(map[string]any{"runID": g.pick("a", "b"), "request": g.pick("", "before"), "phase": g.phase(), "drift": g.pick(nil, drift)})),
			"history":         g.pick(nil, []any{fields(map[string]any{"mode": g.pick("", "Apply"), "state": g.pick("", "absent"), "result": g.phase(), "startTime": g.time(-time.Minute, 0), "completionTime": g.time(-time.Second, 0)})}),
			"keptOutput":      g.pick(nil, map[string]any{"configMap": "output", "namespace": "ns"}, map[string]any{"configMap": "nowhere"}),
			"handledRequest":  g.pick("", "before"), "appliedDigest": g.pick("", "d"), "nextRunTime": g.time(-time.Minute, time.Minute),
		}),
	}

	switch {
	case phase == "" && ready == "" && synced == "":
		status = nil // The provider has not looked at it.
	case phase == "" && ready == "":
		status["atProvider"] = g.pick(nil, []any{int64(4)}, map[string]any{"lastRun": "nonsense"}, map[string]any{"lastRun": map[string]any{}})
	}

	o := map[string]any{
		"apiVersion": runs.GroupVersion().String(), "kind": runs.Kind, "metadata": g.metadata(name, owner, deleted, paused),
		"spec": fields(map[string]any{
			"managementPolicies": g.pick(nil, nil, []any{"*"}, []any{"Observe"}, []any{}),
			"forProvider":        g.pick(nil, map[string]any{"retryLimit": int64(2), "window": map[string]any{"cron": "0 2 * * *", "duration": "1h"}}, map[string]any{"window": "nonsense"}),
		}),
	}
	if status != nil {
		o["status"] = status
	}

	return &unstructured.Unstructured{Object: o}
}

// xr returns an XR of a kind with one composed resource.
func (g generator) xr(kind schema.GroupVersionKind, name, owner string, composed ...any) *unstructured.Unstructured {
	const lines = "1 of 3 runs are ready\nValueNotSet:\ndisk[x]: vars.size: xr.spec.size is not set\nRunning:\na: is running\nDependencyNotReady:\nb: waiting for a"

	o := &unstructured.Unstructured{Object: map[string]any{
		"metadata": g.metadata(name, owner, g.IntN(4) == 0, g.IntN(4) == 0),
		"spec":     map[string]any{"crossplane": map[string]any{"resourceRefs": composed}},
	}}
	o.SetGroupVersionKind(kind)

	if conditions := nonNil(g.condition("Ready", g.status()), g.condition("Synced", g.status()), g.condition("AnsibleRunsReady", g.status())); len(conditions) > 0 {
		if c := conditions[len(conditions)-1].(map[string]any); c["type"] == "AnsibleRunsReady" {
			c["message"] = g.pick("Running:\na: is running", lines, "ValuePending:\nb: ", "waiting for ")
		}

		o.Object["status"] = map[string]any{"conditions": conditions}
	}

	return o
}

func nonNil(all ...any) []any {
	return slices.DeleteFunc(all, func(v any) bool { return v == nil })
}

func reference(o *unstructured.Unstructured) any {
	return map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "name": o.GetName()}
}

// A state has objects. Commands are called for the first one.
type state []*unstructured.Unstructured

// states returns states of an AnsibleRun alone, and of XRs with it, with another XR, or with no composed resource.
func (g generator) states() []state {
	disk := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "ns", "name": "disk", "uid": "disk"}}}
	disk.SetGroupVersionKind(disks)

	var all []state

	for _, phase := range phases() {
		for _, ready := range statuses() {
			for _, synced := range statuses() {
				for i := range 4 {
					run := g.run("run", "site", phase, i&1 != 0, i&2 != 0, ready, synced)
					xr := g.xr(sites, "site", "", reference(run), reference(disk))
					all = append(all, state{run}, state{xr, run, disk})

					switch i {
					case 0:
						all = append(all, state{g.xr(sites, "empty", "")})
					case 1:
						all = append(all, state{g.xr(namesakes, "site", "", reference(run)), run})
					case 2:
						all = append(all, state{g.xr(sites, "top", "", reference(xr), reference(disk)), withOwner(xr, "top"), run, disk})
					case 3:
						other := g.run("other", "site", g.phase(), false, false, g.status(), g.status())
						all = append(all, state{xr, run, other})
					}
				}
			}
		}
	}

	return all
}

func withOwner(o *unstructured.Unstructured, owner string) *unstructured.Unstructured {
	o = o.DeepCopy()
	_ = unstructured.SetNestedSlice(o.Object, []any{map[string]any{"apiVersion": "example.org/v1", "kind": "Site", "name": owner, "uid": owner, "controller": true}}, "metadata", "ownerReferences")

	return o
}

// plugin returns a plugin with an API server that has the objects of a state, and with a provider that answers requests
// at once.
func (g generator) plugin(s state, out *bytes.Buffer) *plugin {
	mapper := kmeta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{runs, sites, namesakes, disks, corev1.SchemeGroupVersion.WithKind("ConfigMap")} {
		mapper.Add(kind, kmeta.RESTScopeNamespace)
	}

	// Without managed fields, which would take most of the time.
	tracker := ktesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder())
	b := fake.NewClientBuilder().WithObjectTracker(tracker).WithRESTMapper(mapper).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			if review, ok := o.(*authenticationv1.SelfSubjectReview); ok {
				review.Status.UserInfo.Username = "ada"
			}

			return nil
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, _ ...client.PatchOption) error {
			before := o.DeepCopyObject().(client.Object)
			if err := cmp.Or(c.Get(ctx, client.ObjectKeyFromObject(o), before), c.Patch(ctx, o, p)); err != nil {
				return err
			}

			token := o.GetAnnotations()[meta.AnnotationKeyReconcileRequestedAt]
			if token == before.GetAnnotations()[meta.AnnotationKeyReconcileRequestedAt] {
				return nil
			}

			g.answer(o.(*unstructured.Unstructured), token)

			return c.Update(ctx, o)
		},
	}).WithObjects(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "output", Namespace: "ns"},
		Data:       map[string]string{common.OutputKeyRunID: "a", common.OutputKeyOutput: "TASK\n", common.OutputKeyPhase: "Succeeded"},
	})

	for _, o := range s {
		b.WithObjects(o.DeepCopy())
	}

	p := newPlugin(out, out)
	p.client = objects.New(b.Build(), func(kind schema.GroupVersionKind) bool { return kind != disks })
	p.single = true
	p.lookup = func([]string, bool) ([]corev1.ObjectReference, error) {
		return []corev1.ObjectReference{tree.ReferenceTo(s[0])}, nil
	}

	return p
}

// answer answers a request for a run.
func (g generator) answer(o *unstructured.Unstructured, token string) {
	run := g.lastRun(g.phase())
	preview := fields(map[string]any{"runID": "p", "request": token, "phase": g.phase()})

	o.Object["status"] = map[string]any{"atProvider": map[string]any{"handledRequest": token, "lastRun": run, "preview": preview}}
}

// hollow matches texts with missing parts.
var hollow = regexp.MustCompile(`[:(,] ?[.,:)]|[:(,]\s*$|  |\(\)|""`)

// TestStates calls each command for objects in all states. The output must be complete.
func TestStates(t *testing.T) {
	commands := map[string][][]string{
		"status": {{}, {"-o=wide"}, {"-o=json"}, {"-o=yaml"}, {"--watch"}},
		"why":    {{}}, "history": {{}}, "logs": {{}, {"--follow"}},
		"run": {{"--wait=false"}, {"--timeout=3s"}}, "retry": {{"--timeout=3s"}}, "check": {{"--timeout=3s"}, {"--timeout=3s", "--full"}},
		"cancel": {{}}, "pause": {{}}, "resume": {{}}, "approve": {{"--yes"}}, "reject": {{"--yes"}},
	}

	for _, c := range newPlugin(nil, nil).root().Commands() {
		if commands[c.Name()] == nil {
			t.Errorf("There should be a call of %s.", c.Name())
		}
	}

	synctest.Test(t, func(t *testing.T) {
		g := generator{rand.New(rand.NewPCG(1, 2))}
		all := g.states()

		for _, name := range slices.Sorted(maps.Keys(commands)) {
			for _, flags := range commands[name] {
				args := append([]string{name, "site/x"}, flags...)

				for i, s := range all {
					if name != "why" && i%11 != 0 { // Few of them differ for the others.
						continue
					}

					if fault := g.call(t, args, s); fault != "" {
						t.Errorf("%s: %s\n%s", strings.Join(args, " "), fault, s)
						break // One is enough of a kind.
					}
				}
			}
		}
	})
}

// call calls a command, and returns a fault in its output; empty for none.
func (g generator) call(t *testing.T, args []string, s state) (fault string) {
	t.Helper()

	var out bytes.Buffer

	defer func() {
		if r := recover(); r != nil {
			fault = fmt.Sprintf("panic: %v\n%s", r, debug.Stack())
		}
	}()

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()

	p := g.plugin(s, &out)
	c := p.root()
	c.SetArgs(args)

	err := c.ExecuteContext(ctx)
	text := out.String()

	if err != nil {
		text += err.Error() + "\n"
	}

	switch {
	case slices.Contains(args, "--follow") && ctx.Err() != nil:
		return "" // It still waits for something to show.
	case strings.TrimSpace(text) == "":
		return "no answer"
	case args[0] == "status" && err != nil:
		return err.Error()
	case strings.Contains(strings.Join(args, " "), "status site/x -o=json"):
		return stateless([]byte(text))
	case args[0] != "why":
		return ""
	}

	if !strings.Contains(text, s[0].GetName()) || hollow.MatchString(strings.ReplaceAll(text, "\n  ", "; ")) {
		return "nothing is said:\n" + text
	}

	return ""
}

// stateless returns a node of a tree with a missing or unknown state.
func stateless(data []byte) string {
	var root tree.Node
	if err := json.Unmarshal(data, &root); err != nil {
		return err.Error()
	}

	nodes := root.Composites()
	for _, n := range append(nodes, root.Leaves()...) {
		if n.State == "" {
			return fmt.Sprintf("%s has no state", n.Title())
		}
	}

	return ""
}

func (s state) String() string {
	var b strings.Builder

	for _, o := range s {
		data, _ := yaml.Marshal(o.Object)
		b.WriteString("---\n" + string(data))
	}

	return b.String()
}
