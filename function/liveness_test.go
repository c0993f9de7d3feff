package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

var (
	firstLife = flag.Uint64("liveness.seed", 20, "First seed of TestLiveness.")
	lives     = flag.Uint64("liveness.seeds", 17, "How many seeds of TestLiveness there are.")
)

// A lively run is one of the Compositions of TestLiveness.
type lively struct {
	// content is a literal variable, which stays as it is when the run is renamed. No two runs
	// have the same one.
	content int
	// serial is a label, which stays as it is as long as the run is the same one.
	serial int
	name   string
	// were are the names that it had, and form says how previousNames are written.
	were []string
	form string
	// literal and computed variables, and the items of its outputs.
	literal  int
	computed bool
	zones    []any
	// of is the run whose outputs have the list of a set, list the field of the XR that has it;
	// a single run has neither.
	of   *lively
	list string
	// refs are in variables, after in dependsOn.
	refs, after []*lively
	// keyed is true for one that refers to the members of its own key, where it can.
	keyed bool
	when  string
	keep  bool
}

func (l *lively) isSet() bool { return l.of != nil || l.list != "" }

// isPlain is true for a run that is always wanted.
func (l *lively) isPlain() bool { return !l.isSet() && l.when == "" && len(l.needs()) == 0 }

func (l *lively) needs() []*lively {
	all := slices.Concat(l.refs, l.after)
	if l.of != nil {
		all = append(all, l.of)
	}

	return all
}

// A life is an XR whose Composition is edited, with an imitation of core and of the provider.
type life struct {
	*world

	t        *testing.T
	function *Function
	runs     []*lively
	log      []string
	last     int
	// frozen is true while the content of runs must stay as it is: it is all by which the function
	// recognizes one that was renamed without a word. edited is true when it has changed since the
	// XR was ready.
	frozen, edited bool

	// observed is what core has observed last, and what the function has said of it.
	observed        *fnv1.State
	reason, message string
	ready           bool
}

func (l *life) failf(format string, args ...any) {
	l.t.Helper()

	var names []string

	for _, n := range slices.Sorted(maps.Keys(l.exists)) {
		if l.exists[n]["kind"] == "AnsibleRun" {
			names = append(names, n)
		}
	}

	l.t.Fatalf("%s\n%s\nruns:\n%sspec: %v\nthere is %v and, being deleted, %d\n%s: %s",
		strings.Join(l.log, "\n"), fmt.Sprintf(format, args...), l.text(), l.spec, names, len(l.departing), l.reason, l.message)
}

// text of the runs.
func (l *life) text() string {
	var text strings.Builder

	for _, r := range l.input()["runs"].([]any) {
		line, err := json.Marshal(r)
		if err != nil {
			l.t.Fatal(err)
		}

		text.Write(append(line, '\n'))
	}

	return text.String()
}

func (l *life) notef(format string, args ...any) { l.log = append(l.log, fmt.Sprintf(format, args...)) }

func (l *life) next() int { l.last++; return l.last }

// input of the function.
func (l *life) input() map[string]any {
	var runs []any

	for _, r := range l.runs {
		vars := map[string]any{"content": float64(r.content), "literal": float64(r.literal), "zones": r.zones}
		if r.computed {
			vars["size"] = "${xr.spec.size}"
		}

		if r.isSet() {
			vars["key"] = "${each.key}"
		}

		for i, on := range r.refs {
			e := "runs." + on.name + ".outputs.value"

			switch {
			case on.isSet() && r.keyed && r.list == on.list && r.of == on.of:
				e = "runs." + on.name + "[each.key].outputs.value"
			case on.isSet():
				e = "runs." + on.name + ".transformList(k, z, z.outputs.value)"
			}

			vars[fmt.Sprintf("ref%d", i)] = "${" + e + "}"
		}

		o := map[string]any{"name": r.name, "vars": vars, "labels": map[string]any{"serial": fmt.Sprint(r.serial)}}

		var after []any
		for _, on := range r.after {
			after = append(after, on.name)
		}

		if len(after) > 0 {
			o["dependsOn"] = after
		}

		switch {
		case r.of != nil:
			o["forEach"] = "${runs." + r.of.name + ".outputs.zones}"
		case r.list != "":
			o["forEach"] = "${xr.spec." + r.list + "}"
		}

		if r.when != "" {
			o["when"] = "${xr.spec." + r.when + "}"
		}

		if r.keep {
			o["prune"] = false
		}

		if names := r.previousNames(); names != nil {
			o["previousNames"] = names
		}

		runs = append(runs, o)
	}

	return map[string]any{"apiVersion": "ansible.fn.crossplane.io/v1alpha1", "kind": "AnsibleRuns", "defaults": map[string]any{"role": "a.b.c"}, "runs": runs}
}

// Forms of previousNames: none, an empty list, names, expressions that are nothing but a name, the
// same of what is a member now, and expressions that need the outputs of another run.
const (
	formUnsaid   = ""
	formNew      = "new"
	formLiteral  = "literal"
	formComputed = "computed"
	formSplit    = "split"
	formOutputs  = "outputs"
)

func (l *lively) previousNames() []any {
	switch {
	case l.form == formUnsaid:
		return nil
	case l.form == formSplit:
		return []any{"${each.key == 'a' ? '" + l.were[0] + "' : 'none'}"}
	case len(l.were) == 0 && l.form == formComputed && l.isSet():
		return []any{"${'none-' + each.key}"}
	case len(l.were) == 0 && l.form != formNew:
		return []any{"none-${xr.metadata.name}"}
	}

	names := []any{}

	for _, was := range l.were {
		literal, computed := was, "'"+was+"'"
		if l.isSet() {
			literal, computed = was+"[${each.key}]", "'"+was+"[' + each.key + ']'"
		}

		switch {
		case l.form == formLiteral:
			names = append(names, literal)
		case l.form == formOutputs && len(l.refs) > 0 && l.refs[0].isPlain():
			names = append(names, "${runs."+l.refs[0].name+".outputs.value == '' ? 'none' : "+computed+"}")
		default:
			names = append(names, "${"+computed+"}")
		}
	}

	return names
}

// compose as core does, and see what goes and what comes.
func (l *life) compose() (changed bool) {
	req := &fnv1.RunFunctionRequest{
		Input: structOf(l.input()),
		Observed: &fnv1.State{
			Composite: &fnv1.Resource{Resource: structOf(map[string]any{
				"apiVersion": "example.org/v1", "kind": "App", "metadata": map[string]any{"name": "app", "namespace": "default", "uid": "xr"}, "spec": l.spec,
			})},
			Resources: map[string]*fnv1.Resource{},
		},
	}

	observed := map[string]map[string]any{}
	for name, o := range l.exists {
		observed[name] = structOf(o).AsMap()
		req.Observed.Resources[name] = &fnv1.Resource{Resource: structOf(o)}
	}

	rsp := &fnv1.RunFunctionResponse{}

	for again := true; again; {
		was := rsp.GetRequirements()

		var err error
		if rsp, err = l.function.RunFunction(context.Background(), req); err != nil {
			l.t.Fatal(err)
		}

		req.RequiredResources, again = l.answer(rsp), !proto.Equal(was, rsp.GetRequirements())
	}

	for _, r := range rsp.GetResults() {
		if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
			l.failf("%s", r.GetMessage())
		}
	}

	if said := rsp.GetConditions()[0]; l.message != said.GetMessage() || l.reason != said.GetReason() {
		l.reason, l.message = said.GetReason(), said.GetMessage()
		l.notef("  %s: %s", l.reason, strings.ReplaceAll(l.message, "\n", "\n    "))
	}

	desired := rsp.GetDesired().GetResources()
	l.ready = rsp.GetConditions()[0].GetStatus() == fnv1.Status_STATUS_CONDITION_TRUE && rsp.GetDesired().GetComposite().GetReady() != fnv1.Ready_READY_FALSE

	for _, r := range desired {
		l.ready = l.ready && r.GetReady() == fnv1.Ready_READY_TRUE
	}

	for name, o := range observed {
		if desired[name] == nil && o["kind"] == "AnsibleRun" {
			l.notef("  core: delete %s", name)
			l.mayRemove(name, o, observed, desired)
		}
	}

	for name, r := range desired {
		if o := r.GetResource().AsMap(); observed[name] == nil && o["kind"] == "AnsibleRun" && uidOf(o) == nil {
			l.notef("  core: create %s", name)
			l.mayCreate(name, o, observed)
		}
	}

	l.apply(observed, desired)

	changed = !proto.Equal(req.GetObserved(), l.observed)
	l.observed = req.GetObserved()

	return changed
}

// variables of an AnsibleRun.
func variablesOf(o map[string]any) map[string]any {
	parameters := o["spec"].(map[string]any)["forProvider"].(map[string]any)
	vars, _ := parameters["vars"].(map[string]any)
	unsafe, _ := parameters["unsafeVars"].(map[string]any)

	return merge(unsafe, vars)
}

func serialOf(o map[string]any) string {
	labels, _ := o["metadata"].(map[string]any)["labels"].(map[string]any)
	serial, _ := labels["serial"].(string)

	return serial
}

func (l *life) bySerial(serial string) *lively {
	i := slices.IndexFunc(l.runs, func(r *lively) bool { return fmt.Sprint(r.serial) == serial })
	if i < 0 {
		return nil
	}

	return l.runs[i]
}

// wanted are the keys of the members of a set, and "" for a single run. It is false while nobody
// knows them.
func (l *life) wanted(r *lively) ([]any, bool) {
	if r.when != "" && l.spec[r.when] == false {
		return nil, true
	}

	switch {
	case r.list != "":
		list, ok := l.spec[r.list].([]any)
		return list, ok
	case r.of != nil:
		for _, o := range l.exists {
			if o["kind"] == "AnsibleRun" && serialOf(o) == fmt.Sprint(r.of.serial) {
				return r.of.zones, true
			}
		}

		return nil, false
	}

	return []any{""}, true
}

// mayRemove fails for what nobody has asked to remove, and for what others need.
func (l *life) mayRemove(name string, o map[string]any, observed map[string]map[string]any, desired map[string]*fnv1.Resource) {
	if r := l.bySerial(serialOf(o)); r != nil {
		key, _ := variablesOf(o)["key"].(string)
		if key == "" && r.form == formSplit {
			key = "a"
		}

		if keys, known := l.wanted(r); !known || slices.Contains(keys, any(key)) {
			l.failf("%s is removed, which nobody has asked for", name)
		}
	}

	// Nobody can know of one that was never applied, nor kept, with prune: false.
	unpruned := o["metadata"].(map[string]any)["annotations"].(map[string]any)["ansible.fn.crossplane.io/prune"] == "never"
	if r := l.bySerial(serialOf(o)); unpruned && (r == nil || r.keep) {
		l.failf("%s is removed despite prune: false", name)
	}

	for _, by := range slices.Concat(slices.Collect(maps.Values(observed)), l.departing) {
		if by["kind"] != "AnsibleRun" || !dependsOn(by, name) {
			continue
		}

		called := by["metadata"].(map[string]any)["annotations"].(map[string]any)["crossplane.io/composition-resource-name"].(string)
		if _, _, member := strings.Cut(name, "["); member && desired[called].GetReady() == fnv1.Ready_READY_TRUE {
			continue
		}

		if r := l.bySerial(serialOf(by)); r == nil || !l.awaitsNew(r) {
			l.failf("%s is removed before %s, which depends on it", name, called)
		}
	}
}

// awaitsNew is true for a run that needs one that is said to be new, and is not there.
func (l *life) awaitsNew(r *lively) bool {
	return slices.ContainsFunc(r.needs(), func(on *lively) bool {
		there := slices.ContainsFunc(slices.Collect(maps.Values(l.exists)), func(o map[string]any) bool {
			return o["kind"] == "AnsibleRun" && serialOf(o) == fmt.Sprint(on.serial)
		})

		return on.form == formNew && !there || l.awaitsNew(on)
	})
}

// mayCreate fails for what is created beside what it replaces.
func (l *life) mayCreate(name string, o map[string]any, observed map[string]map[string]any) {
	is := variablesOf(o)
	isLike := func(was map[string]any) bool {
		vars := variablesOf(was)

		return vars["content"] == is["content"] && vars["key"] == is["key"] && vars["literal"] == is["literal"] &&
			slices.Equal(slices.Sorted(maps.Keys(vars)), slices.Sorted(maps.Keys(is)))
	}

	for other, was := range observed {
		if was["kind"] == "AnsibleRun" && isLike(was) && !l.isRetained(other, was) {
			l.failf("%s is created beside %s", name, other)
		}
	}

	for _, was := range l.departing {
		if isLike(was) {
			l.failf("%s is created while %v is being deleted", name, was["metadata"])
		}
	}
}

// isRetained is true for an AnsibleRun that the function says stays for good.
func (l *life) isRetained(resource string, o map[string]any) bool {
	if r := l.bySerial(serialOf(o)); r != nil && !r.isSet() {
		resource = r.name
	}

	return strings.Contains(l.message, resource+": not wanted any more, and stays")
}

// provide does all that the provider has to do, or some of it.
func (l *life) provide(all bool) {
	for _, name := range slices.Sorted(maps.Keys(l.exists)) {
		o := l.exists[name]
		if o["kind"] != "AnsibleRun" || !all && l.rnd.IntN(2) == 0 {
			continue
		}

		metadata := o["metadata"].(map[string]any)
		if metadata["deletionTimestamp"] != nil {
			delete(l.exists, name)
			continue
		}

		vars := variablesOf(o)
		o["status"] = map[string]any{
			"atProvider": map[string]any{"outputs": map[string]any{"value": fmt.Sprint(vars["content"], vars["literal"], vars["size"]), "zones": vars["zones"]}},
			"conditions": []any{
				map[string]any{"type": "Ready", "status": "True", "observedGeneration": metadata["generation"]},
				map[string]any{"type": "Synced", "status": "True", "observedGeneration": metadata["generation"]},
			},
		}
	}

	l.departing = slices.DeleteFunc(l.departing, func(o map[string]any) bool {
		// A cache knows it at last.
		_, known := o["metadata"].(map[string]any)["deletionTimestamp"]
		o["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"

		return known && (all || l.rnd.IntN(2) == 0)
	})
}

// settle until nothing changes any more.
func (l *life) settle() {
	calm := 0

	for range 80 {
		l.provide(calm > 0 || l.rnd.IntN(3) == 0)

		if l.compose() || len(l.departing) > 0 {
			calm = 0
			continue
		}

		if calm++; calm > 1 {
			return
		}
	}

	l.failf("it never ends")
}

var (
	asksForNames = regexp.MustCompile(`(?m)^([a-z0-9]+)(?:\[[^]]*\])?: previousNames: ([a-z0-9]+)(\[[^]]*\])?, which is not wanted any more, has the same`)
	asksForText  = regexp.MustCompile(`(?m): previousNames: .*, or literal text beside the expressions in previousNames of ([a-z0-9]+)$`)
	asksForWhen  = regexp.MustCompile(`(?m)^([a-z0-9]+)(?:\[[^]]*\])?: [a-zA-Z0-9.]+: runs\.([a-z0-9]+) is not wanted any more; it stays as it is`)
)

func (l *life) named(name string) *lively {
	return l.runs[slices.IndexFunc(l.runs, func(r *lively) bool { return r.name == name })]
}

// obey what the function asks for. It is false when that is nothing.
func (l *life) obey() bool {
	if m := asksForNames.FindStringSubmatch(l.message); m != nil {
		r := l.named(m[1])
		was := slices.Contains(r.were, m[2])

		if was && r.form != formSplit && l.rnd.IntN(2) == 0 {
			r.form = oneOf(l.rnd, formLiteral, formComputed)
			l.notef("%s goes on with what it was", r.name)
		} else {
			r.form, r.were = formNew, nil
			l.notef("%s is a new one", r.name)

			// A member that has another key is a member all the same.
			if m[2] != r.name {
				r.serial = l.next()
			}
		}

		return true
	}

	if m := asksForText.FindStringSubmatch(l.message); m != nil {
		l.named(m[1]).form = formLiteral
		l.notef("%s has text in its previous names", m[1])

		return true
	}

	if m := asksForWhen.FindStringSubmatch(l.message); m != nil {
		l.notef("%s is wanted", m[2])
		l.want(l.named(m[2]))

		return true
	}

	return false
}

// want a run, and all that it needs.
func (l *life) want(r *lively) {
	if r.when != "" {
		l.spec[r.when] = true
	}

	for _, on := range r.needs() {
		l.want(on)
	}
}

// edit the Composition or the XR.
func (l *life) edit() {
	i := l.rnd.IntN(len(l.runs))
	r := l.runs[i]

	switch what := l.rnd.IntN(20); {
	case what < 2 && len(l.runs) < 6 || len(l.runs) < 3:
		l.add()
	case what < 4 && len(l.runs) > 3 && !l.frozen:
		l.edited = true
		l.remove(r)
	case what < 12:
		l.rename(r)
	case what < 13 && !l.frozen:
		r.literal, l.edited = l.next(), true
		l.notef("%s has the literal %d", r.name, r.literal)
	case what < 14:
		l.spec["size"] = float64(l.next())
		l.notef("the size is %v", l.spec["size"])
	case what < 15:
		l.spec["list"] = oneOf(l.rnd, []any{"a", "b"}, []any{"b"}, []any{"a", "c"}, []any{})
		l.notef("the list is %v", l.spec["list"])
	case what < 16:
		when := oneOf(l.rnd, "on", "off")
		l.spec[when] = oneOf(l.rnd, true, false)
		l.notef("%s is %v", when, l.spec[when])
	case what < 17:
		r.keep = !r.keep
		l.notef("prune: false of %s is %t", r.name, r.keep)
	case what < 18 && i > 0 && !l.frozen:
		r.after = []*lively{l.runs[l.rnd.IntN(i)]}
		l.notef("%s depends on %s", r.name, r.after[0].name)
	case what < 19 && r.form == formUnsaid && len(r.were) == 0:
		r.form = formComputed
		l.notef("%s has previous names that say nothing", r.name)
	case !r.isSet() && !l.frozen && l.rnd.IntN(2) == 0:
		if len(r.were) == 0 && !l.isListed(r) {
			l.split(r)
		}
	case r.isSet() && i > 0 && !l.frozen:
		if on := l.runs[l.rnd.IntN(i)]; !on.isSet() {
			r.of, r.list = on, ""
			l.notef("%s is of what %s lists", r.name, on.name)
		}
	}
}

// add a run.
func (l *life) add() {
	r := &lively{content: l.next(), serial: l.next(), literal: l.next(), zones: oneOf(l.rnd, []any{"a"}, []any{"a", "b"})}
	r.name = fmt.Sprintf("r%d", l.next())
	r.computed = l.rnd.IntN(2) == 0
	r.keep = l.rnd.IntN(10) == 0
	r.when = oneOf(l.rnd, "", "", "", "", "on", "off")

	for _, on := range l.runs {
		switch l.rnd.IntN(4) {
		case 0:
			r.refs = append(r.refs, on)
		case 1:
			r.after = append(r.after, on)
		case 2:
			if !on.isSet() && r.of == nil && l.rnd.IntN(2) == 0 {
				r.of = on
			}
		}
	}

	if r.of == nil && l.rnd.IntN(4) == 0 {
		r.list = "list"
	}

	r.keyed = l.rnd.IntN(2) == 0

	l.runs = append(l.runs, r)
	l.notef("new %s", r.name)
}

// remove a run from the Composition. The others do without it.
func (l *life) remove(r *lively) {
	l.runs = slices.DeleteFunc(l.runs, func(other *lively) bool { return other == r })
	is := func(other *lively) bool { return other == r }

	for _, other := range l.runs {
		other.refs, other.after = slices.DeleteFunc(other.refs, is), slices.DeleteFunc(other.after, is)

		if other.of == r {
			other.of, other.list = nil, "list"
		}
	}

	l.notef("no %s", r.name)
}

// isListed is true for a run whose outputs have the list of a set.
func (l *life) isListed(r *lively) bool {
	return slices.ContainsFunc(l.runs, func(other *lively) bool { return other.of == r })
}

// split a run: it becomes a member of a set.
func (l *life) split(r *lively) {
	r.name, r.were, r.form = fmt.Sprintf("r%d", l.next()), []string{r.name}, formSplit
	r.list, l.edited = "list", true
	l.notef("%s is the member a of %s, previousNames: %v", r.were[0], r.name, r.previousNames())
}

// rename a run.
func (l *life) rename(r *lively) {
	// The names of a single run would be those of sets.
	if r.form == formSplit {
		return
	}

	was := r.name
	r.name, r.were = fmt.Sprintf("r%d", l.next()), append(slices.Clone(r.were), r.name)
	r.form = oneOf(l.rnd, formUnsaid, formNew, formNew, formNew, formLiteral, formComputed, formComputed, formOutputs)

	if r.form == formUnsaid && l.edited {
		r.form = formLiteral
	}

	switch r.form {
	case formNew:
		r.serial, r.were = l.next(), nil
	case formUnsaid:
		l.frozen = true
	}

	l.notef("%s is %s now, previousNames: %v", was, r.name, r.previousNames())
}

// TestLiveness edits Compositions at random, and sees that all comes to an end: either the XR is
// ready, and all is gone that is to go, or there is a message that says what to write. Who does what
// the messages say has an XR that is ready at last.
func TestLiveness(t *testing.T) {
	f := newFunction(t)

	for seed := *firstLife; seed < *firstLife+*lives; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			l := &life{t: t, function: f, world: &world{
				rnd: rand.New(rand.NewPCG(seed, 3)), exists: map[string]map[string]any{},
				spec: map[string]any{"size": 1.0, "list": []any{"a", "b"}, "on": true, "off": true},
			}}
			for range 3 + l.rnd.IntN(2) {
				l.add()
			}

			for range 3 {
				l.live()
				l.notef("edited:")

				l.frozen, l.edited = false, false
				for range 1 + l.rnd.IntN(4) {
					l.edit()

					if l.rnd.IntN(3) == 0 {
						l.provide(false)
						l.compose()
					}
				}
			}

			l.live()
		})
	}
}

// live until the XR is ready.
func (l *life) live() {
	for range 12 {
		if l.settle(); l.ready {
			l.reached()
			return
		}

		if !l.obey() {
			l.failf("it hangs")
		}
	}

	l.failf("it does not help to do what the messages say")
}

// reached fails unless there is what is wanted, and what stays for good.
func (l *life) reached() {
	want, got := map[string]bool{}, map[string]bool{}

	for _, r := range l.runs {
		if l.isSkipped(r) {
			continue
		}

		keys, _ := l.wanted(r)
		for _, key := range keys {
			want[fmt.Sprintf("%d[%s]", r.serial, key)] = true
		}
	}

	for name, o := range l.exists {
		if o["kind"] == "AnsibleRun" && !l.isRetained(name, o) {
			key, _ := variablesOf(o)["key"].(string)
			got[fmt.Sprintf("%s[%s]", serialOf(o), key)] = true
		}
	}

	if !maps.Equal(want, got) {
		l.failf("there is %v, and there should be %v", got, want)
	}
}

// isSkipped is true for a run that is not wanted, also because it refers to one that is not.
func (l *life) isSkipped(r *lively) bool {
	return r.when != "" && l.spec[r.when] == false || r.of != nil && l.isSkipped(r.of) || slices.ContainsFunc(r.refs, l.isSkipped)
}
