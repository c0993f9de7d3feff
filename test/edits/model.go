package edits

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A plan is a run in the input of the function: a single AnsibleRun, or a set with forEach.
type plan struct {
	// ID stays the same as long as previousNames or the name identify the run.
	ID   int
	Name string
	// Origin is a literal variable, which a rename keeps.
	Origin string
	// Thing is the target of a single run. The targets of a set are the ids of its items.
	Thing string
	// List of the XR that the runs of a set are made of, and the field of its items
	// that is their key; "" for a single run.
	List, Key string
	// Previous names; nil when they are not written.
	Previous []former
	// Literal part of the value. No number is used twice.
	Literal int
	// Computed is true when the value has a field of the XR, too.
	Computed bool
	// When is a toggle of the XR; "" for none.
	When string
	// AtMost is removal.atMost; negative for none.
	AtMost int
	// Keep is true for prune: false, Loose for usages: false.
	Keep, Loose bool
	// After are IDs of plans in dependsOn, Refs of those that variables refer to.
	After, Refs []int
}

// A former name of composed resources. With a Key it is that of a set, by a field of its items. With
// an Item it is that of a single run, which is one item of a set now.
type former struct{ Name, Key, Item string }

func (f former) of(i item) string {
	switch {
	case f.Key != "":
		return f.Name + "[" + i.field(f.Key) + "]"
	case f.Item != "" && f.Item != i.ID:
		return "none"
	}
	return f.Name
}

// text of the name in the Composition.
func (f former) text() string {
	switch {
	case f.Key != "":
		return f.Name + "[${each.value." + f.Key + "}]"
	case f.Item != "":
		return "${each.value.id == '" + f.Item + "' ? '" + f.Name + "' : 'none'}"
	}
	return f.Name
}

// An item of a list of the XR.
type item struct{ Name, ID string }

func (i item) field(name string) string {
	if name == "id" {
		return i.ID
	}
	return i.Name
}

// A state is what the Composition and the XR say.
type state struct {
	Plans []plan
	// Lists by name; one that is not there is missing.
	Lists map[string][]item
	// Toggles by name; one that is not there is missing.
	Toggles map[string]bool
	Value   int
	// Allowed removals of sets, by the name of the run.
	Allowed map[string]int
}

func (s state) clone() state {
	s.Plans = slices.Clone(s.Plans)
	s.Lists, s.Toggles, s.Allowed = maps.Clone(s.Lists), maps.Clone(s.Toggles), maps.Clone(s.Allowed)
	return s
}

// plan with an ID; nil for none.
func (s state) plan(id int) *plan {
	i := slices.IndexFunc(s.Plans, func(p plan) bool { return p.ID == id })
	if i < 0 {
		return nil
	}
	return &s.Plans[i]
}

// makes is true when the composed resource of a name is one of the plan.
func (p plan) makes(called string) bool {
	if p.List == "" {
		return p.Name == called
	}
	return strings.HasPrefix(called, p.Name+"[")
}

// was is true when previousNames of the plan have the set of a composed resource.
func (p plan) was(called string) bool {
	return slices.ContainsFunc(p.Previous, func(f former) bool { return f.Key != "" && strings.HasPrefix(called, f.Name+"[") })
}

// mayHaveHad is true for a set of which an item may have been called so.
func (p plan) mayHaveHad(called string) bool {
	return p.List != "" && (p.was(called) || slices.ContainsFunc(p.Previous, func(f former) bool { return f.Item != "" }))
}

func (p plan) value(s state) string {
	if p.Computed {
		return fmt.Sprintf("c%d.x%d", p.Literal, s.Value)
	}
	return fmt.Sprintf("c%d", p.Literal)
}

// A thing is an AnsibleRun of the model, with its target.
type thing struct {
	// Called is its composition resource name.
	Called string
	// Plan that it was rendered from last, and On, the plans that it depended on.
	Plan int
	On   []int
	// Key in its set, "" for a single run.
	Key string
	// Keep is the prune: false that it was rendered with last.
	Keep bool

	Origin, Thing, Value, Upstream, Form string
}

// mayHaveBeen is true for a thing that a plan may have made under another name, judging by what is
// literal in the plan.
func (p plan) mayHaveBeen(was thing) bool {
	value := was.Value == p.value(state{})
	if p.Computed {
		value = strings.HasPrefix(was.Value, fmt.Sprintf("c%d.x", p.Literal))
	}
	form := "single"
	if p.List != "" {
		form = "each"
	}
	return p.Previous == nil && p.Origin == was.Origin && form == was.Form && value && (p.List != "" || p.Thing == was.Thing) && (len(p.Refs) > 0 || was.Upstream == "none")
}

// inputs of the run, as the ledger has them.
func (o thing) inputs() string {
	return strings.Join([]string{o.Thing, o.Form, o.Value, o.Upstream}, " ")
}

// same is true for two things that differ only by name.
func (o thing) same(p thing) bool { return o.Origin == p.Origin && o.inputs() == p.inputs() }

// A world has all AnsibleRuns of an XR, by composition resource name.
type world map[string]thing

func (w world) String() string {
	var lines []string
	for _, called := range slices.Sorted(maps.Keys(w)) {
		o := w[called]
		lines = append(lines, fmt.Sprintf("%s: %s", called, o.inputs()))
	}
	return strings.Join(lines, "\n")
}

// id is different for different worlds, also for those that the API shows alike.
func (w world) id() string {
	var lines []string
	for _, called := range slices.Sorted(maps.Keys(w)) {
		lines = append(lines, fmt.Sprintf("%+v", w[called]))
	}
	return strings.Join(lines, "\n")
}

// A move from one world to another, in a state that stays the same.
type move struct {
	to world
	// gone are the targets that are removed, each with all targets that there are at that time.
	gone map[string][]string
	// held is true when an AnsibleRun waits for an edit.
	held bool
}

// settling computes the move from one world.
type settling struct {
	state state
	from  world
	to    world
	// runs are the names of existing AnsibleRuns, by the names that the Composition gives them now.
	runs   map[string]string
	wanted map[string]bool
	// off are plans that are not wanted, done are plans whose AnsibleRuns are as rendered.
	off, done map[int]bool
	// kept are things that stay because of prune: false.
	kept map[string]bool
	// fresh are things to create.
	fresh []thing
	// unknown are plans with AnsibleRuns to create that cannot be rendered yet.
	unknown []plan
	// skipped are plans without AnsibleRuns that refer to what is not wanted.
	skipped []plan

	held bool
	// uncertain are plans whose former names are not known.
	uncertain []plan
}

// step returns the move that the function makes from a world.
func step(s state, from world) move {
	l := &settling{state: s, from: from, to: maps.Clone(from), runs: map[string]string{}, wanted: map[string]bool{}, off: map[int]bool{}, done: map[int]bool{}, kept: map[string]bool{}}
	for called := range from {
		l.runs[called] = called
	}
	for _, p := range l.ordered() {
		l.look(p)
	}
	going := l.going()
	for _, o := range l.fresh {
		l.to[o.Called] = o
	}

	gone := map[string][]string{}
	for _, called := range going {
		delete(l.to, called)
	}
	for _, called := range going {
		for other := range from {
			gone[from[called].Thing] = append(gone[from[called].Thing], from[other].Thing)
		}
	}
	return move{to: l.to, gone: gone, held: l.held}
}

// ordered plans: each after those that it depends on.
func (l *settling) ordered() []plan {
	var out []plan
	seen := map[int]bool{}
	var visit func(p plan)
	visit = func(p plan) {
		if seen[p.ID] {
			return
		}
		seen[p.ID] = true
		for _, id := range slices.Concat(p.After, p.Refs) {
			visit(*l.state.plan(id))
		}
		out = append(out, p)
	}
	for _, p := range l.state.Plans {
		visit(p)
	}
	return out
}

// adopt an existing AnsibleRun by previousNames of its plan.
func (l *settling) adopt(p plan, resource string, i item) {
	if _, ok := l.runs[resource]; ok {
		return
	}
	for _, f := range p.Previous {
		if was := f.of(i); l.runs[was] == was {
			delete(l.runs, was)
			l.runs[resource] = was
			return
		}
	}
}

// keep all AnsibleRuns of a plan.
func (l *settling) keep(p plan) {
	l.held = true
	if l.runs[p.Name] == "" {
		l.unknown = append(l.unknown, p)
	}
	for resource, called := range l.runs {
		if p.makes(resource) || p.was(called) {
			l.wanted[called] = true
		}
	}
}

func (l *settling) look(p plan) {
	if p.List == "" {
		l.adopt(p, p.Name, item{})
	}
	if p.When != "" {
		on, ok := l.state.Toggles[p.When]
		if !ok {
			l.uncertain = append(l.uncertain, p)
			l.keep(p)
			return
		}
		if !on {
			l.off[p.ID], l.done[p.ID] = true, true
			return
		}
	}
	if p.List == "" {
		l.done[p.ID] = l.render(p, p.Name, "", p.Thing)
		return
	}

	items, ok := l.state.Lists[p.List]
	keys := map[string]bool{}
	for _, i := range items {
		ok = ok && !keys[i.field(p.Key)]
		keys[i.field(p.Key)] = true
	}
	if !ok {
		l.uncertain = append(l.uncertain, p)
		l.keep(p)
		return
	}
	done := true
	for _, i := range items {
		resource := p.Name + "[" + i.field(p.Key) + "]"
		l.adopt(p, resource, i)
		done = l.render(p, resource, i.field(p.Key), i.ID) && done
	}
	l.done[p.ID] = done
	// A set of which no member exists, and none is wanted, is not wanted as a whole.
	l.off[p.ID] = len(items) > 0 && l.skips(p) && !slices.ContainsFunc(items, func(i item) bool { return l.runs[p.Name+"["+i.field(p.Key)+"]"] != "" })
}

// skips is true when a plan refers to another one that is not wanted.
func (l *settling) skips(p plan) bool {
	return slices.ContainsFunc(p.Refs, func(id int) bool { return l.off[id] })
}

// render one run of a plan. It returns true when the AnsibleRun does not change.
func (l *settling) render(p plan, resource, key, id string) bool {
	called, exists := l.runs[resource]
	if exists {
		l.wanted[called] = true
	}
	if l.skips(p) {
		if exists {
			l.held = true
			return false
		}
		if p.List == "" {
			l.off[p.ID] = true
		}
		l.skipped = append(l.skipped, p)
		return true
	}
	for _, on := range slices.Concat(p.After, p.Refs) {
		if !l.done[on] {
			if !exists {
				l.unknown = append(l.unknown, p)
			}
			return false
		}
	}

	o := thing{Called: called, Plan: p.ID, Key: key, Keep: p.Keep, Origin: p.Origin, Thing: id, Value: p.value(l.state), Upstream: l.upstream(p), Form: "single"}
	if key != "" {
		o.Form = "each"
	}
	for _, on := range slices.Concat(p.After, p.Refs) {
		if !l.off[on] && !slices.Contains(o.On, on) {
			o.On = append(o.On, on)
		}
	}
	slices.Sort(o.On)
	if exists {
		// An AnsibleRun whose inputs stay the same stays ready.
		changed := fmt.Sprint(l.from[called]) != fmt.Sprint(o)
		l.to[called] = o
		return !changed
	}

	o.Called = resource
	l.fresh = append(l.fresh, o)
	return false
}

// upstream returns the outputs that a run takes from others.
func (l *settling) upstream(p plan) string {
	var parts []string
	for _, id := range p.Refs {
		on := *l.state.plan(id)
		byKey := map[string]string{}
		for _, called := range l.runs {
			if o := l.from[called]; o.Plan == id && l.wanted[called] {
				byKey[o.Key] = o.Thing + ":" + o.Value
			}
		}
		var values []string
		for _, key := range slices.Sorted(maps.Keys(byKey)) {
			values = append(values, byKey[key])
		}
		parts = append(parts, fmt.Sprintf("p%d=%s", on.ID, strings.Join(values, "+")))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, "/")
}

// going returns the names of the AnsibleRuns that are removed now.
func (l *settling) going() []string {
	resources := map[string]string{}
	for resource, called := range l.runs {
		resources[called] = resource
	}
	maker := func(called string) *plan {
		for i := range l.state.Plans {
			if l.state.Plans[i].makes(resources[called]) {
				return &l.state.Plans[i]
			}
		}
		// The AnsibleRun may still have the former name of its set.
		if p := l.state.plan(l.from[called].Plan); p != nil && p.was(called) {
			return p
		}
		return nil
	}

	held, declared := map[string]bool{}, map[string]bool{}
	for called, was := range l.from {
		declared[called] = slices.ContainsFunc(l.fresh, func(o thing) bool { return l.state.plan(o.Plan).Previous != nil && was.same(o) })
	}
	hold := func(may func(called string, was thing) bool) (found bool) {
		for called, was := range l.from {
			if !l.wanted[called] && may(called, was) {
				held[called], l.held, found = true, true, true
			}
		}
		return found
	}
	l.fresh = slices.DeleteFunc(l.fresh, func(o thing) bool {
		p := *l.state.plan(o.Plan)
		return p.Previous == nil && hold(func(_ string, was thing) bool { return was.same(o) }) ||
			hold(func(called string, was thing) bool {
				return maker(called) == nil && !declared[called] && p.mayHaveBeen(was)
			})
	})
	for _, p := range l.unknown {
		hold(func(called string, was thing) bool {
			m := maker(called)
			return (m == nil || m.ID == p.ID) && !declared[called] && p.mayHaveBeen(was)
		})
	}
	for _, p := range l.skipped {
		hold(func(called string, was thing) bool {
			return maker(called) == nil && !declared[called] && p.mayHaveBeen(was)
		})
	}
	going := l.bounded(held, maker)
	// A target is removed before it is created under another name.
	l.fresh = slices.DeleteFunc(l.fresh, func(o thing) bool {
		return slices.ContainsFunc(going, func(called string) bool { return l.from[called].Thing == o.Thing })
	})
	return l.ordering(going, maker)
}

// bounded returns those that may go, as far as the limits of the sets allow.
func (l *settling) bounded(held map[string]bool, maker func(called string) *plan) []string {
	var going []string
	leaving := map[int]int{}
	for _, called := range slices.Sorted(maps.Keys(l.from)) {
		if l.wanted[called] || held[called] {
			continue
		}
		p := maker(called)
		switch {
		case p == nil && slices.ContainsFunc(l.uncertain, func(p plan) bool { return p.mayHaveHad(called) }):
			l.held = true
			continue
		case p == nil && l.from[called].Keep, p != nil && p.Keep:
			l.kept[called] = true
			o := l.to[called]
			o.Keep = true
			l.to[called] = o
			continue
		}
		going = append(going, called)
		if p != nil {
			leaving[p.ID]++
		}
	}
	going = slices.DeleteFunc(going, func(called string) bool {
		p := maker(called)
		if p == nil || p.List == "" || p.AtMost < 0 || leaving[p.ID] <= max(p.AtMost, l.state.Allowed[p.Name]) {
			return false
		}
		l.held = true
		return true
	})
	return going
}

// ordering returns those that nothing depends on any more.
func (l *settling) ordering(going []string, maker func(called string) *plan) []string {
	blocked := func(called string) []string {
		var by []string
		for other, o := range l.from {
			if other == called || !l.dependsOn(o, maker(other), l.from[called].Plan) {
				continue
			}
			// A set can lose an item as soon as its dependents do not use it.
			p := maker(called)
			if p == nil || p.List == "" || !l.wanted[other] || !l.ready(other, maker(other)) {
				by = append(by, other)
			}
		}
		return by
	}
	circular := true
	var free []string
	for _, called := range going {
		by := blocked(called)
		if len(by) == 0 {
			free = append(free, called)
		}
		circular = circular && len(by) > 0 && !slices.ContainsFunc(by, func(other string) bool { return !slices.Contains(going, other) })
	}
	if circular {
		return going
	}

	// A thing with prune: false keeps what it depends on.
	for range going {
		for _, called := range going {
			by := blocked(called)
			l.kept[called] = l.kept[called] || slices.ContainsFunc(by, func(other string) bool { return l.kept[other] })
		}
	}
	l.held = l.held || slices.ContainsFunc(going, func(called string) bool { return !l.kept[called] && !slices.Contains(free, called) })
	return free
}

func (l *settling) dependsOn(o thing, p *plan, on int) bool {
	return slices.Contains(o.On, on) || p != nil && slices.Contains(p.Refs, on)
}

// ready is true for a thing that is as it would be rendered now.
func (l *settling) ready(called string, p *plan) bool {
	if p == nil || l.skips(*p) {
		return false
	}
	for _, on := range slices.Concat(p.After, p.Refs) {
		if !l.done[on] {
			return false
		}
	}
	return fmt.Sprint(l.to[called]) == fmt.Sprint(l.from[called])
}
