package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
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

// A subject is an AnsibleRun with one policy, the target of its play, and the ledger of its runs.
type subject struct {
	policyData

	object Object
	// seen is the number of lines of the ledger that lines has returned.
	seen int
}

// newSubject returns a subject in a group. It is not applied yet.
func newSubject(t *testing.T, group, namespace, policy string) *subject {
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
	return &subject{policyData: d}
}

// apply the object as it is to be now.
func (s *subject) apply(t *testing.T) {
	t.Helper()
	s.object = cp.Apply(t, noting, s.policyData)[1]
}

// annotate the object. A key that ends in - is removed.
func (s *subject) annotate(t *testing.T, annotations ...string) {
	t.Helper()
	args := []string{"annotate", "--overwrite", "ansibleruns." + s.Group, s.object.Name}
	if s.object.Namespace != "" {
		args = append(args, "--namespace="+s.object.Namespace)
	}
	cp.Kubectl(t, append(args, annotations...)...)
}

// patch the spec of the object.
func (s *subject) patch(t *testing.T, spec string) {
	t.Helper()
	args := []string{"patch", "ansibleruns." + s.Group, s.object.Name, "--type=merge", "--patch", `{"spec":` + spec + `}`}
	if s.object.Namespace != "" {
		args = append(args, "--namespace="+s.object.Namespace)
	}
	cp.Kubectl(t, args...)
}

// lines of the ledger since the last call, one for each run, as the play writes them but without
// the id of the run.
func (s *subject) lines(t *testing.T) []string {
	t.Helper()
	lines := s.ledger(t)
	ids := map[string]bool{}
	var out []string
	for i, line := range lines {
		what, id, _ := cut(line)
		if ids[id] {
			t.Errorf("Run %s should have been carried out once.", id)
		}
		ids[id] = true
		if i >= s.seen {
			out = append(out, what)
		}
	}
	s.seen = len(lines)
	return out
}

// cut a line of the ledger before the id of its run.
func cut(line string) (what, id string, ok bool) {
	i := strings.LastIndex(line, " ")
	return line[:max(i, 0)], line[i+1:], i > 0
}

// ledger of all runs.
func (s *subject) ledger(t *testing.T) []string {
	t.Helper()
	file := filepath.Join(s.Directory, "ledger")
	if !exists(file) {
		return nil
	}
	return strings.Split(strings.TrimSpace(readFile(t, file)), "\n")
}

// page as it is; empty if there is none.
func (s *subject) page(t *testing.T) string {
	t.Helper()
	file := filepath.Join(s.Directory, "page")
	if !exists(file) {
		return ""
	}
	return readFile(t, file)
}

// ran fails the test unless the ledger has these lines since the last call, and the page this text.
func (s *subject) ran(t *testing.T, page string, want ...string) {
	t.Helper()
	if got := s.lines(t); !slices.Equal(got, want) {
		t.Errorf("%s should have run %q, got %q", s.object, want, got)
	}
	if got := s.page(t); got != page {
		t.Errorf("The page of %s should be %q, got %q", s.object, page, got)
	}
}

// ranSome fails the test unless the ledger has only these lines since the last call, the first at
// least once, and the page has this text. How often an object was polled is not known.
func (s *subject) ranSome(t *testing.T, page string, want ...string) {
	t.Helper()
	got := s.lines(t)
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("%s should have run %q, got %q", s.object, want, got)
			break
		}
	}
	if len(want) > 0 && !slices.Contains(got, want[0]) {
		t.Errorf("%s should have run %q, got %q", s.object, want[0], got)
	}
	if got := s.page(t); got != page {
		t.Errorf("The page of %s should be %q, got %q", s.object, page, got)
	}
}

// drift changes the page outside of Ansible.
func (s *subject) drift(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.Directory, "page"), []byte("drifted"), 0o600); err != nil {
		t.Fatalf("cannot write file: %s", err)
	}
}

// tick polls the object twice. Others with a poll interval of a second were polled by then.
func (s *subject) tick(t *testing.T) {
	t.Helper()
	before := len(s.ledger(t))
	s.annotate(t, "crossplane.io/poll-interval=1s")
	Eventually(t, "an object to be polled twice", func() bool { return len(s.ledger(t)) >= before+2 })
	s.annotate(t, "crossplane.io/poll-interval=1h")
}

// Lines that the plays of this file write to the ledger.
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

// TestPolicies creates, changes, polls, requests, pauses and deletes AnsibleRuns: one of each policy
// and one of the other group, all of them in each step.
func TestPolicies(t *testing.T) {
	t.Parallel()

	namespace := cp.Namespace(t)
	observe := newSubject(t, namespaced, namespace, "ObserveAndDelete")
	check := newSubject(t, namespaced, namespace, "CheckWhenObserve")
	change := newSubject(t, namespaced, namespace, "RunOnChange")
	cluster := newSubject(t, clusterScoped, namespace, "ObserveAndDelete")

	names := map[*subject]string{observe: "ObserveAndDelete", check: "CheckWhenObserve", change: "RunOnChange", cluster: "ClusterScoped"}
	subjects := []*subject{observe, check, change, cluster}
	each := func(do func(s *subject)) {
		for _, s := range subjects {
			do(s)
		}
	}
	// step runs a subtest for each of them.
	type runs map[*subject][]string
	step := func(name string, want runs, check func(t *testing.T, s *subject, want ...string)) {
		t.Run(name, func(t *testing.T) {
			for _, s := range subjects {
				t.Run(names[s], func(t *testing.T) { check(t, s, want[s]...) })
			}
		})
	}
	settled := func(more ...Expectation) []Expectation {
		return append(more, Condition("Ready", "True"), Condition("Synced", "True"), Field("status.atProvider.lastRun.phase", "Succeeded"))
	}

	each(func(s *subject) { s.apply(t) })
	step("Create", runs{
		observe: {applyCreated},
		check:   {checkCreated, applyCreated},
		change:  {applyCreated},
		cluster: {applyCreated},
	}, func(t *testing.T, s *subject, want ...string) {
		t.Helper()
		cp.WaitFor(t, s.object, settled(Field("status.atProvider.lastRun.trigger", "Created"), Field("status.atProvider.lastRun.mode", "Apply"))...)
		s.ran(t, "one", want...)
	})

	each(func(s *subject) { s.Title = "two"; s.apply(t) })
	step("Change", runs{
		observe: {applyChanged},
		check:   {checkChanged, applyChanged},
		change:  {applyChanged},
		cluster: {applyChanged},
	}, func(t *testing.T, s *subject, want ...string) {
		t.Helper()
		cp.WaitFor(t, s.object, settled(Field("status.atProvider.lastRun.trigger", "Changed"), Field("status.atProvider.lastRun.mode", "Apply"))...)
		s.ran(t, "two", want...)
	})

	// A poll finds nothing to do. By the time that one object has run twice, the
	// others were polled.
	since := map[*subject]any{}
	each(func(s *subject) {
		since[s] = ConditionOf(cp.Get(t, s.object), "Ready")["lastTransitionTime"]
		s.annotate(t, "crossplane.io/poll-interval=1s")
	})
	first := observe.seen
	step("Poll", runs{
		observe: {applyDrift},
		check:   {checkDrift},
		change:  {},
		cluster: {applyDrift},
	}, func(t *testing.T, s *subject, want ...string) {
		t.Helper()
		Eventually(t, "the object to be polled", func() bool {
			return len(observe.ledger(t)) >= first+2 && (len(want) == 0 || len(s.ledger(t)) > s.seen)
		})
		s.annotate(t, "crossplane.io/poll-interval=1h")
		s.ranSome(t, "two", want...)
		if now := ConditionOf(cp.Get(t, s.object), "Ready"); now["status"] != "True" || now["lastTransitionTime"] != since[s] {
			t.Errorf("Ready should not change at periodic runs: it was True since %v, and is %v", since[s], now)
		}
	})

	// A poll finds that the page has changed.
	first = observe.seen
	each(func(s *subject) {
		s.drift(t)
		s.annotate(t, "crossplane.io/poll-interval=1s")
	})
	step("Drift", runs{
		observe: {applyDrift},
		check:   {applyDrift, checkDrift},
		change:  {},
		cluster: {applyDrift},
	}, func(t *testing.T, s *subject, want ...string) {
		t.Helper()
		page := "two"
		if len(want) == 0 {
			page = "drifted"
		}
		Eventually(t, "the object to be polled, and the page to be "+page, func() bool {
			return len(observe.ledger(t)) >= first+2 && s.page(t) == page
		})
		s.annotate(t, "crossplane.io/poll-interval=1h")
		s.ranSome(t, page, want...)
	})

	// A user requests a run. There may have been one more poll before.
	each(func(s *subject) { s.annotate(t, "crossplane.io/reconcile-requested-at=first") })
	step("Requested", runs{
		observe: {applyRequested},
		check:   {checkRequested},
		change:  {applyRequested},
		cluster: {applyRequested},
	}, func(t *testing.T, s *subject, want ...string) {
		t.Helper()
		cp.WaitFor(t, s.object, settled(Field("status.atProvider.handledRequest", "first"), Field("status.atProvider.lastRun.trigger", "Requested"))...)
		lines := s.lines(t)
		if len(lines) == 0 || slices.Index(lines, want[0]) != len(lines)-1 {
			t.Errorf("A request should be answered once: want %q, got %q", want, lines)
		}
		if got := s.page(t); got != "two" {
			t.Errorf("The page should be as it was applied, got %q", got)
		}
	})

	// Objects with a longer interval are not polled while another one is.
	clock := newSubject(t, namespaced, namespace, "ObserveAndDelete")
	clock.Run = strings.Replace(clock.Run, "observeanddelete", "clock", 1)
	clock.Actions = `[Observe, Create, Update]`
	clock.apply(t)
	clock.tick(t)
	idle := func(t *testing.T, s *subject, want ...string) {
		t.Helper()
		s.ran(t, "two", want...)
	}
	step("PollInterval", runs{}, idle)

	// Nothing is run for an object that is paused.
	each(func(s *subject) {
		s.annotate(t, "crossplane.io/paused=true", "crossplane.io/poll-interval=1s")
		cp.WaitFor(t, s.object, Reason("Synced", "ReconcilePaused"))
		s.patch(t, `{"forProvider":{"vars":{"title":"three"}}}`)
		s.Title = "three"
		s.annotate(t, "crossplane.io/reconcile-requested-at=second")
	})
	clock.tick(t)
	step("Paused", runs{}, idle)

	each(func(s *subject) { s.annotate(t, "crossplane.io/paused-", "crossplane.io/poll-interval=1h") })
	step("Resumed", runs{
		observe: {applyChanged},
		check:   {checkRequested, applyChanged},
		change:  {applyChanged},
		cluster: {applyChanged},
	}, func(t *testing.T, s *subject, want ...string) {
		t.Helper()
		cp.WaitFor(t, s.object, settled(Field("status.atProvider.handledRequest", "second"), Field("status.atProvider.lastRun.mode", "Apply"))...)
		s.ran(t, "three", want...)
	})

	// The objects go, and what they stand for stays.
	each(func(s *subject) {
		spec := `{"managementPolicies":["Observe","Create","Update","LateInitialize"]}`
		if s == cluster {
			spec = `{"deletionPolicy":"Orphan"}`
		}
		s.patch(t, spec)
		cp.Delete(t, s.object)
	})
	step("Orphan", runs{}, func(t *testing.T, s *subject, want ...string) {
		t.Helper()
		cp.WaitGone(t, s.object)
		s.ran(t, "three", want...)
	})

	// Others take their place.
	each(func(s *subject) { s.apply(t) })
	step("Adopt", runs{
		observe: {applyCreated},
		check:   {checkCreated},
		change:  {applyCreated},
		cluster: {applyCreated},
	}, func(t *testing.T, s *subject, want ...string) {
		t.Helper()
		cp.WaitFor(t, s.object, settled(Field("status.atProvider.lastRun.trigger", "Created"))...)
		s.ran(t, "three", want...)
	})

	each(func(s *subject) { cp.Delete(t, s.object) })
	step("Delete", runs{
		observe: {applyDeleted},
		check:   {applyDeleted},
		change:  {applyDeleted},
		cluster: {applyDeleted},
	}, func(t *testing.T, s *subject, want ...string) {
		t.Helper()
		cp.WaitGone(t, s.object)
		s.ran(t, "", want...)
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

			s := newSubject(t, namespaced, namespace, "RunOnChange")
			s.Run = fmt.Sprintf("{namespace: %s, name: run-%d, annotations: {ansible.crossplane.io/runPolicy: RunOnChange}}", namespace, i)
			s.Actions = set
			if err := os.WriteFile(filepath.Join(s.Directory, "page"), []byte("made by others"), 0o600); err != nil {
				t.Fatalf("cannot write file: %s", err)
			}

			expect := []Expectation{Condition("Synced", "True"), Condition("Ready", "True")}
			switch {
			case set == "[]":
				expect = []Expectation{Reason("Synced", "ReconcilePaused")}
			case want.Created == "made by others":
				expect = []Expectation{Condition("Synced", "True"), Reason("Ready", "NotApplied")}
			}

			s.apply(t)
			u := cp.WaitFor(t, s.object, expect...)
			if got := s.page(t); got != want.Created {
				t.Errorf("When the object is there the page should be %q, got %q", want.Created, got)
			}
			runs := Value(u, "status.atProvider.lastRun.id")

			s.Title = "two"
			s.apply(t)
			cp.WaitFor(t, s.object, append(expect, That("a run of the inputs, if there is to be one", func(u *unstructured.Unstructured) bool {
				return want.Created == want.Changed || Value(u, "status.atProvider.lastRun.id") != runs
			}))...)
			if got := s.page(t); got != want.Changed {
				t.Errorf("When the object was changed the page should be %q, got %q", want.Changed, got)
			}

			cp.Delete(t, s.object)
			cp.WaitGone(t, s.object)
			if got := s.page(t); got != want.Deleted {
				t.Errorf("When the object is gone the page should be %q, got %q", want.Deleted, got)
			}
		})
	}
}

// TestRetries shows an object that is tried as often as it may be, and no more:
// when it is created, and when it is deleted.
func TestRetries(t *testing.T) {
	t.Parallel()

	s := newSubject(t, namespaced, cp.Namespace(t), "RunOnChange")
	s.RetryLimit = 2
	obstacle := filepath.Join(s.Directory, "obstacle")
	touch(t, obstacle)

	s.apply(t)
	cp.WaitFor(t, s.object, Field("status.atProvider.lastApply.result", "Failed"), Field("status.atProvider.lastApply.attempts", 1),
		That("the time of the next attempt", func(u *unstructured.Unstructured) bool {
			return Value(u, "status.atProvider.lastApply.nextRetryTime") != nil
		}),
		Reason("Ready", "RunFailed"), Message("Ready", "There is an obstacle"), Condition("Synced", "False"), Message("Synced", "attempt 2 follows at"))
	cp.WaitFor(t, s.object, Field("status.atProvider.lastApply.attempts", 2), Condition("Ready", "False"), Reason("Ready", "RetriesExhausted"),
		Message("Ready", "There is an obstacle"), Message("Ready", "gave up after attempt 2 of 2"), Message("Ready", "crossplane.io/reconcile-requested-at"),
		Condition("Synced", "False"))
	s.ran(t, "", "apply present Created", "apply present Retry")

	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	s.annotate(t, "crossplane.io/reconcile-requested-at=now")
	cp.WaitFor(t, s.object, Condition("Ready", "True"), Condition("Synced", "True"), Field("status.atProvider.lastApply.attempts", 3))
	s.ran(t, "one", applyRequested)

	touch(t, obstacle)
	cp.Delete(t, s.object)
	cp.WaitFor(t, s.object, Condition("Deletable", "False"), Reason("Deletable", "RetriesExhausted"), Message("Deletable", "There is an obstacle"),
		Message("Deletable", "spec.managementPolicies"), Field("status.atProvider.lastApply.attempts", 2), Field("status.atProvider.lastApply.state", "absent"))
	s.ran(t, "one", applyDeleted, applyDeleted)

	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	s.annotate(t, "crossplane.io/reconcile-requested-at=later")
	cp.WaitGone(t, s.object)
	s.ran(t, "", "apply absent Requested")
}
