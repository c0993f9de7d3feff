// Package edits changes a Composition and its XR at random. A model, which shares no code with the function, judges the
// removals and their order, the runs, and the objects at the end.
package edits

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A World is what a Session edits: Crossplane, or an imitation of it. It records the plays.
type World interface {
	// Apply the Composition, the XR, or both, as they are now.
	Apply(composition, xr bool)
	// Delete an AnsibleRun by hand, by its composition resource name.
	Delete(called string)
	// Pause some of the objects, or resume them.
	Pause(on bool)
	// Settle waits until no reconcile changes anything, and has Reached judge the result.
	Settle() (ready bool, message string)
}

// A Session edits one XR and its Composition, and judges the results.
type Session struct {
	// Directory with the ledger that plays write to.
	Directory string
	// Log of the edits and of the plays, for the reader of a failed test.
	Log []string

	fail  func(why string)
	rnd   *rand.Rand
	state state
	// serial is the last number of a name or a value. It makes each of them unique.
	serial int
	// ready is true if the XR was ready at the last rest, and no edit followed.
	ready bool
	// renewed is true from the declaration that a run is a new one until the XR is ready.
	renewed bool
	// sources of values beside the XR.
	sources []string
	// pending explains an earlier rename; nil for none.
	pending func()

	// start has the AnsibleRuns at the last rest, with their dependencies.
	start map[ref]Run
	// there are the AnsibleRuns that Reached saw last.
	there map[ref]Run
	// states since the last rest, the targets that were deleted by hand, and those that are gone.
	states        []state
	deleted, gone map[string]bool
	last          map[string]Entry
}

// Sources of values.
const (
	OfXR          = "value"
	OfRequired    = "required"
	OfEnvironment = "environment"
	OfMachine     = "machine"
)

var paths = map[string]string{ //nolint:gochecknoglobals // Go has no constant maps.
	OfXR: "xr.spec.value", OfRequired: "required.net", OfEnvironment: "environment", OfMachine: "machine",
}

// New returns a session with a Composition of a few runs. The seed decides the edits. Values come from the XR and other
// sources. The session reports errors to fail.
func New(seed uint64, directory string, fail func(why string), sources ...string) *Session {
	s := &Session{
		Directory: directory, fail: fail, sources: append(sources, OfXR), rnd: rand.New(rand.NewPCG(seed, 1)), //nolint:gosec // Not a secret.
		state: state{
			Lists: map[string][]item{}, Toggles: map[string]any{}, Allowed: map[string]int{},
			Values: map[string]any{},
		},
		start: map[ref]Run{}, deleted: map[string]bool{}, gone: map[string]bool{}, last: map[string]Entry{},
	}
	for _, source := range s.sources {
		s.state.Values[source] = s.next()
	}
	for range 3 {
		s.addRun()
	}
	s.addSet()
	return s
}

func (s *Session) next() int { s.serial++; return s.serial }

// Chance is true once in so many times.
func (s *Session) Chance(of int) bool { return s.rnd.IntN(of) == 0 }

// Pick one of so many.
func (s *Session) Pick(of int) int { return s.rnd.IntN(of) }

// Notef notes something in the log.
func (s *Session) Notef(format string, args ...any) {
	s.Log = append(s.Log, fmt.Sprintf(format, args...))
}

// Value of a source: an int, nil if it is missing, or an unusable value.
func (s *Session) Value(source string) any { return s.state.Values[source] }

// Walk through rounds of edits. Each round waits until all is settled. At the end, Walk does what the messages of the
// XR ask for until the XR is ready.
func (s *Session) Walk(w World, rounds int) {
	s.apply(w, func() {})
	ready, message := w.Settle()
	for range rounds {
		if free := s.deletable(); len(free) > 0 && s.Chance(6) {
			called := free[s.Pick(len(free))]
			s.Notef("delete %s by hand", called)
			w.Delete(called)
		}
		w.Pause(true)
		for range 1 + s.Pick(3) {
			s.apply(w, s.edit)
		}
		w.Pause(false)
		if ready, message = w.Settle(); !ready && s.Chance(3) {
			s.apply(w, func() { s.obey(message) })
			ready, message = w.Settle()
		}
	}
	for range 20 {
		if ready {
			return
		}
		s.apply(w, func() { s.obey(message) })
		ready, message = w.Settle()
	}
	s.fail("the XR does not become ready by what its messages ask for")
}

// apply an edit to the world.
func (s *Session) apply(w World, edit func()) {
	input, spec := fmt.Sprint(s.Input(0)), fmt.Sprint(s.Spec(0), s.Allowed(), s.state.Values)
	edit()
	composition, xr := fmt.Sprint(s.Input(0)) != input, fmt.Sprint(s.Spec(0), s.Allowed(), s.state.Values) != spec
	if len(s.states) == 0 {
		composition, xr = true, true
	}
	s.states = append(s.states, s.state.clone())
	w.Apply(composition, xr)
}

// clone shares no memory.
func (s state) clone() state {
	s.Plans = slices.Clone(s.Plans)
	for i := range s.Plans {
		p := &s.Plans[i]
		p.Items, p.After, p.Refs, p.Previous = slices.Clone(p.Items), slices.Clone(p.After), slices.Clone(
			p.Refs), slices.Clone(p.Previous)
	}
	s.Lists, s.Toggles, s.Values, s.Allowed = maps.Clone(s.Lists), maps.Clone(s.Toggles), maps.Clone(
		s.Values), maps.Clone(s.Allowed)
	for name, items := range s.Lists {
		s.Lists[name] = slices.Clone(items)
	}
	return s
}

// An Entry of the ledger.
type Entry struct {
	Thing, Form, Value, Upstream, State, Run string
	Begins                                   bool
}

// Inputs that the play was given.
func (l Entry) Inputs() string {
	return strings.Join([]string{l.Thing, l.Form, l.Value, l.Upstream}, " ")
}

func (l Entry) String() string {
	return fmt.Sprintf("%s %s of run %s, begins %t", l.Inputs(), l.State, l.Run, l.Begins)
}

// A Run is an AnsibleRun.
type Run struct {
	Entry
	// Called is its composition resource name.
	Called string
	id     int
	keep   bool
	// on is what it certainly depends on, and may what it may depend on.
	on, may []ref
}

func (o Run) ref() ref { return ref{o.id, o.Thing} }

// RunOf reads an AnsibleRun.
func RunOf(o map[string]any) Run {
	at := func(of any, path ...string) map[string]any {
		for _, name := range path {
			m, _ := of.(map[string]any)
			of = m[name]
		}
		m, _ := of.(map[string]any)
		return m
	}
	vars := maps.Clone(at(o, "spec", "forProvider", "vars"))
	if vars == nil {
		vars = map[string]any{}
	}
	maps.Copy(vars, at(o, "spec", "forProvider", "unsafeVars"))
	of := func(name string) string { return fmt.Sprint(vars[name]) }
	annotations := at(o, "metadata", "annotations")
	id, _ := strconv.Atoi(fmt.Sprint(at(o, "metadata", "labels")["plan"]))
	called, _ := annotations["crossplane.io/composition-resource-name"].(string)
	return Run{
		Entry:  Entry{Thing: of("thing"), Form: of("form"), Value: of("value"), Upstream: of("upstream")},
		Called: called, id: id, keep: annotations["ansible.fn.crossplane.io/prune"] == "never",
	}
}

// States that a play is run with.
const (
	present = "present"
	absent  = "absent"
)

// Record what a play has written to the ledger.
func (s *Session) Record(l Entry) {
	s.Notef("    %s", l)
	was, ok := s.last[l.Thing]
	s.last[l.Thing] = l

	switch {
	case !l.Begins && (!ok || was.Run != l.Run):
		s.fail(fmt.Sprintf("%s ends after %s", l, was))
	case !l.Begins:
		s.gone[l.Thing] = s.gone[l.Thing] || l.State == absent
	case l.State == present && ok && was.State == present && was.Inputs() == l.Inputs():
		s.fail(fmt.Sprintf("%s runs twice with the same inputs: after %s", l, was))
	case l.State == present && !s.said(l):
		s.fail(fmt.Sprintf("%s runs with inputs that no edit has asked for", l))
	case l.State == absent && (!ok || was.State != present):
		s.fail(fmt.Sprintf("%s is removed twice: after %s", l, was))
	case l.State == absent && !s.deleted[l.Thing]:
		s.last[l.Thing] = was
		s.removes(l.Thing)
		s.last[l.Thing] = l
	}
}

// owners of a target: the AnsibleRuns that it has had since the last rest.
func (s *Session) owners() map[string][]Run {
	all, seen := map[string][]Run{}, map[ref]bool{}
	add := func(r ref, o Run) {
		if !seen[r] {
			seen[r] = true
			all[r.Thing] = append(all[r.Thing], o)
		}
	}
	for r, o := range s.start {
		add(r, o)
	}
	for _, st := range s.states {
		for r, w := range st.wants() {
			add(r, Run{Entry: w.Entry, id: r.ID})
		}
	}
	return all
}

// said is true for inputs of an edit or of the AnsibleRun before.
func (s *Session) said(l Entry) bool {
	is := func(e Entry) bool { return e.Thing == l.Thing && e.Form == l.Form && e.Value == l.Value }
	if slices.ContainsFunc(s.owners()[l.Thing], func(o Run) bool { return is(o.Entry) }) {
		return true
	}
	return slices.ContainsFunc(s.states, func(st state) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(st.wants())), func(w want) bool { return is(w.Entry) })
	})
}

// asked is true for an AnsibleRun whose removal an edit has asked for.
func (s *Session) asked(r ref) bool {
	var there []ref
	for _, all := range s.owners() {
		for _, o := range all {
			if s.last[o.Thing].State == present {
				there = append(there, o.ref())
			}
		}
	}
	keep := s.start[r].keep
	for _, st := range s.states {
		p := st.plan(r.ID)
		if p != nil {
			keep = keep && p.Keep
		}
		if st.leaves(r) && (p == nil && !keep || p != nil && !p.Keep && !st.tooMany(*p, there)) {
			return true
		}
	}
	return false
}

// removes judges the removal of a target.
func (s *Session) removes(thing string) {
	owners := s.owners()[thing]
	i := slices.IndexFunc(owners, func(o Run) bool { return s.asked(o.ref()) })
	if i < 0 {
		s.fail(thing + " is removed, although no edit has asked for that")
		return
	}
	x := owners[i].ref()
	for y, o := range s.start {
		l := s.last[y.Thing]
		if y.Thing == thing || s.gone[y.Thing] {
			continue
		}
		if slices.Contains(o.on, x) && !s.reaches(x, y, map[ref]bool{}) && !s.released(y, x) {
			s.fail(fmt.Sprintf("%s is removed while %s, which depends on it, is there", thing, y.Thing))
		}
		uses := slices.Contains(strings.FieldsFunc(l.Upstream, func(c rune) bool { return strings.ContainsRune("=+:/", c) }),
			thing)
		if l.State == present && uses && len(owners) == 1 {
			s.fail(fmt.Sprintf("%s is removed while %s still uses it: %s", thing, y.Thing, l))
		}
	}
}

// released is true if an edit ends the dependency of y on x.
func (s *Session) released(y, x ref) bool {
	return slices.ContainsFunc(s.states, func(st state) bool {
		w, ok := st.wants()[y]
		// y waits for the AnsibleRun that replaces x.
		replaced := slices.ContainsFunc(w.on, func(r ref) bool { return r.Thing == x.Thing })
		return ok && (w.clear || replaced) && !slices.Contains(w.on, x)
	})
}

// reaches is true if an AnsibleRun depends on another one, perhaps indirectly.
func (s *Session) reaches(from, to ref, seen map[ref]bool) bool {
	if from == to || seen[from] {
		return from == to
	}
	seen[from] = true
	return slices.ContainsFunc(s.start[from].on, func(r ref) bool { return s.reaches(r, to, seen) })
}

// Must returns the rule for an AnsibleRun that is applied now: unchanged if fixed, otherwise after these targets.
func (s *Session) Must(o Run) (fixed bool, after []string) {
	p := s.state.plan(o.id)
	if w, ok := s.state.wants()[o.ref()]; ok && w.clear {
		for _, on := range w.on {
			after = append(after, on.Thing)
		}
		return !slices.Contains(w.names, o.Called), after
	}
	return p == nil || s.state.unknown(*p) != "" || s.state.off(*p) || s.state.leaves(o.ref()), nil
}

// resource matches a line of a message whose composition resource name differs from the name of the run.
var resource = regexp.MustCompile(`(?m)^(\S+) \(\S+\): `)

// in is true for a message that names the hold.
func (h hold) in(message string) bool {
	return strings.Contains(resource.ReplaceAllString(message, "$1: "), h.says)
}

var asksForText = regexp.MustCompile(`literal text beside the expressions in previousNames of ([a-z0-9]+)`)

// Reached judges the AnsibleRuns, and returns the first error; "" for none. The message of an XR that is not ready must
// give the reason. At rest, all edits must have taken effect.
func (s *Session) Reached(runs []Run, ready bool, message string, rest bool) string {
	there := map[ref]Run{}
	for _, o := range runs {
		if was, ok := there[o.ref()]; ok {
			return fmt.Sprintf("%s and %s are the same", o.Called, was.Called)
		}
		there[o.ref()] = o
	}
	s.there = there
	holds := s.holds(there)
	switch {
	case ready && len(holds) > 0:
		return fmt.Sprintf("the XR is ready, and %s", holds[0].why)
	case !ready && !slices.ContainsFunc(holds, func(h hold) bool { return h.in(message) }) &&
		!asksForText.MatchString(message):
		return fmt.Sprintf("the XR is not ready, and its message lacks the reason: %q, for %v", message, holds)
	}

	wants := s.state.wants()
	for r, w := range wants {
		o, ok := there[r]
		switch {
		case ok && w.clear && o.Inputs() != w.Inputs() && !asksForText.MatchString(message):
			return fmt.Sprintf("%s is not %s but %s", o.Called, w.Inputs(), o.Inputs())
		case !ok && ready:
			return fmt.Sprintf("there is no %s", w.names[0])
		}
	}
	stays := s.stays(there, wants)
	for r, o := range there {
		if _, ok := wants[r]; !ok && ready && !stays[r] {
			return o.Called + " is still there"
		}
	}
	if !rest {
		return ""
	}

	for r, o := range there {
		if l := s.last[o.Thing]; rest && (l.State != present || l.Inputs() != o.Inputs()) {
			return fmt.Sprintf("%s was not applied last with %q: got %s", o.Called, o.Inputs(), l)
		}
		o.on, o.may = s.dependencies(r)
		there[r] = o
	}
	s.start, s.states, s.deleted, s.gone, s.ready = there, []state{
		s.state.clone(),
	}, map[string]bool{}, map[string]bool{}, ready
	s.renewed = s.renewed && !ready
	s.Notef("at rest, ready %t: %s", ready, message)
	return ""
}

// stays are the AnsibleRuns that are kept for good, with their dependencies.
func (s *Session) stays(there map[ref]Run, wants map[ref]want) map[ref]bool {
	stays := map[ref]bool{}
	var stay func(r ref)
	stay = func(r ref) {
		if !stays[r] {
			stays[r] = true
			_, may := s.dependencies(r)
			for _, on := range may {
				stay(on)
			}
		}
	}
	for r, o := range there {
		p := s.state.plan(r.ID)
		if _, ok := wants[r]; !ok && (p == nil && o.keep || p != nil && p.Keep) {
			stay(r)
		}
	}
	return stays
}

// dependencies of an AnsibleRun: those that are certain, and those that are possible. While it differs from the state,
// any edit since the last rest may be the one that was applied.
func (s *Session) dependencies(r ref) (on, may []ref) {
	if w, ok := s.state.wants()[r]; ok && w.clear {
		return w.on, w.on
	}
	on, may = slices.Clone(s.start[r].on), slices.Clone(s.start[r].may)
	for _, st := range s.states {
		if w, ok := st.wants()[r]; ok && w.clear {
			on = slices.DeleteFunc(on, func(x ref) bool { return !slices.Contains(w.on, x) })
			may = append(may, w.on...)
		}
	}
	return on, may
}

// deletable are the composition resource names of AnsibleRuns without dependents.
func (s *Session) deletable() (free []string) {
	for r, o := range s.start {
		if !slices.ContainsFunc(slices.Collect(maps.Values(s.start)), func(by Run) bool {
			return slices.ContainsFunc(by.on, func(on ref) bool { return on.ID == r.ID })
		}) {
			free = append(free, o.Called)
		}
	}
	slices.Sort(free)
	return free
}

// Deleted tells the session that an AnsibleRun is deleted by hand.
func (s *Session) Deleted(o Run) { s.deleted[o.Thing] = true }

// Ended judges the entries of the ledger after the deletion of the XR.
func (s *Session) Ended(told []Entry) {
	gone := map[string]bool{}
	for _, l := range told {
		s.Notef("    %s", l)
		switch {
		case l.State == present:
			s.fail(fmt.Sprintf("%s while the XR is being deleted", l))
		case gone[l.Thing]:
			s.fail(fmt.Sprintf("%s is removed twice", l))
		}
		for y, o := range s.start {
			p := s.state.plan(y.ID)
			if l.State == absent && l.Begins && (p == nil || !p.Loose) && !gone[y.Thing] &&
				slices.ContainsFunc(o.on, func(x ref) bool { return x.Thing == l.Thing && !s.reaches(x, y, map[ref]bool{}) }) {
				s.fail(fmt.Sprintf("%s goes before %s, which depends on it", l.Thing, y.Thing))
			}
		}
		gone[l.Thing] = !l.Begins
	}
	for r := range s.start {
		if !gone[r.Thing] {
			s.fail(r.Thing + " is not removed")
		}
	}
}
