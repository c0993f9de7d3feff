package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// policyData is what the manifests of this file are templates for.
type policyData struct {
	Group, Directory, Policy, Actions, Title, Interval string
	// Config and Run are the metadata of the objects, and Kind is of a reference.
	Config, Run, Kind string
	RetryLimit        int
}

// noting is an AnsibleRun whose play notes each run, in check mode too, and keeps
// a page.
const noting = `
apiVersion: [[.Group]]/v1alpha1
kind: ProviderConfig
metadata: [[.Config]]
spec: {}
---
apiVersion: [[.Group]]/v1alpha1
kind: AnsibleRun
metadata: [[.Run]]
spec:
  managementPolicies: [[.Actions]]
  providerConfigRef: [[.Kind]]
  forProvider:
    vars: {directory: "[[.Directory]]", title: [[.Title]]}
    [[- if .RetryLimit]]
    retryLimit: [[.RetryLimit]]
    [[- end]]
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        vars:
          meta: "{{ ansible_provider_meta }}"
          what: "{{ 'check' if ansible_check_mode else 'apply' }} {{ meta.managed_resource.state }} {{ meta.run.trigger }}"
        tasks:
        - name: Note the run
          ansible.builtin.shell: echo {{ what }} {{ meta.run.id }} >> {{ directory | quote }}/ledger
          check_mode: false
          changed_when: false
        - name: Do nothing while there is an obstacle
          ansible.builtin.fail: {msg: There is an obstacle}
          when: (directory ~ '/obstacle') is exists
        - name: Keep the page
          ansible.builtin.copy: {dest: "{{ directory }}/page", content: "{{ title }}"}
          when: meta.managed_resource.state == 'present'
        - name: Remove the page
          ansible.builtin.file: {path: "{{ directory }}/page", state: absent}
          when: meta.managed_resource.state == 'absent'
`

// all is what management policies allow by default.
const all = `["*"]`

// Groups of the API.
const (
	clusterScoped = "ansible.crossplane.io"
	namespaced    = "ansible.m.crossplane.io"
)

// A walker is an object of one policy on its way through its life.
type walker struct {
	policyData

	object Object
	// seen is how much of the ledger was looked at.
	seen int
}

// newWalker returns a walker of a group, which is not applied yet.
func newWalker(t *testing.T, group, namespace, policy string) *walker {
	t.Helper()
	d := policyData{
		Group: group, Directory: directory(t), Policy: policy, Actions: all, Title: "one",
		Config: fmt.Sprintf("{namespace: %s, name: default}", namespace),
		Run:    fmt.Sprintf("{namespace: %s, name: %s, annotations: {ansible.crossplane.io/runPolicy: %s}}", namespace, strings.ToLower(policy), policy),
		Kind:   "{kind: ProviderConfig, name: default}",
	}
	if group == clusterScoped {
		name := namespace + "-" + strings.ToLower(policy)
		d.Config = fmt.Sprintf("{name: %s}", name)
		d.Run = fmt.Sprintf("{name: %s, annotations: {ansible.crossplane.io/runPolicy: %s}}", name, policy)
		d.Kind = fmt.Sprintf("{name: %s}", name)
	}
	return &walker{policyData: d}
}

// apply the object as it is to be now.
func (w *walker) apply(t *testing.T) {
	t.Helper()
	w.object = cp.Apply(t, noting, w.policyData)[1]
}

// annotate the object. A key that ends in - is removed.
func (w *walker) annotate(t *testing.T, annotations ...string) {
	t.Helper()
	args := []string{"annotate", "--overwrite", "ansibleruns." + w.Group, w.object.Name}
	if w.object.Namespace != "" {
		args = append(args, "--namespace="+w.object.Namespace)
	}
	cp.Kubectl(t, append(args, annotations...)...)
}

// patch the spec of the object.
func (w *walker) patch(t *testing.T, spec string) {
	t.Helper()
	args := []string{"patch", "ansibleruns." + w.Group, w.object.Name, "--type=merge", "--patch", `{"spec":` + spec + `}`}
	if w.object.Namespace != "" {
		args = append(args, "--namespace="+w.object.Namespace)
	}
	cp.Kubectl(t, args...)
}

// lines of the ledger: what was run since somebody last looked, in the words of
// the play, without the ids of the runs. Each run notes itself once.
func (w *walker) lines(t *testing.T) []string {
	t.Helper()
	lines := w.ledger(t)
	ids := map[string]bool{}
	var out []string
	for i, line := range lines {
		what, id, _ := cut(line)
		if ids[id] {
			t.Errorf("Run %s should have been carried out once.", id)
		}
		ids[id] = true
		if i >= w.seen {
			out = append(out, what)
		}
	}
	w.seen = len(lines)
	return out
}

// cut a line of the ledger before the id of its run.
func cut(line string) (what, id string, ok bool) {
	i := strings.LastIndex(line, " ")
	return line[:max(i, 0)], line[i+1:], i > 0
}

// ledger of all runs.
func (w *walker) ledger(t *testing.T) []string {
	t.Helper()
	file := filepath.Join(w.Directory, "ledger")
	if !exists(file) {
		return nil
	}
	return strings.Split(strings.TrimSpace(readFile(t, file)), "\n")
}

// page as it is; empty if there is none.
func (w *walker) page(t *testing.T) string {
	t.Helper()
	file := filepath.Join(w.Directory, "page")
	if !exists(file) {
		return ""
	}
	return readFile(t, file)
}

// ran says what should have been run since somebody last looked, and how the
// page should be.
func (w *walker) ran(t *testing.T, page string, want ...string) {
	t.Helper()
	if got := w.lines(t); !slices.Equal(got, want) {
		t.Errorf("%s should have run %q, got %q", w.object, want, got)
	}
	if got := w.page(t); got != page {
		t.Errorf("The page of %s should be %q, got %q", w.object, page, got)
	}
}

// ranSome says which kinds of runs there should have been since somebody last
// looked. It is not known how often an object was polled: the first there was at
// least once.
func (w *walker) ranSome(t *testing.T, page string, want ...string) {
	t.Helper()
	got := w.lines(t)
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("%s should have run %q, got %q", w.object, want, got)
			break
		}
	}
	if len(want) > 0 && !slices.Contains(got, want[0]) {
		t.Errorf("%s should have run %q, got %q", w.object, want[0], got)
	}
	if got := w.page(t); got != page {
		t.Errorf("The page of %s should be %q, got %q", w.object, page, got)
	}
}

// drift changes the page behind the back of its object.
func (w *walker) drift(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.Directory, "page"), []byte("drifted"), 0o600); err != nil {
		t.Fatalf("cannot write file: %s", err)
	}
}

// tick lets objects pass whose poll interval is a second, as they are annotated
// now: by the time that this one was polled twice, they were polled.
func (w *walker) tick(t *testing.T) {
	t.Helper()
	before := len(w.ledger(t))
	w.annotate(t, "crossplane.io/poll-interval=1s")
	eventually(t, "an object to be polled twice", func() bool { return len(w.ledger(t)) >= before+2 })
	w.annotate(t, "crossplane.io/poll-interval=1h")
}

// What the plays of this file note.
const (
	checkCreated   = "check present Created"
	checkChanged   = "check present Changed"
	checkDrift     = "check present Drift"
	checkRequested = "check present Requested"
	applyCreated   = "apply present Created"
	applyChanged   = "apply present Changed"
	applyDrift     = "apply present Drift"
	applyRequested = "apply present Requested"
	applyDeleted   = "apply absent Deleted"
)

// TestPolicies takes objects through their life, one of each policy and one of
// the other group, each step together.
func TestPolicies(t *testing.T) {
	t.Parallel()

	namespace := cp.Namespace(t)
	observe := newWalker(t, namespaced, namespace, "ObserveAndDelete")
	check := newWalker(t, namespaced, namespace, "CheckWhenObserve")
	change := newWalker(t, namespaced, namespace, "RunOnChange")
	cluster := newWalker(t, clusterScoped, namespace, "ObserveAndDelete")

	names := map[*walker]string{observe: "ObserveAndDelete", check: "CheckWhenObserve", change: "RunOnChange", cluster: "ClusterScoped"}
	walkers := []*walker{observe, check, change, cluster}
	each := func(do func(w *walker)) {
		for _, w := range walkers {
			do(w)
		}
	}
	// step runs a subtest for each of them.
	type runs map[*walker][]string
	step := func(name string, want runs, check func(t *testing.T, w *walker, want ...string)) {
		t.Run(name, func(t *testing.T) {
			for _, w := range walkers {
				t.Run(names[w], func(t *testing.T) { check(t, w, want[w]...) })
			}
		})
	}
	settled := func(more ...Expectation) []Expectation {
		return append(more, Condition("Ready", "True"), Condition("Synced", "True"), Field("status.atProvider.lastRun.phase", "Succeeded"))
	}

	each(func(w *walker) { w.apply(t) })
	step("Create", runs{
		observe: {applyCreated},
		check:   {checkCreated, applyCreated},
		change:  {applyCreated},
		cluster: {applyCreated},
	}, func(t *testing.T, w *walker, want ...string) {
		t.Helper()
		cp.WaitFor(t, w.object, settled(Field("status.atProvider.lastRun.trigger", "Created"), Field("status.atProvider.lastRun.mode", "Apply"))...)
		w.ran(t, "one", want...)
	})

	each(func(w *walker) { w.Title = "two"; w.apply(t) })
	step("Change", runs{
		observe: {applyChanged},
		check:   {checkChanged, applyChanged},
		change:  {applyChanged},
		cluster: {applyChanged},
	}, func(t *testing.T, w *walker, want ...string) {
		t.Helper()
		cp.WaitFor(t, w.object, settled(Field("status.atProvider.lastRun.trigger", "Changed"), Field("status.atProvider.lastRun.mode", "Apply"))...)
		w.ran(t, "two", want...)
	})

	// A poll finds nothing to do. By the time that one object has run twice, the
	// others were polled.
	since := map[*walker]any{}
	each(func(w *walker) {
		since[w] = condition(cp.Get(t, w.object), "Ready")["lastTransitionTime"]
		w.annotate(t, "crossplane.io/poll-interval=1s")
	})
	first := observe.seen
	step("Poll", runs{
		observe: {applyDrift},
		check:   {checkDrift},
		change:  {},
		cluster: {applyDrift},
	}, func(t *testing.T, w *walker, want ...string) {
		t.Helper()
		eventually(t, "the object to be polled", func() bool {
			return len(observe.ledger(t)) >= first+2 && (len(want) == 0 || len(w.ledger(t)) > w.seen)
		})
		w.annotate(t, "crossplane.io/poll-interval=1h")
		w.ranSome(t, "two", want...)
		if now := condition(cp.Get(t, w.object), "Ready"); now["status"] != "True" || now["lastTransitionTime"] != since[w] {
			t.Errorf("Ready should not change at periodic runs: it was True since %v, and is %v", since[w], now)
		}
	})

	// A poll finds that somebody has changed the page.
	first = observe.seen
	each(func(w *walker) {
		w.drift(t)
		w.annotate(t, "crossplane.io/poll-interval=1s")
	})
	step("Drift", runs{
		observe: {applyDrift},
		check:   {applyDrift, checkDrift},
		change:  {},
		cluster: {applyDrift},
	}, func(t *testing.T, w *walker, want ...string) {
		t.Helper()
		page := "two"
		if len(want) == 0 {
			page = "drifted"
		}
		eventually(t, "the object to be polled, and the page to be "+page, func() bool {
			return len(observe.ledger(t)) >= first+2 && w.page(t) == page
		})
		w.annotate(t, "crossplane.io/poll-interval=1h")
		w.ranSome(t, page, want...)
	})

	// Somebody asks for a run. There may have been one more poll before.
	each(func(w *walker) { w.annotate(t, "crossplane.io/reconcile-requested-at=first") })
	step("Requested", runs{
		observe: {applyRequested},
		check:   {checkRequested},
		change:  {applyRequested},
		cluster: {applyRequested},
	}, func(t *testing.T, w *walker, want ...string) {
		t.Helper()
		cp.WaitFor(t, w.object, settled(Field("status.atProvider.handledRequest", "first"), Field("status.atProvider.lastRun.trigger", "Requested"))...)
		lines := w.lines(t)
		if len(lines) == 0 || slices.Index(lines, want[0]) != len(lines)-1 {
			t.Errorf("A request should be answered once: want %q, got %q", want, lines)
		}
		if got := w.page(t); got != "two" {
			t.Errorf("The page should be as it was applied, got %q", got)
		}
	})

	// Objects with a longer interval are not polled while another one is.
	clock := newWalker(t, namespaced, namespace, "ObserveAndDelete")
	clock.Run = strings.Replace(clock.Run, "observeanddelete", "clock", 1)
	clock.Actions = `[Observe, Create, Update]`
	clock.apply(t)
	clock.tick(t)
	idle := func(t *testing.T, w *walker, want ...string) {
		t.Helper()
		w.ran(t, "two", want...)
	}
	step("PollInterval", runs{}, idle)

	// Nothing is done about an object that is paused, whatever happens.
	each(func(w *walker) {
		w.annotate(t, "crossplane.io/paused=true", "crossplane.io/poll-interval=1s")
		cp.WaitFor(t, w.object, Reason("Synced", "ReconcilePaused"))
		w.patch(t, `{"forProvider":{"vars":{"title":"three"}}}`)
		w.Title = "three"
		w.annotate(t, "crossplane.io/reconcile-requested-at=second")
	})
	clock.tick(t)
	step("Paused", runs{}, idle)

	each(func(w *walker) { w.annotate(t, "crossplane.io/paused-", "crossplane.io/poll-interval=1h") })
	step("Resumed", runs{
		observe: {applyChanged},
		check:   {checkRequested, applyChanged},
		change:  {applyChanged},
		cluster: {applyChanged},
	}, func(t *testing.T, w *walker, want ...string) {
		t.Helper()
		cp.WaitFor(t, w.object, settled(Field("status.atProvider.handledRequest", "second"), Field("status.atProvider.lastRun.mode", "Apply"))...)
		w.ran(t, "three", want...)
	})

	// The objects go, and what they stand for stays.
	each(func(w *walker) {
		spec := `{"managementPolicies":["Observe","Create","Update","LateInitialize"]}`
		if w == cluster {
			spec = `{"deletionPolicy":"Orphan"}`
		}
		w.patch(t, spec)
		cp.Delete(t, w.object)
	})
	step("Orphan", runs{}, func(t *testing.T, w *walker, want ...string) {
		t.Helper()
		cp.WaitGone(t, w.object)
		w.ran(t, "three", want...)
	})

	// Others take their place.
	each(func(w *walker) { w.apply(t) })
	step("Adopt", runs{
		observe: {applyCreated},
		check:   {checkCreated},
		change:  {applyCreated},
		cluster: {applyCreated},
	}, func(t *testing.T, w *walker, want ...string) {
		t.Helper()
		cp.WaitFor(t, w.object, settled(Field("status.atProvider.lastRun.trigger", "Created"))...)
		w.ran(t, "three", want...)
	})

	each(func(w *walker) { cp.Delete(t, w.object) })
	step("Delete", runs{
		observe: {applyDeleted},
		check:   {applyDeleted},
		change:  {applyDeleted},
		cluster: {applyDeleted},
	}, func(t *testing.T, w *walker, want ...string) {
		t.Helper()
		cp.WaitGone(t, w.object)
		w.ran(t, "", want...)
	})
}

// TestManagementPolicies shows what the provider leaves alone when it may not do
// everything, for each set of actions that the runtime supports.
func TestManagementPolicies(t *testing.T) {
	t.Parallel()
	namespace := cp.Namespace(t)

	// The page after the object was created, changed, and deleted.
	type pages struct{ Created, Changed, Deleted string }
	sets := map[string]pages{
		`["*"]`: {"one", "two", ""},
		"[Observe, Create, Update, LateInitialize, Delete]": {"one", "two", ""},
		"[Observe, Create, Update, Delete]":                 {"one", "two", ""},
		"[Observe, Create, Update, LateInitialize]":         {"one", "two", "two"},
		"[Observe, Create, Update]":                         {"one", "two", "two"},
		"[Observe, Create, LateInitialize, Delete]":         {"one", "one", ""},
		"[Observe, Create, Delete]":                         {"one", "one", ""},
		"[Observe, Create, LateInitialize]":                 {"one", "one", "one"},
		"[Observe, Create]":                                 {"one", "one", "one"},
		"[Observe, Update, LateInitialize]":                 {"one", "two", "two"},
		"[Observe, Update]":                                 {"one", "two", "two"},
		"[Observe, Delete]":                                 {"made by others", "made by others", ""},
		"[Observe, LateInitialize]":                         {"made by others", "made by others", "made by others"},
		"[Observe]":                                         {"made by others", "made by others", "made by others"},
		"[]":                                                {"made by others", "made by others", "made by others"},
	}
	names := slices.Sorted(func(yield func(string) bool) {
		for set := range sets {
			if !yield(set) {
				return
			}
		}
	})

	for i, set := range names {
		want := sets[set]
		t.Run(set, func(t *testing.T) {
			t.Parallel()

			w := newWalker(t, namespaced, namespace, "RunOnChange")
			w.Run = fmt.Sprintf("{namespace: %s, name: run-%d, annotations: {ansible.crossplane.io/runPolicy: RunOnChange}}", namespace, i)
			w.Actions = set
			if err := os.WriteFile(filepath.Join(w.Directory, "page"), []byte("made by others"), 0o600); err != nil {
				t.Fatalf("cannot write file: %s", err)
			}

			expect := []Expectation{Condition("Synced", "True"), Condition("Ready", "True")}
			switch {
			case set == "[]":
				expect = []Expectation{Reason("Synced", "ReconcilePaused")}
			case want.Created == "made by others":
				expect = []Expectation{Condition("Synced", "True"), Reason("Ready", "NotApplied")}
			}

			w.apply(t)
			u := cp.WaitFor(t, w.object, expect...)
			if got := w.page(t); got != want.Created {
				t.Errorf("When the object is there the page should be %q, got %q", want.Created, got)
			}
			runs := field(u, "status.atProvider.lastRun.id")

			w.Title = "two"
			w.apply(t)
			cp.WaitFor(t, w.object, append(expect, That("a run of the inputs, if there is to be one", func(u *unstructured.Unstructured) bool {
				return want.Created == want.Changed || field(u, "status.atProvider.lastRun.id") != runs
			}))...)
			if got := w.page(t); got != want.Changed {
				t.Errorf("When the object was changed the page should be %q, got %q", want.Changed, got)
			}

			cp.Delete(t, w.object)
			cp.WaitGone(t, w.object)
			if got := w.page(t); got != want.Deleted {
				t.Errorf("When the object is gone the page should be %q, got %q", want.Deleted, got)
			}
		})
	}
}

// TestRetries shows an object that is tried as often as it may be, and no more:
// when it is created, and when it is deleted.
func TestRetries(t *testing.T) {
	t.Parallel()

	w := newWalker(t, namespaced, cp.Namespace(t), "RunOnChange")
	w.RetryLimit = 2
	obstacle := filepath.Join(w.Directory, "obstacle")
	touch(t, obstacle)

	w.apply(t)
	cp.WaitFor(t, w.object, Field("status.atProvider.lastApply.result", "Failed"), Field("status.atProvider.lastApply.attempts", 1),
		That("the time of the next attempt", func(u *unstructured.Unstructured) bool {
			return field(u, "status.atProvider.lastApply.nextRetryTime") != nil
		}),
		Reason("Ready", "RunFailed"), Message("Ready", "There is an obstacle"), Condition("Synced", "False"), Message("Synced", "attempt 2 follows at"))
	cp.WaitFor(t, w.object, Field("status.atProvider.lastApply.attempts", 2), Condition("Ready", "False"), Reason("Ready", "RetriesExhausted"),
		Message("Ready", "There is an obstacle"), Message("Ready", "gave up after attempt 2 of 2"), Message("Ready", "crossplane.io/reconcile-requested-at"),
		Condition("Synced", "False"))
	w.ran(t, "", "apply present Created", "apply present Retry")

	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	w.annotate(t, "crossplane.io/reconcile-requested-at=now")
	cp.WaitFor(t, w.object, Condition("Ready", "True"), Condition("Synced", "True"), Field("status.atProvider.lastApply.attempts", 3))
	w.ran(t, "one", applyRequested)

	touch(t, obstacle)
	cp.Delete(t, w.object)
	cp.WaitFor(t, w.object, Condition("Deletable", "False"), Reason("Deletable", "RetriesExhausted"), Message("Deletable", "There is an obstacle"),
		Message("Deletable", "spec.managementPolicies"), Field("status.atProvider.lastApply.attempts", 2), Field("status.atProvider.lastApply.state", "absent"))
	w.ran(t, "one", applyDeleted, applyDeleted)

	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	w.annotate(t, "crossplane.io/reconcile-requested-at=later")
	cp.WaitGone(t, w.object)
	w.ran(t, "", "apply absent Requested")
}
