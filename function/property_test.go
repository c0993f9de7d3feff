package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// inputWorld depends on everything that can be missing or change.
const inputWorld = `
apiVersion: ansible.fn.crossplane.io/v1alpha1
kind: AnsibleRuns
defaults: {role: a.b.c}
requiredResources:
  net: {apiVersion: v1, kind: ConfigMap, matchName: net}
runs:
- {name: last, dependsOn: [app]}
- {name: app, dependsOn: [zone], vars: {e: "${runs.database.outputs.x}"}}
- {name: database, when: "${xr.spec.database}", vars: {size: "${xr.spec.size + 1}"}}
- {name: zone, forEach: "${xr.spec.zones}", vars: {v: "${each.value}", n: "${required.net.data.x}", e: "${environment.e}", m: "${resources.machine.status.m}"}}
status: {x: "${runs.database.outputs.x}"}
`

// A world is an XR with all that core knows of it. It changes by chance, and by
// what the function wants.
type world struct {
	rnd *rand.Rand
	// without is the run that the Composition does not have.
	without  string
	spec     map[string]any
	required map[string]*fnv1.Resources
	// machine is true when an earlier step composes one.
	machine bool
	context map[string]any
	exists  map[string]map[string]any
	// departing is what core has deleted and does not observe any more.
	departing []map[string]any
	serial    int
	// calm steps that are left.
	calm int
}

// oneOf some values, by chance.
func oneOf[T any](rnd *rand.Rand, values ...T) T { return values[rnd.IntN(len(values))] }

// change the world.
func (w *world) change() {
	set := func(m map[string]any, k string, v any) {
		if v == nil {
			delete(m, k)
			return
		}

		m[k] = v
	}

	// Now and then somebody puts everything right, and leaves it at that.
	if w.rnd.IntN(12) == 0 {
		w.calm = 8
		w.without, w.required, w.context, w.machine = "", found(), environment(), true
		w.spec = map[string]any{"database": oneOf(w.rnd, true, true, false), "size": 1.0, "zones": []any{"a"}}
	}

	if w.calm--; w.calm > 0 {
		w.live(true)
		return
	}

	if w.rnd.IntN(8) == 0 {
		set(w.spec, "database", oneOf[any](w.rnd, true, true, false, false, nil, "yes"))
	}

	if w.rnd.IntN(8) == 0 {
		set(w.spec, "size", oneOf[any](w.rnd, 1.0, 1.0, 2.0, nil, "text"))
	}

	if w.rnd.IntN(6) == 0 {
		set(w.spec, "zones", oneOf[any](w.rnd, []any{"a", "b"}, []any{"b", "c"}, []any{}, []any{"a", "a"}, []any{"a", 1.0}, "text", nil, []any{"a"}, map[string]any{"a": 1.0, "d": "x"}))
	}

	if w.rnd.IntN(6) == 0 {
		w.required = oneOf(w.rnd, nil, map[string]*fnv1.Resources{"net": {}}, found(), found())
	}

	if w.rnd.IntN(6) == 0 {
		w.context = oneOf(w.rnd, nil, map[string]any{}, environment(), environment())
	}

	if w.rnd.IntN(8) == 0 {
		w.without = oneOf(w.rnd, "", "", "last", "app", "zone")
	}

	if w.rnd.IntN(8) == 0 {
		w.machine = oneOf(w.rnd, true, true, false)
	}

	w.live(false)
}

// live on with what exists, which may be well.
func (w *world) live(well bool) {
	for _, name := range slices.Sorted(maps.Keys(w.exists)) {
		o := w.exists[name]
		metadata := o["metadata"].(map[string]any)

		switch o["kind"] {
		case "AnsibleRun":
			w.work(o, well)
		case "Machine":
			o["status"] = map[string]any{"m": "x", "conditions": []any{map[string]any{"type": "Ready", "status": oneOf(w.rnd, "True", "True", "True", "False")}}}
			if well {
				o["status"].(map[string]any)["conditions"].([]any)[0].(map[string]any)["status"] = "True"
			}
		}

		// Somebody deletes it.
		if !well && w.rnd.IntN(60) == 0 {
			metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
		}

		// What is being deleted goes some time.
		if _, deleted := metadata["deletionTimestamp"]; deleted && w.rnd.IntN(2) == 0 {
			delete(w.exists, name)
		}
	}

	w.departing = slices.DeleteFunc(w.departing, func(map[string]any) bool { return w.rnd.IntN(3) == 0 })
}

func environment() map[string]any {
	return map[string]any{"apiextensions.crossplane.io/environment": map[string]any{"e": 1.0}}
}

// found is what core answers when there is what is required.
func found() map[string]*fnv1.Resources {
	return map[string]*fnv1.Resources{"net": {Items: []*fnv1.Resource{{Resource: structOf(map[string]any{"data": map[string]any{"x": "y"}})}}}}
}

// work on an AnsibleRun as the provider may.
func (w *world) work(o map[string]any, well bool) {
	if !well && w.rnd.IntN(3) == 0 {
		return
	}

	generation := o["metadata"].(map[string]any)["generation"]
	if !well && w.rnd.IntN(15) == 0 {
		generation = 0.0
	}

	status := func() string {
		if well {
			return "True"
		}

		return oneOf(w.rnd, "True", "True", "True", "True", "True", "True", "True", "True", "True", "False", "Unknown")
	}
	o["status"] = map[string]any{
		"atProvider": oneOf(w.rnd, map[string]any{}, map[string]any{"outputs": map[string]any{"x": "y"}}, map[string]any{"outputs": map[string]any{"x": "y"}}, map[string]any{"outputs": map[string]any{"x": "y"}}, map[string]any{"outputs": map[string]any{"x": "y"}}, map[string]any{"outputs": map[string]any{"x": "z"}}),
		"conditions": []any{
			map[string]any{"type": "Ready", "status": status(), "observedGeneration": generation},
			map[string]any{"type": "Synced", "status": status(), "observedGeneration": generation},
		},
	}
}

// observe the world, not always as a whole.
func (w *world) observe() map[string]map[string]any {
	observed := map[string]map[string]any{}

	for _, name := range slices.Sorted(maps.Keys(w.exists)) {
		if w.rnd.IntN(15) == 0 {
			continue
		}

		o := structOf(w.exists[name]).AsMap()
		if w.rnd.IntN(8) == 0 {
			delete(o["metadata"].(map[string]any), "managedFields")
		}

		observed[name] = o
	}

	return observed
}

// answer what is required.
func (w *world) answer(rsp *fnv1.RunFunctionResponse) map[string]*fnv1.Resources {
	all := maps.Clone(w.required)
	if all == nil {
		all = map[string]*fnv1.Resources{}
	}

	for name, selector := range rsp.GetRequirements().GetResources() {
		uid, ok := selector.GetMatchLabels().GetLabels()["ansible.fn.crossplane.io/composite-uid"]
		if !ok {
			continue
		}

		all[name] = &fnv1.Resources{}

		for _, o := range slices.Concat(slices.Collect(maps.Values(w.exists)), w.departing) {
			labels, _ := o["metadata"].(map[string]any)["labels"].(map[string]any)
			if o["kind"] == "AnsibleRun" && labels["ansible.fn.crossplane.io/composite-uid"] == uid {
				all[name].Items = append(all[name].Items, &fnv1.Resource{Resource: structOf(o)})
			}
		}
	}

	return all
}

// apply what the function wants, as core does: what was observed and is not
// wanted is deleted, and not observed any more. Nothing is applied when that is
// refused.
func (w *world) apply(observed map[string]map[string]any, desired map[string]*fnv1.Resource) bool {
	if !w.collect(observed, desired) {
		return false
	}

	for _, name := range slices.Sorted(maps.Keys(desired)) {
		o := desired[name].GetResource().AsMap()
		metadata := o["metadata"].(map[string]any)

		// A cache did not know of the deletion.
		if i := slices.IndexFunc(w.departing, func(d map[string]any) bool { return metadata["uid"] != nil && uidOf(d) == metadata["uid"] }); i >= 0 {
			w.departing[i]["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
			w.exists[name] = w.departing[i]
			w.departing = slices.Delete(w.departing, i, i+1)
		}

		// The API server refuses to create an object that is to have a uid.
		if w.exists[name] == nil && metadata["uid"] != nil {
			continue
		}

		labels, _ := metadata["labels"].(map[string]any)
		metadata["labels"] = merge(labels, map[string]any{"crossplane.io/composite": "app"})
		metadata["managedFields"] = []any{map[string]any{"manager": "apiextensions.crossplane.io/composed/x", "operation": "Apply", "fieldsV1": owned(o)}}
		metadata["namespace"] = "default"
		metadata["ownerReferences"] = []any{map[string]any{"uid": "xr", "controller": true}}

		annotations, _ := metadata["annotations"].(map[string]any)
		metadata["annotations"] = merge(annotations, map[string]any{"crossplane.io/composition-resource-name": name})

		was, ok := w.exists[name]
		if !ok {
			w.serial++
			metadata["name"] = fmt.Sprintf("object-%d", w.serial)
			metadata["uid"] = fmt.Sprintf("uid-%d", w.serial)
			metadata["generation"] = 1.0
			w.exists[name] = o

			continue
		}

		before := was["metadata"].(map[string]any)
		metadata["name"], metadata["uid"], metadata["generation"] = before["name"], before["uid"], before["generation"]

		if t, ok := before["deletionTimestamp"]; ok {
			metadata["deletionTimestamp"] = t
		}

		if !proto.Equal(structOf(map[string]any{"x": was["spec"]}), structOf(map[string]any{"x": o["spec"]})) {
			metadata["generation"] = before["generation"].(float64) + 1
		}

		if s, ok := was["status"]; ok {
			o["status"] = s
		}

		w.exists[name] = o
	}

	return true
}

// collect what is not wanted any more, in any order, until something is in use (false).
func (w *world) collect(observed map[string]map[string]any, desired map[string]*fnv1.Resource) bool {
	names := slices.Sorted(maps.Keys(observed))
	w.rnd.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })

	for _, name := range names {
		if _, ok := desired[name]; ok {
			continue
		}

		o := w.exists[name]
		if o["kind"] == "Machine" && w.isUsed(o) {
			return false
		}

		delete(w.exists, name)

		// Core takes its labels away from a Usage, so that it waits for nobody.
		if o["kind"] == "AnsibleRun" {
			// It takes its label away first. A cache may know neither yet.
			known := w.rnd.IntN(3)
			metadata := o["metadata"].(map[string]any)

			if known > 0 {
				delete(metadata["labels"].(map[string]any), "crossplane.io/composite")
			}

			if known > 1 {
				metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
			}

			w.departing = append(w.departing, o)
		}
	}

	return true
}

// isUsed is true while there is a Usage of an object.
func (w *world) isUsed(o map[string]any) bool {
	for _, u := range w.exists {
		if u["kind"] == "Usage" && u["spec"].(map[string]any)["of"].(map[string]any)["resourceRef"].(map[string]any)["name"] == o["metadata"].(map[string]any)["name"] {
			return true
		}
	}

	return false
}

func uidOf(o map[string]any) any { return o["metadata"].(map[string]any)["uid"] }

func merge(a, b map[string]any) map[string]any {
	out := maps.Clone(b)
	maps.Copy(out, a)

	return out
}

// owned fields of an object, as a FieldsV1 set.
func owned(o map[string]any) map[string]any {
	set := map[string]any{}

	for k, v := range o {
		switch v := v.(type) {
		case map[string]any:
			set["f:"+k] = owned(v)
		default:
			set["f:"+k] = map[string]any{}
		}
	}

	return set
}

func structOf(m map[string]any) *structpb.Struct {
	s, err := structpb.NewStruct(m)
	if err != nil {
		panic(err)
	}

	return s
}

// mayGo is true for runs that the XR or the Composition does not want.
func (w *world) mayGo(resource string) bool {
	name, key, member := strings.Cut(strings.TrimSuffix(resource, "]"), "[")

	switch {
	case name == w.without:
		return true
	case name == "database":
		return w.spec["database"] == false
	case !member:
		return false
	}

	switch zones := w.spec["zones"].(type) {
	case map[string]any:
		_, ok := zones[key]
		return !ok
	case []any:
		seen := map[any]bool{}

		for _, z := range zones {
			if _, ok := z.(string); !ok || seen[z] {
				return false
			}

			seen[z] = true
		}

		return !seen[key]
	}

	return false
}

// needless is true for runs that need not be created: app refers to database.
func (w *world) needless(resource string) bool {
	return w.mayGo(resource) || resource == "app" && w.spec["database"] == false
}

func (w *world) input(t *testing.T) *structpb.Struct {
	t.Helper()

	in := &structpb.Struct{}
	fromYAML(t, inputWorld, in)

	if w.without == "" {
		return in
	}

	runs := in.GetFields()["runs"].GetListValue()
	runs.Values = slices.DeleteFunc(runs.GetValues(), func(v *structpb.Value) bool {
		return v.GetStructValue().GetFields()["name"].GetStringValue() == w.without
	})

	// What is gone cannot be depended on.
	for _, v := range runs.GetValues() {
		f := v.GetStructValue().GetFields()
		if on := f["dependsOn"].GetListValue().GetValues(); len(on) > 0 && on[0].GetStringValue() == w.without {
			delete(f, "dependsOn")
		}
	}

	return in
}

// Whatever happens to an XR, in whatever order: see each check.
func TestSequences(t *testing.T) {
	f := newFunction(t)
	seen := map[string]int{}

	for seed := range uint64(60) {
		w := &world{rnd: rand.New(rand.NewPCG(seed, 1)), spec: map[string]any{"database": true, "size": 1.0, "zones": []any{"a", "b"}}, required: found(), machine: true, context: environment(), exists: map[string]map[string]any{}}

		for step := range 40 {
			w.change()

			at := fmt.Sprintf("seed %d, step %d", seed, step)
			observed := w.observe()
			req := &fnv1.RunFunctionRequest{
				Input:             w.input(t),
				RequiredResources: w.required,
				Observed: &fnv1.State{
					Composite: &fnv1.Resource{Resource: structOf(map[string]any{"apiVersion": "example.org/v1", "kind": "App", "metadata": map[string]any{"name": "app", "namespace": "default", "uid": "xr"}, "spec": w.spec})},
					Resources: map[string]*fnv1.Resource{},
				},
			}

			if w.context != nil {
				req.Context = structOf(w.context)
			}

			for name, o := range observed {
				req.Observed.Resources[name] = &fnv1.Resource{Resource: structOf(o)}
			}

			if w.machine {
				machine := structOf(map[string]any{"apiVersion": "cloud.example.org/v1", "kind": "Machine", "metadata": map[string]any{}})
				req.Desired = &fnv1.State{Resources: map[string]*fnv1.Resource{"machine": {Resource: machine}}}
			}

			rsp, err := f.RunFunction(context.Background(), proto.CloneOf(req))
			if err != nil {
				t.Fatalf("%s: %v", at, err)
			}

			// Core asks again until it is told the same.
			for calls := 1; ; calls++ {
				req.RequiredResources = w.answer(rsp)

				was := rsp.GetRequirements()
				if rsp, err = f.RunFunction(context.Background(), proto.CloneOf(req)); err != nil {
					t.Fatalf("%s: %v", at, err)
				}

				if proto.Equal(was, rsp.GetRequirements()) {
					break
				}

				if calls > 5 {
					t.Fatalf("%s: the requirements do not become stable: %v", at, rsp)
				}
			}

			again, err := f.RunFunction(context.Background(), proto.CloneOf(req))
			if err != nil || !proto.Equal(rsp, again) {
				t.Fatalf("%s: the same request has two responses: %v\n%v\n%v", at, err, rsp, again)
			}

			for _, r := range rsp.GetResults() {
				if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
					t.Fatalf("%s: %s", at, r.GetMessage())
				}
			}

			w.check(t, at, observed, rsp, seen)
			if !w.apply(observed, rsp.GetDesired().GetResources()) {
				seen["refused"]++
			}
		}
	}

	// The sequences are worth nothing when they do not lead everywhere.
	for _, what := range []string{"held", "gone", "stays", "created", "lost", "usage", "ready", "usage holds", "waits for the end", "holds a machine", "refused"} {
		if seen[what] == 0 {
			t.Errorf("there is too little that is %s: %v", what, seen)
		}
	}
}

// dependsOn is true for an AnsibleRun that was rendered after another one.
func dependsOn(o map[string]any, name string) bool {
	annotations, _ := o["metadata"].(map[string]any)["annotations"].(map[string]any)
	on, _ := annotations["ansible.fn.crossplane.io/depends-on"].(string)
	set, _, _ := strings.Cut(name, "[")

	return slices.Contains(strings.Split(on, ","), name) || slices.Contains(strings.Split(on, ","), set+"[]")
}

// check a response.
func (w *world) check(t *testing.T, at string, observed map[string]map[string]any, rsp *fnv1.RunFunctionResponse, seen map[string]int) {
	t.Helper()

	desired := rsp.GetDesired().GetResources()
	pending := rsp.GetDesired().GetComposite().GetReady() == fnv1.Ready_READY_FALSE

	for name, o := range observed {
		_, wanted := desired[name]
		if o["kind"] != "AnsibleRun" || wanted {
			continue
		}

		seen["gone"]++

		if !w.mayGo(name) {
			t.Errorf("%s: %s exists and was dropped: %v", at, name, rsp.GetConditions())
		}

		for _, d := range w.departing {
			if dependsOn(d, name) {
				t.Errorf("%s: %s was dropped while %v, which depends on it, is being deleted", at, name, d["metadata"])
			}
		}

		for other, u := range observed {
			// A set does without an item as soon as what depends on it does.
			_, _, item := strings.Cut(name, "[")
			if u["kind"] == "AnsibleRun" && dependsOn(u, name) && (!item || desired[other].GetReady() != fnv1.Ready_READY_TRUE) {
				t.Errorf("%s: %s was dropped while %s depends on it: %v", at, name, other, rsp.GetConditions())
			}

			if u["kind"] != "Usage" {
				continue
			}

			of := u["spec"].(map[string]any)["of"].(map[string]any)["resourceRef"].(map[string]any)["name"]
			if of == o["metadata"].(map[string]any)["name"] {
				t.Errorf("%s: %s was dropped while core would refuse to delete it", at, name)
			}
		}
	}

	for _, d := range w.departing {
		metadata := d["metadata"].(map[string]any)
		resource := metadata["annotations"].(map[string]any)["crossplane.io/composition-resource-name"].(string)

		if r, ok := desired[resource]; ok && uidOf(r.GetResource().AsMap()) != uidOf(d) {
			t.Errorf("%s: %s is applied while another one of its name is being deleted", at, resource)
		}

		for name, u := range observed {
			if dependsOn(d, name) {
				seen["waits for the end"]++
			}

			usage := resource + " uses " + name
			if _, ok := observed[usage]; (u["kind"] == "AnsibleRun" || name == "machine") && dependsOn(d, name) && ok && desired[usage] == nil {
				t.Errorf("%s: %q went before its user has", at, usage)
			}
		}
	}

	// What another step composes is held as long as there is a run that refers to it.
	for name, o := range observed {
		usage := name + " uses machine"
		if _, ok := observed[usage]; !ok || o["kind"] != "AnsibleRun" || observed["machine"] == nil {
			continue
		}

		seen["holds a machine"]++

		if desired[usage] == nil {
			t.Errorf("%s: %q went before its user", at, usage)
		}
	}

	for name, r := range desired {
		ready := r.GetReady() == fnv1.Ready_READY_TRUE

		switch o, exists := observed[name]; {
		case r.GetResource().GetFields()["kind"].GetStringValue() == "Usage":
			seen["usage"]++
		case exists && w.mayGo(name):
			seen["stays"]++

			if strings.Contains(rsp.GetConditions()[0].GetMessage(), " uses ") {
				seen["usage holds"]++
			}
		case exists && ready:
			seen["ready"]++

			if o["metadata"].(map[string]any)["deletionTimestamp"] != nil {
				t.Errorf("%s: %s is being deleted and said to be ready", at, name)
			}
		case uidOf(r.GetResource().AsMap()) != nil:
			seen["lost"]++
		case !exists:
			seen["created"]++

			if name == "app" && desired["database"].GetReady() != fnv1.Ready_READY_TRUE {
				t.Errorf("%s: app was created before database is ready", at)
			}

			if name == "last" && w.without != "app" && desired["app"].GetReady() != fnv1.Ready_READY_TRUE && !w.needless("app") {
				t.Errorf("%s: last was created before app is ready", at)
			}
		}
	}

	for _, name := range []string{"database", "app", "last"} {
		if _, ok := desired[name]; !ok && name != w.without && !w.needless(name) && !pending {
			t.Errorf("%s: %s is not there, and the XR is not said to be unready", at, name)
		}
	}

	switch rsp.GetConditions()[0].GetReason() {
	case "InvalidValue", "ValueNotSet", "ValuePending", "DependencyNotReady":
		seen["held"]++

		if !pending {
			t.Errorf("%s: something is held, and the XR is not said to be unready: %v", at, rsp.GetConditions())
		}
	}
}
