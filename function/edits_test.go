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

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-ansible/crossplane-ansible/test/edits"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

var (
	firstSeed = flag.Uint64("edits.seed", 0, "First seed of TestEdits.")
	seeds     = flag.Uint64("edits.seeds", 20, "How many seeds of TestEdits there are.")
)

const deleted = "2026-01-01T00:00:00Z"

// An imitation imitates core and the provider while a session edits a Composition and an XR. Its objects are by
// composition resource name.
type imitation struct {
	t        *testing.T
	rnd      *rand.Rand
	session  *edits.Session
	function *Function

	input, xr map[string]any
	exists    map[string]map[string]any
	// departing are the AnsibleRuns that core has deleted and does not observe any more.
	departing []map[string]any
	// lost are the AnsibleRuns to which the XR has lost its references.
	lost   map[string]bool
	serial int
	paused bool
	// doubts is how many wrong statuses the provider may still report.
	doubts int

	// working has the spec that the provider runs, and applied the one that it has run last, by the UID of the
	// AnsibleRun.
	working map[string]edits.Entry
	applied map[string]string

	ready   bool
	message string
	seen    map[string]int
}

func (s *imitation) fail(why string) {
	s.t.Helper()
	s.t.Fatalf("%s\nwrong: %s\n%v\n%v", strings.Join(s.session.Log, "\n"), why, structOf(map[string]any{"runs": s.input["runs"]}), s.xr)
}

func structOf(m map[string]any) *structpb.Struct {
	s, err := structpb.NewStruct(m)
	if err != nil {
		panic(err)
	}

	return s
}

func metadataOf(o map[string]any) map[string]any { return o["metadata"].(map[string]any) }

func isRun(o map[string]any) bool { return o["kind"] == "AnsibleRun" }

func merge(a, b map[string]any) map[string]any {
	out := maps.Clone(b)
	maps.Copy(out, a)

	return out
}

// provide does the next step of the provider for an AnsibleRun; false when there is none.
func (s *imitation) provide(o map[string]any, gone func()) bool {
	uid := metadataOf(o)["uid"].(string)
	_, going := metadataOf(o)["deletionTimestamp"]

	state := "present"
	if going {
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
		s.session.Record(run)

		if going {
			gone()
		}

		return true
	case going && !was:
		gone()
		return true
	}

	if is := edits.RunOf(o).Entry; going || last != is.Inputs() {
		s.serial++
		is.State, is.Run, is.Begins = state, fmt.Sprint(s.serial), true
		s.working[uid] = is
		s.applied[uid] = "begun"
		s.session.Record(is)
		s.status(o, "False", nil)

		return true
	}

	return s.report(o)
}

// report reports the status of an AnsibleRun, which may be wrong for a while, see doubts.
func (s *imitation) report(o map[string]any) bool {
	before := fmt.Sprint(o["status"])
	is := edits.RunOf(o)
	outputs := map[string]any{"value": is.Thing + ":" + is.Value}

	if vars, ok := o["spec"].(map[string]any)["forProvider"].(map[string]any)["vars"].(map[string]any); ok && vars["list"] != nil {
		outputs["list"] = vars["list"]
	}

	s.status(o, "True", outputs)

	changed := before != fmt.Sprint(o["status"])
	if !changed && s.doubts > 0 && s.rnd.IntN(3) == 0 {
		s.doubts--
		status := o["status"].(map[string]any)
		condition := status["conditions"].([]any)[s.rnd.IntN(2)].(map[string]any)

		switch s.rnd.IntN(4) {
		case 0:
			condition["status"] = "False"
		case 1:
			condition["status"] = "Unknown"
		case 2:
			condition["observedGeneration"] = 0.0
		case 3:
			delete(status, "atProvider")
		}

		return true
	}

	return changed
}

func (s *imitation) status(o map[string]any, ready string, outputs map[string]any) {
	was, _ := o["status"].(map[string]any)
	provider, _ := was["atProvider"].(map[string]any)

	if outputs != nil {
		provider = map[string]any{"outputs": outputs}
	}

	generation := metadataOf(o)["generation"]
	o["status"] = map[string]any{
		"conditions": []any{
			map[string]any{"type": "Ready", "status": ready, "observedGeneration": generation},
			map[string]any{"type": "Synced", "status": "True", "observedGeneration": generation},
		},
	}

	if provider != nil {
		o["status"].(map[string]any)["atProvider"] = provider
	}
}

// request returns the request of core.
func (s *imitation) request() *fnv1.RunFunctionRequest {
	environment := map[string]any{}
	if v := s.session.Value(edits.OfEnvironment); v != nil {
		environment["x"] = v
	}

	if o := s.exists["machine"]; o != nil {
		status := map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}
		o["status"] = status

		if v := s.session.Value(edits.OfMachine); v != nil {
			status["x"] = v
		}
	}

	req := &fnv1.RunFunctionRequest{
		Input:    structOf(s.input),
		Context:  structOf(map[string]any{"apiextensions.crossplane.io/environment": environment}),
		Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: structOf(s.xr)}, Resources: map[string]*fnv1.Resource{}},
		Desired: &fnv1.State{Resources: map[string]*fnv1.Resource{"machine": {Resource: structOf(map[string]any{
			"apiVersion": "cloud.example.org/v1", "kind": "Machine", "metadata": map[string]any{},
		})}}},
	}

	for name, o := range s.exists {
		if !s.lost[name] {
			req.Observed.Resources[name] = &fnv1.Resource{Resource: structOf(o)}
		}
	}

	return req
}

// answer adds the required resources to a request.
func (s *imitation) answer(rsp *fnv1.RunFunctionResponse) map[string]*fnv1.Resources {
	all := map[string]*fnv1.Resources{}

	switch v := s.session.Value(edits.OfRequired).(type) {
	case nil:
	case int:
		all["net"] = &fnv1.Resources{Items: []*fnv1.Resource{{Resource: structOf(map[string]any{"data": map[string]any{"x": fmt.Sprint(v)}})}}}
	default:
		all["net"] = &fnv1.Resources{}
	}

	for name, selector := range rsp.GetRequirements().GetResources() {
		uid, ok := selector.GetMatchLabels().GetLabels()["ansible.fn.crossplane.io/composite-uid"]
		if !ok {
			continue
		}

		all[name] = &fnv1.Resources{}

		for _, o := range slices.Concat(slices.Collect(maps.Values(s.exists)), s.departing) {
			labels, _ := metadataOf(o)["labels"].(map[string]any)
			if isRun(o) && labels["ansible.fn.crossplane.io/composite-uid"] == uid {
				all[name].Items = append(all[name].Items, &fnv1.Resource{Resource: structOf(o)})
			}
		}
	}

	return all
}

// respond calls the function until its requirements are stable.
func (s *imitation) respond(req *fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse {
	call := func() *fnv1.RunFunctionResponse {
		rsp, err := s.function.RunFunction(context.Background(), proto.CloneOf(req))
		needs.OK(s.t, err)

		return rsp
	}

	rsp := call()
	for calls := 0; ; calls++ {
		was := rsp.GetRequirements()
		req.RequiredResources = s.answer(rsp)

		if rsp = call(); proto.Equal(was, rsp.GetRequirements()) {
			break
		}

		if calls > 5 {
			s.fail("the requirements do not become stable")
		}
	}

	if again := call(); s.rnd.IntN(4) == 0 && !proto.Equal(rsp, again) {
		s.fail(fmt.Sprintf("the same request has two responses:\n%v\n%v", rsp, again))
	}

	for _, r := range rsp.GetResults() {
		if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
			s.fail(r.GetMessage())
		}
	}

	return rsp
}

// compose composes the XR as core does; false when nothing changes.
func (s *imitation) compose() bool {
	if s.paused {
		return false
	}

	req := s.request()
	observed := map[string]map[string]any{}

	for name, r := range req.GetObserved().GetResources() {
		observed[name] = r.GetResource().AsMap()
	}

	rsp := s.respond(req)
	condition := rsp.GetConditions()[0]
	s.message = condition.GetMessage()
	s.ready = condition.GetStatus() == fnv1.Status_STATUS_CONDITION_TRUE && rsp.GetDesired().GetComposite().GetReady() != fnv1.Ready_READY_FALSE
	s.seen[condition.GetReason()]++

	// A reference that comes back changes the XR, so that core composes once more.
	found := false
	desired := rsp.GetDesired().GetResources()

	for _, name := range slices.Sorted(maps.Keys(desired)) {
		s.ready = s.ready && (name == "machine" || desired[name].GetReady() == fnv1.Ready_READY_TRUE)
		found = found || s.lost[name]

		if observed[name] == nil && !s.lost[name] {
			s.session.Notef("  core: create %s", name)
		}

		delete(s.lost, name)
	}

	s.check(observed, desired)

	before := fmt.Sprint(s.exists)
	s.apply(observed, desired)
	s.session.Notef("  core: %s: %s", condition.GetReason(), strings.ReplaceAll(s.message, "\n", "; "))

	return found || before != fmt.Sprint(s.exists)
}

// dependsOn is true for an AnsibleRun that was rendered as a dependent of another one.
func dependsOn(o map[string]any, name string) bool {
	annotations, _ := metadataOf(o)["annotations"].(map[string]any)
	on, _ := annotations["ansible.fn.crossplane.io/depends-on"].(string)
	set, _, _ := strings.Cut(name, "[")

	return slices.Contains(strings.Split(on, ","), name) || slices.Contains(strings.Split(on, ","), set+"[]")
}

// check checks the response.
func (s *imitation) check(observed map[string]map[string]any, desired map[string]*fnv1.Resource) {
	for name, o := range observed {
		if desired[name] != nil || !isRun(o) {
			continue
		}

		s.session.Notef("  core: delete %s", name)

		for _, d := range s.departing {
			if dependsOn(d, name) {
				s.fail(fmt.Sprintf("%s goes while %v, which depends on it, is being deleted", name, d["metadata"]))
			}
		}

		for _, u := range observed {
			if u["kind"] == "Usage" && u["spec"].(map[string]any)["of"].(map[string]any)["resourceRef"].(map[string]any)["name"] == metadataOf(o)["name"] {
				s.fail("core would refuse to delete " + name)
			}
		}
	}

	for _, d := range s.departing {
		resource := edits.RunOf(d).Called

		for name, u := range observed {
			usage := resource + " uses " + name
			if u["kind"] != "Usage" && dependsOn(d, name) && observed[usage] != nil && desired[usage] == nil {
				s.fail(fmt.Sprintf("%q goes before its user has", usage))
			}
		}
	}

	var wanted []edits.Run

	for name, r := range desired {
		o := r.GetResource().AsMap()
		if !isRun(o) {
			continue
		}

		if o["metadata"] == nil {
			o["metadata"] = map[string]any{}
		}

		annotations, _ := metadataOf(o)["annotations"].(map[string]any)
		metadataOf(o)["annotations"] = merge(annotations, map[string]any{"crossplane.io/composition-resource-name": name})
		wanted = append(wanted, edits.RunOf(o))
		s.checkRun(name, o, r.GetReady() == fnv1.Ready_READY_TRUE, observed, desired)
	}

	s.checkTurns(desired)

	if s.ready {
		if why := s.session.Reached(wanted, true, "", false); why != "" {
			s.fail(why)
		}
	}
}

// checkTurns checks that members of a set with atATime change one at a time.
func (s *imitation) checkTurns(desired map[string]*fnv1.Resource) {
	changing := map[any][]string{}

	for name, r := range desired {
		o := r.GetResource().AsMap()
		was := s.exists[name]

		if i := s.departed(o); i >= 0 {
			was = s.departing[i]
		}

		if labels, ok := metadataOf(o)["labels"].(map[string]any); ok && !cmp.Equal(was["spec"], o["spec"]) {
			changing[labels["plan"]] = append(changing[labels["plan"]], name)
		}
	}

	for _, run := range s.input["runs"].([]any) {
		run := run.(map[string]any)
		if all := changing[run["labels"].(map[string]any)["plan"]]; run["atATime"] != nil && len(all) > 1 {
			s.fail(fmt.Sprintf("%v change at a time", all))
		}
	}
}

// checkRun checks a desired AnsibleRun.
func (s *imitation) checkRun(name string, o map[string]any, ready bool, observed map[string]map[string]any, desired map[string]*fnv1.Resource) {
	is, uid := edits.RunOf(o), metadataOf(o)["uid"]

	for _, d := range s.departing {
		if was := edits.RunOf(d); uid != metadataOf(d)["uid"] && (was.Called == name || was.Thing == is.Thing) {
			s.fail(fmt.Sprintf("%s is applied while %s is being deleted", name, was.Called))
		}
	}

	if was := observed[name]; was != nil {
		fixed, _ := s.session.Must(edits.RunOf(was))
		if ready && !fixed && metadataOf(was)["deletionTimestamp"] != nil {
			s.fail(name + " is being deleted and said to be ready")
		}

		if fixed {
			if diff := cmp.Diff(was["spec"], o["spec"]); diff != "" {
				s.fail(name + " is held and changes: -was, +is:\n" + diff)
			}
		}

		return
	}

	if uid != nil { // It was lost.
		return
	}

	_, after := s.session.Must(is)
	for other, was := range s.exists {
		on := edits.RunOf(was)
		if isRun(was) && on.Thing == is.Thing {
			s.fail(fmt.Sprintf("%s is created beside %s", name, other))
		}

		if i := slices.Index(after, on.Thing); isRun(was) && i >= 0 && desired[other].GetReady() == fnv1.Ready_READY_TRUE {
			after = slices.Delete(after, i, i+1)
		}
	}

	if len(after) > 0 {
		s.fail(fmt.Sprintf("%s is created before %v", name, after))
	}
}

// apply applies the desired resources as core does. It deletes observed resources that are not desired, which are not
// observed any more then.
func (s *imitation) apply(observed map[string]map[string]any, desired map[string]*fnv1.Resource) {
	for _, name := range slices.Sorted(maps.Keys(observed)) {
		if desired[name] == nil {
			s.leave(s.exists[name])
			delete(s.exists, name)
		}
	}

	for _, name := range slices.Sorted(maps.Keys(desired)) {
		s.applyOne(name, desired[name].GetResource().AsMap())
	}
}

// leave removes the label of an AnsibleRun and deletes it. The cache of core may not have these changes yet. Other
// resources are deleted at once.
func (s *imitation) leave(o map[string]any) {
	if !isRun(o) {
		return
	}

	known := s.rnd.IntN(3)
	if known > 0 {
		delete(metadataOf(o)["labels"].(map[string]any), "crossplane.io/composite")
	}

	if known > 1 {
		metadataOf(o)["deletionTimestamp"] = deleted
	}

	s.departing = append(s.departing, o)
}

// departed returns the index in departing of an object that core applies, since its cache does not have the deletion
// yet; -1 for none.
func (s *imitation) departed(o map[string]any) int {
	return slices.IndexFunc(s.departing, func(d map[string]any) bool { return metadataOf(d)["uid"] == metadataOf(o)["uid"] })
}

func (s *imitation) applyOne(name string, o map[string]any) {
	metadata, _ := o["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		o["metadata"] = metadata
	}

	if i := s.departed(o); i >= 0 {
		metadataOf(s.departing[i])["deletionTimestamp"] = deleted
		s.exists[name] = s.departing[i]
		s.departing = slices.Delete(s.departing, i, i+1)
	}

	was := s.exists[name]

	// The API server refuses to create an object with a UID.
	if was == nil && metadata["uid"] != nil {
		return
	}

	labels, _ := metadata["labels"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	metadata["labels"] = merge(labels, map[string]any{"crossplane.io/composite": "app"})
	metadata["managedFields"] = []any{map[string]any{"manager": "apiextensions.crossplane.io/composed/x", "operation": "Apply", "fieldsV1": owned(o)}}
	metadata["namespace"] = "default"
	metadata["ownerReferences"] = []any{map[string]any{"uid": "xr", "controller": true}}
	metadata["annotations"] = merge(annotations, map[string]any{"crossplane.io/composition-resource-name": name})
	s.exists[name] = o

	if was == nil {
		s.serial++
		metadata["name"], metadata["uid"], metadata["generation"] = fmt.Sprintf("object-%d", s.serial), fmt.Sprintf("uid-%d", s.serial), 1.0

		return
	}

	before := metadataOf(was)
	metadata["name"], metadata["uid"], metadata["generation"] = before["name"], before["uid"], before["generation"]

	if t, ok := before["deletionTimestamp"]; ok {
		metadata["deletionTimestamp"] = t
	}

	if !cmp.Equal(was["spec"], o["spec"]) {
		metadata["generation"] = before["generation"].(float64) + 1
	}

	if status, ok := was["status"]; ok {
		o["status"] = status
	}
}

// owned returns the fields of an object as a FieldsV1 set.
func owned(o map[string]any) map[string]any {
	set := map[string]any{}

	for k, v := range o {
		set["f:"+k] = map[string]any{}
		if v, ok := v.(map[string]any); ok {
			set["f:"+k] = owned(v)
		}
	}

	return set
}

// live does the next step of core or the provider; false when there is none.
func (s *imitation) live() bool {
	deeds := []func() bool{s.compose}

	for _, name := range slices.Sorted(maps.Keys(s.exists)) {
		deeds = append(deeds, func() bool {
			o, ok := s.exists[name]
			return ok && isRun(o) && s.provide(o, func() { delete(s.exists, name) })
		})
	}

	for _, o := range s.departing {
		deeds = append(deeds, func() bool {
			is := func(d map[string]any) bool { return metadataOf(d)["uid"] == metadataOf(o)["uid"] }
			if !slices.ContainsFunc(s.departing, is) { // It is observed again.
				return true
			}

			// The cache gets the deletion.
			metadataOf(o)["deletionTimestamp"] = deleted

			return s.provide(o, func() { s.departing = slices.DeleteFunc(s.departing, is) })
		})
	}

	s.rnd.Shuffle(len(deeds), func(i, j int) { deeds[i], deeds[j] = deeds[j], deeds[i] })

	done := false
	for _, d := range deeds {
		done = d() || done
	}

	return done
}

// Apply applies the Composition, the XR or both, and lives on for some steps.
func (s *imitation) Apply(composition, xr bool) {
	s.serial++

	if composition {
		s.input = s.session.Input(s.serial)
	}

	if xr {
		s.replace()
	}

	for range s.rnd.IntN(4) {
		s.live()
	}
}

// replace replaces the XR.
func (s *imitation) replace() {
	// Some replacements have no references.
	if s.rnd.IntN(5) == 0 {
		s.session.Notef("  the XR loses its references")

		for name, o := range s.exists {
			if metadataOf(o)["deletionTimestamp"] == nil && name != "machine" {
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

// Delete deletes an AnsibleRun as a user does.
func (s *imitation) Delete(called string) {
	metadataOf(s.exists[called])["deletionTimestamp"] = deleted
	s.session.Deleted(edits.RunOf(s.exists[called]))
}

// Pause pauses or resumes the XR.
func (s *imitation) Pause(on bool) { s.paused = on && s.rnd.IntN(6) == 0 }

// Settle lives on until there is nothing to do.
func (s *imitation) Settle() (bool, string) {
	s.doubts = s.rnd.IntN(4)

	for range 300 {
		if s.live() {
			continue
		}

		var runs []edits.Run

		for _, o := range s.exists {
			if isRun(o) {
				runs = append(runs, edits.RunOf(o))
			}
		}

		if why := s.session.Reached(runs, s.ready, s.message, true); why != "" {
			s.fail(why)
		}

		return s.ready, s.message
	}

	s.fail("it never ends")

	return false, ""
}

// TestEdits edits Compositions and XRs at random, and checks that
//   - only resources that an edit removes are removed, and dependents before their dependencies,
//   - no content runs twice for the same inputs,
//   - at the end, the state is that of the last edit, or a message says how to reach it.
func TestEdits(t *testing.T) {
	seen, function := map[string]int{}, newFunction(t)

	for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := &imitation{
				t: t, rnd: rand.New(rand.NewPCG(seed, 2)), function: function, seen: seen,
				exists: map[string]map[string]any{}, lost: map[string]bool{}, working: map[string]edits.Entry{}, applied: map[string]string{},
			}
			s.session = edits.New(seed, "/tmp", s.fail, edits.OfRequired, edits.OfEnvironment, edits.OfMachine)
			s.session.Walk(s, 12)
		})
	}

	// Random edits that do not reach all of these states prove too little.
	for _, reason := range []string{
		"Available", "Running", "Deleting", "Leaving", "RemovalHeld", "ValueNotSet", "InvalidValue", "ValuePending", "DependencyNotReady",
	} {
		if seen[reason] == 0 && *seeds >= 20 {
			t.Errorf("no XR became %s: %v", reason, seen)
		}
	}
}
