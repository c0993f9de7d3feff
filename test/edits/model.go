package edits

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A plan is a run in the input of the function: a single AnsibleRun, or a set with forEach.
type plan struct {
	// ID identifies the run across renames. AnsibleRuns have it in a label.
	ID   int
	Name string
	// Thing is the target of a single run. Those of a set are the ids of its items, after a Prefix.
	Thing, Prefix string
	// List of the XR for a set, or Of, the run with the list in its outputs. Key is the field of items with their key.
	List, Key string
	Of        int
	// Items of the outputs.
	Items []item
	// Previous names: nil if the field is missing, empty if the run is a new one. Form is the way to write them.
	Previous []former
	Form     int
	// Origin and Literal are unique numbers in literal variables. A rename keeps both.
	Origin, Literal int
	// Source of the computed part of the value; "" for none.
	Source string
	// When is a toggle of the XR; "" for none.
	When string
	// AtMost is removal.atMost; negative for none.
	AtMost int
	// Keep is true for prune: false, Loose for usages: false. A Keyed set refers to members with the same key.
	Keep, Loose, Keyed bool
	// After are the IDs of plans in dependsOn. Refs are those in variables.
	After, Refs []int
}

func (p plan) set() bool { return p.List != "" || p.Of != 0 }

// needs are the IDs of the direct dependencies of a plan.
func (p plan) needs() []int {
	all := slices.Concat(p.After, p.Refs)
	if p.Of != 0 {
		all = append(all, p.Of)
	}
	return all
}

func (p plan) thing(i item) string { return p.Prefix + i.ID }

// names that the AnsibleRun of an item may have.
func (p plan) names(i item) []string {
	all := []string{p.Name}
	if p.set() {
		all[0] += "[" + i.field(p.Key) + "]"
	}
	for _, f := range p.Previous {
		all = append(all, f.of(i))
	}
	return all
}

// paired is true for sets with members that depend on one another by key.
func (p plan) paired(on *plan) bool {
	return p.Keyed && p.set() && p.List == on.List && p.Of == on.Of && p.Key == on.Key
}

// A former name of AnsibleRuns. With a Key it belongs to a set, whose items have the key in this field. With an Item it
// belongs to a single run that has become this item of a set.
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

// Forms of previousNames: text with expressions, expressions alone, and expressions that need outputs.
const (
	formText = iota
	formComputed
	formOutputs
	forms
)

// text of the name in the Composition.
func (f former) text(form int, output string) string {
	computed := "'" + f.Name + "'"
	switch {
	case f.Item != "":
		return "${each.value.id == '" + f.Item + "' ? '" + f.Name + "' : 'none'}"
	case f.Key != "":
		computed = "'" + f.Name + "[' + each.value." + f.Key + " + ']'"
	}
	switch {
	case form == formOutputs && output != "":
		return "${" + output + " == '' ? 'none' : " + computed + "}"
	case form != formText:
		return "${" + computed + "}"
	case f.Key != "":
		return f.Name + "[${each.value." + f.Key + "}]"
	}
	return f.Name
}

// An item of a list.
type item struct{ Name, ID string }

func (i item) field(name string) string {
	if name == "id" {
		return i.ID
	}
	return i.Name
}

// A state is the content of the Composition, the XR, and the sources of values.
type state struct {
	Plans []plan
	// Lists by name. A nil one has a value that is no list.
	Lists map[string][]item
	// Toggles by name. A value that is no bool is unusable.
	Toggles map[string]any
	// Values of sources: an int, nil for a missing value, or an unusable one.
	Values map[string]any
	// Allowed removals of sets, by the name of the run.
	Allowed map[string]int
}

// plan with an ID; nil for none.
func (s state) plan(id int) *plan {
	i := slices.IndexFunc(s.Plans, func(p plan) bool { return p.ID == id })
	if i < 0 {
		return nil
	}
	return &s.Plans[i]
}

// items of a plan: one for a single run. The result is false while the items are unknown.
func (s state) items(p plan) ([]item, bool) {
	switch {
	case p.Of != 0:
		on := s.plan(p.Of)
		return on.Items, s.unknown(*on) == "" && !s.off(*on)
	case p.List == "":
		return []item{{ID: p.Thing}}, true
	}
	items := s.Lists[p.List]
	keys := map[string]bool{}
	for _, i := range items {
		keys[i.field(p.Key)] = true
	}
	return items, items != nil && len(keys) == len(items)
}

// unwanted is true for a plan that its own toggle turns off.
func (s state) unwanted(p plan) bool { return p.When != "" && s.Toggles[p.When] == false }

// skips is true for a plan that refers to one that is off.
func (s state) skips(p plan) bool {
	return p.Of != 0 && s.off(*s.plan(p.Of)) ||
		slices.ContainsFunc(p.Refs, func(id int) bool { return s.off(*s.plan(id)) })
}

// off is true for a plan that is not wanted, or that refers to one that is off.
func (s state) off(p plan) bool {
	if p.When != "" && s.Toggles[p.When] != true {
		return s.unwanted(p)
	}
	// A set without items refers to nothing.
	return s.skips(p) && (p.List == "" || len(s.Lists[p.List]) > 0)
}

// Reasons why a run is unknown.
const (
	noToggle = "toggle"
	noList   = "list"
	noValue  = "value"
)

// unknown is the reason why the AnsibleRuns of a plan are unknown; "" for none.
func (s state) unknown(p plan) string {
	if _, ok := s.Toggles[p.When].(bool); p.When != "" && !ok {
		return noToggle
	}
	if s.unwanted(p) {
		return ""
	}
	items, ok := s.items(p)
	if !ok {
		return noList
	}
	if _, ok := s.Values[p.Source].(int); p.Source != "" && !ok && len(items) > 0 {
		return noValue
	}
	return ""
}

// clear is true for a plan whose AnsibleRuns must match it as soon as no reconcile changes anything.
func (s state) clear(p plan) bool {
	return s.unknown(p) == "" && !s.off(p) && !s.skips(p) && !slices.ContainsFunc(p.needs(), func(id int) bool {
		on := *s.plan(id)
		return !s.off(on) && !s.clear(on)
	})
}

func (s state) value(p plan) string {
	if p.Source == "" {
		return fmt.Sprintf("c%d", p.Literal)
	}
	return fmt.Sprintf("c%d.x%v", p.Literal, s.Values[p.Source])
}

// upstream are the outputs that an item of a plan takes from others.
func (s state) upstream(p plan, of item) string {
	parts := []string{}
	for _, id := range p.Refs {
		on := s.plan(id)
		items, _ := s.items(*on)
		if p.paired(on) {
			items = []item{of}
		}
		var values []string
		for _, i := range slices.SortedFunc(slices.Values(items),
			func(a, b item) int { return cmp.Compare(a.field(on.Key), b.field(on.Key)) }) {
			values = append(values, on.thing(i)+":"+s.value(*on))
		}
		parts = append(parts, fmt.Sprintf("p%d=%s", id, strings.Join(values, "+")))
	}
	return cmp.Or(strings.Join(parts, "/"), "none")
}

// A ref is an AnsibleRun of the model.
type ref struct {
	ID    int
	Thing string
}

// A want is an AnsibleRun as a state wants it.
type want struct {
	Entry
	// names that it may have, its dependencies, and whether it must match the state in the end.
	names []string
	on    []ref
	clear bool
}

// wants are the AnsibleRuns that are wanted.
func (s state) wants() map[ref]want {
	all := map[ref]want{}
	for _, p := range s.Plans {
		if s.unwanted(p) || s.skips(p) || s.unknown(p) == noToggle {
			continue
		}
		items, ok := s.items(p)
		form := "single"
		if p.set() {
			form = "each"
		}
		for _, i := range items {
			e := Entry{Thing: p.thing(i), Form: form, Value: s.value(p), Upstream: s.upstream(p, i)}
			all[ref{p.ID, p.thing(i)}] = want{Entry: e, names: p.names(i), on: s.on(p, i), clear: ok && s.clear(p)}
		}
	}
	return all
}

// on returns what an item of a plan depends on.
func (s state) on(p plan, of item) (all []ref) {
	for _, id := range slices.Compact(slices.Sorted(slices.Values(p.needs()))) {
		on := s.plan(id)
		items, _ := s.items(*on)
		if p.paired(on) && !slices.Contains(p.After, id) {
			items = []item{of}
		}
		if s.off(*on) {
			continue
		}
		for _, i := range items {
			all = append(all, ref{id, on.thing(i)})
		}
	}
	return all
}

// leaves is true for an AnsibleRun that is certainly unwanted.
func (s state) leaves(r ref) bool {
	p := s.plan(r.ID)
	switch {
	case p == nil || s.unwanted(*p):
		return true
	case s.unknown(*p) == noToggle:
		return false
	}
	items, ok := s.items(*p)
	return ok && !slices.ContainsFunc(items, func(i item) bool { return p.thing(i) == r.Thing })
}

// tooMany is true if a set would lose more members than the limit allows.
func (s state) tooMany(p plan, there []ref) bool {
	leaving := 0
	for _, r := range there {
		if r.ID == p.ID && s.leaves(r) {
			leaving++
		}
	}
	return p.set() && p.AtMost >= 0 && !p.Keep && leaving > max(p.AtMost, s.Allowed[p.Name])
}

// A hold is a reason why an XR is not ready.
type hold struct {
	why string
	// says is the text in the message, and fix does what the text asks for.
	says string
	fix  func()
}

// holds are the reasons why the XR cannot become ready with these AnsibleRuns.
func (s *Session) holds(there map[ref]Run) (all []hold) {
	st, wants := s.state, s.state.wants()
	var refs []ref
	for r := range there {
		refs = append(refs, r)
	}
	for _, p := range st.Plans {
		add := func(why, says string, fix func()) { all = append(all, hold{p.Name + ": " + why, says, fix}) }
		exists := slices.ContainsFunc(refs, func(r ref) bool { return r.ID == p.ID })
		if st.tooMany(p, refs) {
			add("too many would leave", p.Name+": ", func() { s.state.Allowed[p.Name] = 9 })
		}
		switch why := st.unknown(p); {
		case why == noToggle:
			add("no toggle", p.Name+": when", func() { s.state.Toggles[p.When] = true })
			continue
		case st.unwanted(p):
			continue
		case why == noList && p.Of == 0:
			add("no list", p.Name+": ", func() { s.rightList(p.List) })
			continue
		case st.skips(p) && exists:
			add("refers to what is not wanted", "is not wanted any more", func() { s.need(p) })
		case why == noValue && !st.skips(p):
			add("no value", paths[p.Source], func() { s.state.Values[p.Source] = s.next() })
		}
		for r, o := range there {
			if w, ok := wants[r]; ok && r.ID == p.ID && !slices.Contains(w.names, o.Called) {
				add(o.Called+" may be "+w.names[0], "previousNames", s.tell)
				break
			}
		}
	}
	return all
}
