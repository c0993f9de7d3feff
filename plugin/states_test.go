package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	kmeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic/fake"
	ktesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/objects"
	"github.com/crossplane-ansible/crossplane-ansible/plugin/tree"
)

// Kinds of the objects of TestStates.
var (
	runs       = schema.GroupVersionKind{Group: common.GroupNamespaced, Version: common.Version, Kind: common.KindAnsibleRun}
	sites      = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Site"}
	namesakes  = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: common.KindAnsibleRun}
	disks      = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Disk"}
	configMaps = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
)

// values of a field; nil leaves it out.
type values []any

func texts(all ...string) values {
	var vs values
	for _, s := range all {
		if s == "" {
			vs = append(vs, nil)
			continue
		}

		vs = append(vs, s)
	}

	return vs
}

// A generator makes objects in all states, those that no provider leaves behind included.
type generator struct{ *rand.Rand }

func (g generator) pick(vs values) any { return vs[g.IntN(len(vs))] }

// object of fields and the values that they may have.
func (g generator) object(fields map[string]any) map[string]any {
	o := map[string]any{}

	for _, name := range slices.Sorted(maps.Keys(fields)) {
		v := fields[name]
		if vs, ok := v.(values); ok {
			v = g.pick(vs)
		}

		if v != nil {
			o[name] = v
		}
	}

	return o
}

func (g generator) maybe(o map[string]any) values { return values{nil, o, o, o} }

// phases that a run may be in; the last one is that of a provider that is newer than the plugin.
func phases() values {
	return texts("", "Queued", "Installing", "Running", "Succeeded", "Failed", "TimedOut", "Canceled", "Interrupted", "Suspended")
}

func statuses() values { return texts("", "True", "False", "Unknown") }

func (g generator) time(early, late time.Duration) values {
	at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
	return values{nil, at(early), at(late)}
}

func (g generator) lastRun(phase any) map[string]any {
	failure := g.object(map[string]any{"task": texts("", "Write the page"), "host": texts("", "web"), "message": texts("", "denied")})

	return g.object(map[string]any{
		"id": texts("a", "b"), "phase": phase, "mode": texts("", "Apply", "Check"), "state": texts("", "present", "absent"),
		"trigger": texts("", "Changed", "Deleted"), "reason": texts("", "TaskFailed", "Canceled", "NotCheckable", "Strange"),
		"message": texts("", "ended badly"), "startTime": g.time(-time.Minute, 0), "completionTime": g.time(-time.Second, time.Minute),
		"currentTask": texts("", "Warm the cache"), "failures": values{nil, []any{}, []any{failure}, []any{failure, failure}},
		"hosts": values{nil, map[string]any{"ok": int64(1)}}, "job": values{nil, map[string]any{"name": "j"}},
	})
}

func (g generator) condition(typ string, status any) any {
	if status == nil {
		return nil
	}

	return g.object(map[string]any{
		"type": typ, "status": status, "lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
		"reason":  texts("", "RunFailed", "ReconcileError", "InputsUnavailable", "RetriesExhausted", "WaitingForWindow", "AwaitingApproval", "NotApplied", "Deleting"),
		"message": texts("", "waiting for a", "because of "+typ), "observedGeneration": values{nil, int64(1), int64(2)},
	})
}

func (g generator) metadata(name, owner string, deleted, paused bool) map[string]any {
	annotations := g.object(map[string]any{
		"crossplane.io/composition-resource-name": texts("", "a", "disk[x]"), "ansible.fn.crossplane.io/depends-on": texts("", "a", "b,a", "disk[]"),
		common.AnnotationCancel: texts("", "a"), common.AnnotationWatch: texts("", "soon"), common.AnnotationRunPolicy: texts("", "CheckWhenObserve", "RunOnChange"),
		meta.AnnotationKeyReconcileRequestedAt: texts("", "before"),
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
		"conditions": nonNil(g.condition("Ready", ready), g.condition("Synced", synced), g.condition("Deletable", g.pick(statuses())),
			g.condition("Approved", g.pick(statuses())), g.condition("Checkable", g.pick(statuses()))),
		"atProvider": g.object(map[string]any{
			"withheldOutputs": values{nil, []any{"x"}, map[string]any{"url": "key password of Secret pg is in it", "": "a secret is in its name"}},
			"lastRun":         values{g.lastRun(phase)},
			"lastApply":       g.maybe(g.object(map[string]any{"id": texts("", "a"), "result": phases(), "attempts": values{nil, int64(1), int64(2)}, "nextRetryTime": g.time(-time.Minute, time.Minute)})),
			"drift":           values{nil, map[string]any{"changed": int64(0)}, drift},
			"approval":        g.maybe(g.object(map[string]any{"state": texts("", "AwaitingApproval", "Approved", "Rejected", "Applied", "Strange"), "digest": texts("", "d"), "by": texts("", "ada"), "reason": texts("", "no"), "unchecked": texts("", "NotCheckable"), "time": g.time(-time.Minute, 0)})),
			"preview":         g.maybe(g.object(map[string]any{"runID": texts("a", "b"), "request": texts("", "before"), "phase": phases(), "drift": values{nil, drift}})),
			"history":         values{nil, []any{g.object(map[string]any{"mode": texts("", "Apply"), "state": texts("", "absent"), "result": phases(), "startTime": g.time(-time.Minute, 0), "completionTime": g.time(-time.Second, 0)})}},
			"keptOutput":      values{nil, map[string]any{"configMap": "output", "namespace": "ns"}, map[string]any{"configMap": "nowhere"}},
			"handledRequest":  texts("", "before"), "appliedDigest": texts("", "d"), "nextRunTime": g.time(-time.Minute, time.Minute),
		}),
	}

	switch {
	case phase == nil && ready == nil && synced == nil:
		status = nil // The provider has not looked at it.
	case phase == nil && ready == nil:
		status["atProvider"] = g.pick(values{nil, []any{int64(4)}, map[string]any{"lastRun": "nonsense"}, map[string]any{"lastRun": map[string]any{}}})
	}

	o := map[string]any{
		"apiVersion": runs.GroupVersion().String(), "kind": runs.Kind, "metadata": g.metadata(name, owner, deleted, paused),
		"spec": g.object(map[string]any{
			"managementPolicies": values{nil, nil, []any{"*"}, []any{"Observe"}, []any{}},
			"forProvider":        values{nil, map[string]any{"retryLimit": int64(2), "window": map[string]any{"cron": "0 2 * * *", "duration": "1h"}}, map[string]any{"window": "nonsense"}},
		}),
	}
	if status != nil {
		o["status"] = status
	}

	return &unstructured.Unstructured{Object: o}
}

// xr of a kind that is composed of an object.
func (g generator) xr(kind schema.GroupVersionKind, name, owner string, composed ...any) *unstructured.Unstructured {
	const lines = "1 of 3 runs are ready\na: is running\nb: waiting for a\ndisk[x]: vars.size: xr.spec.size is not set"

	o := &unstructured.Unstructured{Object: map[string]any{
		"metadata": g.metadata(name, owner, g.IntN(4) == 0, g.IntN(4) == 0),
		"spec":     map[string]any{"crossplane": map[string]any{"resourceRefs": composed}},
	}}
	o.SetGroupVersionKind(kind)

	if conditions := nonNil(g.condition("Ready", g.pick(statuses())), g.condition("Synced", g.pick(statuses())), g.condition("AnsibleRunsReady", g.pick(statuses()))); len(conditions) > 0 {
		if c := conditions[len(conditions)-1].(map[string]any); c["type"] == "AnsibleRunsReady" {
			c["message"] = g.pick(texts("a: is running", lines, "b: ", "waiting for "))
		}

		o.Object["status"] = map[string]any{"conditions": conditions}
	}

	return o
}

func nonNil(all ...any) []any {
	kept := []any{}
	for _, v := range all {
		if v != nil {
			kept = append(kept, v)
		}
	}

	return kept
}

func reference(o *unstructured.Unstructured) any {
	return map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "name": o.GetName()}
}

// A state of objects that commands are called for: the first one.
type state []*unstructured.Unstructured

// states of an AnsibleRun alone, and of XRs that have it, or another XR, or nothing.
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
						other := g.run("other", "site", g.pick(phases()), false, false, g.pick(statuses()), g.pick(statuses()))
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

// plugin that talks to an API server with the objects of a state, and to a provider that carries out at once what it is
// asked for.
func (g generator) plugin(s state, out *bytes.Buffer) *plugin {
	mapper := kmeta.NewDefaultRESTMapper(nil)
	lists := map[schema.GroupVersionResource]string{}

	for _, kind := range []schema.GroupVersionKind{runs, sites, namesakes, disks, configMaps} {
		mapper.Add(kind, kmeta.RESTScopeNamespace)

		plural, _ := kmeta.UnsafeGuessKindToResource(kind)
		lists[plural] = kind.Kind + "List"
	}

	output := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "output", "namespace": "ns"},
		"data":     map[string]any{common.OutputKeyRunID: "a", common.OutputKeyOutput: "TASK\n", common.OutputKeyPhase: "Succeeded"},
	}}
	output.SetGroupVersionKind(configMaps)

	objs := []runtime.Object{output}
	for _, o := range s {
		objs = append(objs, o.DeepCopy())
	}

	d := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, objs...)
	d.PrependReactor("create", "*", func(ktesting.Action) (bool, runtime.Object, error) {
		return true, &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"userInfo": map[string]any{"username": "ada"}}}}, nil
	})
	d.PrependReactor("patch", "ansibleruns", func(a ktesting.Action) (bool, runtime.Object, error) {
		var patch unstructured.Unstructured
		if err := json.Unmarshal(a.(ktesting.PatchAction).GetPatch(), &patch.Object); err != nil {
			return true, nil, err
		}

		o, err := d.Tracker().Get(a.GetResource(), "ns", a.(ktesting.PatchAction).GetName())
		if err != nil {
			return true, nil, err
		}

		if token, ok := patch.GetAnnotations()[meta.AnnotationKeyReconcileRequestedAt]; ok {
			g.answer(o.(*unstructured.Unstructured), token)
		}

		return false, nil, d.Tracker().Update(a.GetResource(), o, "ns")
	})

	p := newPlugin(out, out)
	p.client = objects.New(d, mapper)
	p.single = true
	p.lookup = func([]string, bool) ([]tree.Reference, error) {
		return []tree.Reference{{GroupVersionKind: s[0].GroupVersionKind(), Namespace: "ns", Name: s[0].GetName()}}, nil
	}

	return p
}

// answer a request for a run.
func (g generator) answer(o *unstructured.Unstructured, token string) {
	run := g.lastRun(g.pick(phases()))
	preview := g.object(map[string]any{"runID": "p", "request": token, "phase": g.pick(phases())})

	o.Object["status"] = map[string]any{"atProvider": map[string]any{"handledRequest": token, "lastRun": run, "preview": preview}}
}

// hollow are texts with nothing where something is to be said.
var hollow = regexp.MustCompile(`[:(,] ?[.,:)]|[:(,]\s*$|  |\(\)|""`)

// TestStates calls each command for objects in all states: it answers, and says something of each of them.
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

// call a command, and say what is wrong with its answer, if anything is.
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

// stateless says which node of a tree has no state, or has one that there is not.
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
