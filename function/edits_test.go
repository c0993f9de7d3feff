package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-ansible/crossplane-ansible/test/edits"
)

var (
	firstSeed = flag.Uint64("edits.seed", 0, "First seed of TestEdits.")
	seeds     = flag.Uint64("edits.seeds", 12, "How many seeds of TestEdits there are.")
)

// An imitation of core and of the provider, to which a session is applied. Its
// objects are by their composition resource names.
type imitation struct {
	*world

	t        *testing.T
	session  *edits.Session
	function *Function
	// composition and xr are what core has.
	input, xr map[string]any
	serial    int
	// working is what the provider runs, by the uid of the AnsibleRun.
	working map[string]edits.Entry
	applied map[string]string
	ready   bool
	changed bool
	// lost are those that the XR has lost its references to.
	lost map[string]bool
}

func (s *imitation) fail(wrong ...string) {
	s.t.Helper()

	if len(wrong) > 0 {
		s.t.Fatalf("%s\n%s\n%v\n%v", strings.Join(s.session.Log, "\n"), strings.Join(wrong, "\n"), structOf(map[string]any{"runs": s.input["runs"]}), s.xr)
	}
}

// entryOf an AnsibleRun is what its play writes to the ledger.
func entryOf(o map[string]any) edits.Entry {
	parameters := o["spec"].(map[string]any)["forProvider"].(map[string]any)
	vars, _ := parameters["vars"].(map[string]any)
	unsafe, _ := parameters["unsafeVars"].(map[string]any)
	all := merge(unsafe, vars)

	return edits.Entry{Thing: fmt.Sprint(all["thing"]), Form: fmt.Sprint(all["form"]), Value: fmt.Sprint(all["value"]), Upstream: fmt.Sprint(all["upstream"])}
}

// provide does what the provider does next about an AnsibleRun. It is false when that
// is nothing.
func (s *imitation) provide(o map[string]any, gone func()) bool {
	metadata := o["metadata"].(map[string]any)
	uid := metadata["uid"].(string)
	_, deleted := metadata["deletionTimestamp"]

	state := "present"
	if deleted {
		state = "absent"
	}

	run, runs := s.working[uid]
	last, was := s.applied[uid]

	switch {
	case runs && run.State != state:
		delete(s.working, uid) // It is cancelled.
		return true
	case runs:
		run.Begins = false
		delete(s.working, uid)
		s.applied[uid] = run.Inputs()
		s.fail(s.session.Record(run)...)

		if deleted {
			gone()
		}

		return true
	case deleted && !was:
		gone()
		return true
	}

	if is := entryOf(o); deleted || last != is.Inputs() {
		s.serial++
		is.State, is.Run, is.Begins = state, fmt.Sprint(s.serial), true
		s.working[uid] = is
		s.applied[uid] = "begun"
		s.fail(s.session.Record(is)...)
		s.status(o, "False", nil)

		return true
	}

	status, _ := o["status"].(map[string]any)
	before := proto.Clone(structOf(map[string]any{"x": status}))
	s.status(o, "True", map[string]any{"value": entryOf(o).Thing + ":" + entryOf(o).Value})

	return !proto.Equal(before, structOf(map[string]any{"x": o["status"]}))
}

func (s *imitation) status(o map[string]any, ready string, outputs map[string]any) {
	was, _ := o["status"].(map[string]any)
	provider, _ := was["atProvider"].(map[string]any)

	if outputs != nil {
		provider = map[string]any{"outputs": outputs}
	}

	generation := o["metadata"].(map[string]any)["generation"]
	o["status"] = map[string]any{
		"atProvider": provider,
		"conditions": []any{
			map[string]any{"type": "Ready", "status": ready, "observedGeneration": generation},
			map[string]any{"type": "Synced", "status": "True", "observedGeneration": generation},
		},
	}
	if provider == nil {
		delete(o["status"].(map[string]any), "atProvider")
	}
}

// compose as core does.
func (s *imitation) compose() {
	// What is deleted by hand is seen.
	req := &fnv1.RunFunctionRequest{
		Input: structOf(s.input),
		Observed: &fnv1.State{
			Composite: &fnv1.Resource{Resource: structOf(s.xr)},
			Resources: map[string]*fnv1.Resource{},
		},
	}

	observed := map[string]map[string]any{}
	for name, o := range s.exists {
		if s.lost[name] {
			continue
		}

		observed[name] = structOf(o).AsMap()
		req.Observed.Resources[name] = &fnv1.Resource{Resource: structOf(o)}
	}

	rsp := &fnv1.RunFunctionResponse{}

	for calls := 0; ; calls++ {
		if calls > 5 {
			s.fail("the requirements do not become stable")
		}

		was := rsp.GetRequirements()

		var err error
		if rsp, err = s.function.RunFunction(context.Background(), proto.CloneOf(req)); err != nil {
			s.t.Fatal(err)
		}

		if proto.Equal(was, rsp.GetRequirements()) {
			break
		}

		req.RequiredResources = s.answer(rsp)
	}

	s.ready = rsp.GetConditions()[0].GetStatus() == fnv1.Status_STATUS_CONDITION_TRUE && rsp.GetDesired().GetComposite().GetReady() != fnv1.Ready_READY_FALSE

	for _, r := range rsp.GetResults() {
		if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
			s.fail(r.GetMessage())
		}
	}

	// A reference that comes back changes the XR, so that core composes once more.
	found := false

	desired := rsp.GetDesired().GetResources()
	for name, r := range desired {
		found = found || s.lost[name]
		s.ready = s.ready && r.GetReady() == fnv1.Ready_READY_TRUE

		if _, ok := observed[name]; !ok && !s.lost[name] {
			s.session.Notef("  core: create %s", name)
		}

		delete(s.lost, name)
	}

	for name, o := range observed {
		if desired[name] != nil {
			continue
		}

		s.session.Notef("  core: delete %s", name)

		for _, u := range observed {
			if u["kind"] == "Usage" && o["kind"] == "AnsibleRun" && u["spec"].(map[string]any)["of"].(map[string]any)["resourceRef"].(map[string]any)["name"] == o["metadata"].(map[string]any)["name"] {
				s.fail("core would refuse to delete " + name)
			}
		}
	}

	before := structOf(map[string]any{"x": plain(s.exists)})
	s.apply(observed, desired)
	s.changed = found || !proto.Equal(before, structOf(map[string]any{"x": plain(s.exists)}))
	s.session.Notef("  core: %s: %s", rsp.GetConditions()[0].GetReason(), strings.ReplaceAll(rsp.GetConditions()[0].GetMessage(), "\n", "; "))
}

func plain(m map[string]map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		out[k] = v
	}

	return out
}

// live on, one thing after the other. It is false when there is nothing to do.
func (s *imitation) live() bool {
	type deed func() bool

	deeds := []deed{func() bool { s.compose(); return s.changed }}

	for _, name := range slices.Sorted(maps.Keys(s.exists)) {
		if s.exists[name]["kind"] == "AnsibleRun" {
			deeds = append(deeds, func() bool {
				o, ok := s.exists[name]
				return ok && o["kind"] == "AnsibleRun" && s.provide(o, func() { delete(s.exists, name) })
			})
		}
	}

	for _, o := range slices.Clone(s.departing) {
		deeds = append(deeds, func() bool {
			// A cache knows it at last.
			o["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"

			return s.provide(o, func() {
				s.departing = slices.DeleteFunc(s.departing, func(d map[string]any) bool {
					return d["metadata"].(map[string]any)["uid"] == o["metadata"].(map[string]any)["uid"]
				})
			})
		})
	}

	s.rnd.Shuffle(len(deeds), func(i, j int) { deeds[i], deeds[j] = deeds[j], deeds[i] })

	done := false
	for _, d := range deeds {
		done = d() || done
	}

	return done
}

// edited applies the Composition, the XR, or both, as they are now.
func (s *imitation) edited(composition, xr bool) {
	s.serial++

	if composition {
		s.input = s.session.Input(s.serial)
	}

	if xr {
		// Somebody replaces the XR by one without references.
		if s.rnd.IntN(5) == 0 {
			s.session.Notef("  the XR loses its references")

			for name, o := range s.exists {
				if o["metadata"].(map[string]any)["deletionTimestamp"] == nil {
					s.lost[name] = true
				}
			}
		}

		s.xr = map[string]any{
			"apiVersion": "example.org/v1", "kind": "App",
			"metadata": map[string]any{"name": "app", "namespace": "default", "uid": "xr", "annotations": map[string]any{"ansible.fn.crossplane.io/allow-removal": s.session.Allowed()}},
			"spec":     s.session.Spec(s.serial),
		}
	}

	s.session.Applied()
}

func (s *imitation) settle() {
	for range 300 {
		if s.live() {
			continue
		}

		got := map[string]edits.Entry{}

		for name, o := range s.exists {
			if o["kind"] == "AnsibleRun" {
				got[name] = entryOf(o)
			}
		}

		why, ok := s.session.Reached(got, s.ready)
		if !ok {
			s.fail(why)
		}

		s.fail(s.session.Unapplied()...)

		return
	}

	s.fail("it never ends")
}

// TestEdits edits Compositions and XRs at random, and sees that nothing is removed
// but what somebody asked for, that dependents go first, that nothing runs twice for
// the same inputs, and that all ends as the last edit says.
func TestEdits(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			session := edits.New(seed, "/tmp")
			s := &imitation{
				t: t, session: session, function: newFunction(t), working: map[string]edits.Entry{}, lost: map[string]bool{}, applied: map[string]string{},
				world: &world{rnd: rand.New(rand.NewPCG(seed, 2)), exists: map[string]map[string]any{}},
			}
			s.edited(true, true)
			s.settle()

			for range 12 {
				if free := session.Deletable(); len(free) > 0 && session.Chance(6) {
					called := free[session.Pick(len(free))]
					s.exists[called]["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
					session.Deleted(called)
				}

				for range 1 + session.Pick(3) {
					for range session.Pick(4) {
						s.live()
					}

					s.edited(session.Edit())
				}

				s.settle()
			}

			session.Right()
			s.edited(true, true)
			s.settle()

			if !s.ready {
				s.fail("the XR is not ready in the end")
			}
		})
	}
}
