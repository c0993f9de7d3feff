package edits

import (
	"fmt"
	"maps"
	"slices"
)

// edit the Composition or the XR at random.
func (s *Session) edit() {
	// The function recognizes AnsibleRuns by some fields. These stay while a rename is not explained yet, and until the
	// old AnsibleRun of a renewed run is gone.
	harmless := []func(){s.addRun, s.addSet, s.changeDependsOn, s.changeAtMost, s.allow, s.keep}
	all := append([]func(){
		s.removeRun, s.rename, s.rename, s.eachOf, s.changeKey, s.changeLiteral, s.changeRefs, s.loosen, s.compute,
		s.changeWhen,
		s.changeValue, s.changeValue, s.turn, s.turn, s.changeItems, s.changeItems, s.changeItems,
	}, harmless...)
	switch {
	case s.pending != nil && s.Chance(2):
		s.tell()
		return
	case s.pending != nil || s.renewed:
		all = harmless
	case s.ready:
		all = append(all, s.renew, s.renew, s.renameUntold, s.changeKeyUntold, s.relabel)
	}
	s.ready = false
	all[s.rnd.IntN(len(all))]()
}

// obey does what the message of an XR that is not ready asks for.
func (s *Session) obey(message string) {
	s.Notef("obey")
	if m := asksForText.FindStringSubmatch(message); m != nil {
		s.change(func(p plan) bool { return p.Name == m[1] }, func(p *plan) { p.Form = formText })
		return
	}
	for _, h := range s.holds(s.there) {
		if h.in(message) {
			s.Notef("%s", h.why)
			h.fix()
			return
		}
	}
}

// tell makes up for a pending explanation of a rename.
func (s *Session) tell() {
	if s.pending != nil {
		s.pending()
		s.pending = nil
	}
}

// need turns on all plans that a plan refers to.
func (s *Session) need(p plan) {
	for _, id := range p.needs() {
		on := *s.state.plan(id)
		if on.When != "" {
			s.state.Toggles[on.When] = true
		}
		s.need(on)
	}
}

// rightList makes the value of a list valid, without duplicate items.
func (s *Session) rightList(name string) {
	var items []item
	for _, i := range s.state.Lists[name] {
		if !slices.Contains(items, i) {
			items = append(items, i)
		}
	}
	if items == nil {
		items = []item{s.newItem()}
	}
	s.state.Lists[name] = items
}

// pick a random plan that a function accepts; nil if there is none.
func (s *Session) pick(is func(p plan) bool) *plan {
	var of []int
	for i, p := range s.state.Plans {
		if is(p) {
			of = append(of, i)
		}
	}
	if len(of) == 0 {
		return nil
	}
	return &s.state.Plans[of[s.rnd.IntN(len(of))]]
}

// change a random plan that a function accepts.
func (s *Session) change(is func(p plan) bool, to func(p *plan)) {
	p := s.pick(is)
	if p == nil {
		return
	}
	was := fmt.Sprintf("%+v", *p)
	to(p)
	s.Notef("change %s\n    to %+v", was, *p)
}

// insert a plan at a random place. It may depend on any of the others, none of which depends on it yet.
func (s *Session) insert(p plan) {
	for _, on := range s.state.Plans {
		if !whole(on) {
			continue
		}
		switch s.rnd.IntN(5) {
		case 0:
			p.After = append(p.After, on.ID)
		case 1:
			p.Refs = append(p.Refs, on.ID)
		}
	}
	s.state.Plans = slices.Insert(s.state.Plans, s.rnd.IntN(len(s.state.Plans)+1), p)
	s.Notef("add %+v", p)
}

// room is true while another run can be added.
func (s *Session) room() bool {
	n := 0
	for _, p := range s.state.Plans {
		n += max(1, len(s.state.Lists[p.List]))
	}
	return n < 7
}

func (s *Session) newPlan() plan {
	id := s.next()
	p := plan{ID: id, Name: fmt.Sprintf("r%d", id), Origin: id, Literal: id, AtMost: -1, Keep: s.Chance(8)}
	if s.Chance(3) {
		p.Source = s.sources[s.Pick(len(s.sources))]
	}
	return p
}

func (s *Session) addRun() {
	if !s.room() {
		return
	}
	p := s.newPlan()
	p.Thing = fmt.Sprintf("t%d", p.ID)
	s.insert(p)
}

func (s *Session) newItem() item {
	n := s.next()
	return item{Name: fmt.Sprintf("n%d", n), ID: fmt.Sprintf("t%d", n)}
}

// addSet adds a set. Its list is one of the XR, that of another set, or an output of a run.
func (s *Session) addSet() {
	if !s.room() {
		return
	}
	p := s.newPlan()
	p.Key, p.Keyed = []string{fieldName, "id"}[s.rnd.IntN(2)], s.Chance(2)
	on := s.pick(whole)
	switch {
	case on != nil && on.List != "" && s.Chance(2):
		p.List, p.Key, p.Prefix = on.List, on.Key, fmt.Sprintf("p%d-", p.ID)
		p.Refs = append(p.Refs, on.ID)
	case on != nil && !on.set() && s.pending == nil && !s.renewed && s.Chance(3):
		p.Of, p.Prefix = on.ID, fmt.Sprintf("p%d-", p.ID)
		on.Items, on.Literal = []item{s.newItem(), s.newItem()}, s.next()
	default:
		p.List = fmt.Sprintf("l%d", p.ID)
		s.state.Lists[p.List] = []item{s.newItem(), s.newItem()}
	}
	s.insert(p)
	added := s.state.plan(p.ID)
	added.Refs = slices.Compact(slices.Sorted(slices.Values(added.Refs)))
}

// whole is true for a plan that was never a single run and then an item of a set. Such an item, once removed, looks
// like a run that was never in the set.
func whole(p plan) bool {
	return !slices.ContainsFunc(p.Previous, func(f former) bool { return f.Item != "" })
}

// alone is true for a plan without dependents.
func (s *Session) alone(id int) bool {
	return !slices.ContainsFunc(s.state.Plans, func(p plan) bool { return slices.Contains(p.needs(), id) })
}

func anyPlan(plan) bool { return true }

// removeRun removes a run from the Composition, with all references to it.
func (s *Session) removeRun() {
	if len(s.state.Plans) < 3 {
		return
	}
	gone := *s.pick(anyPlan)
	s.Notef("remove %s", gone.Name)
	is := func(on int) bool { return on == gone.ID }
	s.state.Plans = slices.DeleteFunc(s.state.Plans, func(p plan) bool { return is(p.ID) })
	for i := range s.state.Plans {
		p := &s.state.Plans[i]
		p.After, p.Refs = slices.DeleteFunc(p.After, is), slices.DeleteFunc(p.Refs, is)
		if is(p.Of) {
			p.Of, p.List = 0, fmt.Sprintf("l%d", s.next())
			s.state.Lists[p.List] = slices.Clone(gone.Items)
		}
	}
}

func formerly(p plan) []former {
	if !p.set() {
		return append([]former{{Name: p.Name}}, p.Previous...)
	}
	return append([]former{{Name: p.Name, Key: fieldName}, {Name: p.Name, Key: "id"}}, p.Previous...)
}

// form of previousNames. Not modelled: a name without literal text may mean any AnsibleRun. Such a set counts too many
// for removal.atMost, and does not know which of its own prune: false keeps.
func (s *Session) form(p plan) int {
	if p.AtMost >= 0 || p.Keep {
		return formText
	}
	return s.rnd.IntN(forms)
}

func (s *Session) rename() {
	s.change(anyPlan, func(p *plan) {
		p.Previous, p.Form = formerly(*p), s.form(*p)
		p.Name = fmt.Sprintf("r%d", s.next())
	})
}

// renew declares a run to be a new one, with a new name.
func (s *Session) renew() {
	s.change(func(p plan) bool { return whole(p) && !s.keeps() }, func(p *plan) {
		p.Name = fmt.Sprintf("r%d", s.next())
		s.another(p)
	})
}

// keeps is true while an AnsibleRun may be kept for good. Not modelled: a new run ignores it, and has the same target.
func (s *Session) keeps() bool {
	return slices.ContainsFunc(s.state.Plans, func(p plan) bool { return p.Keep }) ||
		slices.ContainsFunc(slices.Collect(maps.Values(s.start)), func(o Run) bool { return o.keep })
}

// another declares a plan to be a new run.
func (s *Session) another(p *plan) {
	was, is := p.ID, s.next()
	replace := func(list []int) {
		if i := slices.Index(list, was); i >= 0 {
			list[i] = is
		}
	}
	for i := range s.state.Plans {
		o := &s.state.Plans[i]
		replace(o.After)
		replace(o.Refs)
		if o.Of == was {
			o.Of = is
		}
	}
	p.ID, p.Previous = is, []former{}
	s.renewed = true
}

// renameUntold renames a run. A later edit declares whether the run is the same or a new one.
func (s *Session) renameUntold() {
	s.change(func(p plan) bool { return len(p.Previous) == 0 }, func(p *plan) {
		id, was := p.ID, *p
		p.Name, p.Previous = fmt.Sprintf("r%d", s.next()), nil
		s.pending = func() {
			s.change(func(p plan) bool { return p.ID == id }, func(p *plan) {
				if !s.keeps() && s.Chance(3) {
					s.another(p)
					return
				}
				p.Previous, p.Form = formerly(was), s.form(*p)
			})
		}
	})
}

// eachOf makes a set of a single run, which becomes its first item.
func (s *Session) eachOf() {
	if !s.room() {
		return
	}
	s.change(func(p plan) bool { return !p.set() && !p.Keep && p.When == "" && s.alone(p.ID) }, func(p *plan) {
		first := item{Name: fmt.Sprintf("n%d", s.next()), ID: p.Thing}
		var was []former
		for _, f := range formerly(*p) {
			was = append(was, former{Name: f.Name, Item: p.Thing})
		}
		p.Previous, p.Thing = was, ""
		if s.Chance(2) {
			p.Name = fmt.Sprintf("r%d", s.next())
		}
		p.List, p.Key = fmt.Sprintf("l%d", s.next()), []string{fieldName, "id"}[s.rnd.IntN(2)]
		s.state.Lists[p.List] = []item{first, s.newItem()}[:1+s.rnd.IntN(2)]
	})
}

// changeKey changes the key of a set, and adds its former names.
func (s *Session) changeKey() {
	s.change(plan.set, func(p *plan) { p.Previous, p.Key, p.Form = formerly(*p), otherKey(p.Key), s.form(*p) })
}

func otherKey(key string) string { return map[string]string{fieldName: "id", "id": fieldName}[key] }

// changeKeyUntold changes the key of a set. A later edit adds its previousNames.
func (s *Session) changeKeyUntold() {
	s.change(func(p plan) bool { return p.set() && p.Previous == nil }, func(p *plan) {
		id := p.ID
		p.Key = otherKey(p.Key)
		s.pending = func() {
			s.change(func(p plan) bool { return p.ID == id }, func(p *plan) { p.Previous = formerly(*p) })
		}
	})
}

func (s *Session) changeLiteral() {
	s.change(anyPlan, func(p *plan) { p.Literal = s.next() })
}

// toggled returns the list without the id if it is there, and otherwise with it.
func toggled(list []int, id int) []int {
	if i := slices.Index(list, id); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return append(list, id)
}

// depends is true if a plan depends on another one, perhaps indirectly.
func (s *Session) depends(p plan, id int) bool {
	return p.ID == id || slices.ContainsFunc(p.needs(), func(on int) bool { return s.depends(*s.state.plan(on), id) })
}

func (s *Session) changeDependsOn() {
	on := s.state.Plans[s.rnd.IntN(len(s.state.Plans))]
	s.change(func(p plan) bool { return whole(on) && !s.depends(on, p.ID) },
		func(p *plan) { p.After = toggled(p.After, on.ID) })
}

func (s *Session) changeRefs() {
	on := s.state.Plans[s.rnd.IntN(len(s.state.Plans))]
	s.change(func(p plan) bool { return whole(on) && !s.depends(on, p.ID) },
		func(p *plan) { p.Refs = toggled(p.Refs, on.ID) })
}

// keep turns prune: false of a plan on or off.
func (s *Session) keep() {
	s.change(func(p plan) bool { return whole(p) && p.Form == formText }, func(p *plan) { p.Keep = !p.Keep })
}

// loosen turns the Usages of a plan off or on.
func (s *Session) loosen() { s.change(anyPlan, func(p *plan) { p.Loose = !p.Loose }) }

// compute turns the computed part of the value of a plan on or off.
func (s *Session) compute() {
	s.change(anyPlan, func(p *plan) {
		p.Literal = s.next()
		if p.Source != "" {
			p.Source = ""
			return
		}
		p.Source = s.sources[s.Pick(len(s.sources))]
	})
}

func (s *Session) changeWhen() {
	s.change(func(p plan) bool { return whole(p) && (p.When == "" || s.state.Toggles[p.When] == true) }, func(p *plan) {
		if p.When != "" {
			p.When = ""
			return
		}
		p.When = fmt.Sprintf("w%d", s.next())
		s.state.Toggles[p.When] = true
	})
}

func (s *Session) changeAtMost() {
	s.change(func(p plan) bool { return p.set() && whole(p) && p.Form == formText },
		func(p *plan) { p.AtMost = s.rnd.IntN(3) - 1 })
}

// changeValue changes the value of a source, also to a missing or an unusable one.
func (s *Session) changeValue() {
	source := s.sources[s.Pick(len(s.sources))]
	s.state.Values[source] = []any{s.next(), s.next(), nil, map[string]any{"x": 1.0}}[s.Pick(4)]
	s.Notef("%s is %v", source, s.state.Values[source])
}

// turn a toggle on or off, or make it missing or unusable.
func (s *Session) turn() {
	p := s.pick(func(p plan) bool { return p.When != "" })
	if p == nil {
		s.changeWhen()
		return
	}
	was := s.state.Toggles[p.When]
	s.state.Toggles[p.When] = was != true
	switch s.Pick(8) {
	case 0:
		delete(s.state.Toggles, p.When)
	case 1:
		s.state.Toggles[p.When] = "text"
	}
	s.Notef("turn %s of %s: %v", p.When, p.Name, s.state.Toggles)
}

func (s *Session) changeItems() {
	p := s.pick(func(p plan) bool { return p.set() && whole(p) })
	if p == nil {
		return
	}
	items := s.state.Lists[p.List]
	if p.Of != 0 {
		items = s.state.plan(p.Of).Items
	}
	items = append([]item{}, items...)
	n := s.rnd.IntN(10)
	switch {
	case n < 3 && p.Of != 0:
		return
	case n == 0:
		s.state.Lists[p.List] = nil
		if s.Chance(2) {
			delete(s.state.Lists, p.List)
		}
		s.Notef("no list %s of %s", p.List, p.Name)
		return
	case n == 1:
		items = []item{}
	case n == 2 && len(items) > 0:
		items = append(items, items[0])
	case n < 6 && len(items) > 0:
		i := s.rnd.IntN(len(items))
		items = slices.Delete(items, i, i+1)
	case len(items) < 4 && s.room():
		items = slices.Insert(items, s.rnd.IntN(len(items)+1), s.newItem())
	default:
		return
	}
	s.Notef("list of %s is %v", p.Name, items)
	if p.Of != 0 {
		on := s.state.plan(p.Of)
		on.Items, on.Literal = items, s.next()
		return
	}
	s.state.Lists[p.List] = items
}

// relabel renames an item of a list, and so changes its key. The order of keys stays, since outputs of a set follow it.
func (s *Session) relabel() {
	p := s.pick(func(p plan) bool {
		return p.Key == fieldName && len(s.state.Lists[p.List]) > 0 &&
			!slices.ContainsFunc(s.state.Plans, func(o plan) bool { return o.List == p.List && o.Previous != nil })
	})
	if p == nil {
		return
	}
	list := p.List
	i := s.rnd.IntN(len(s.state.Lists[list]))
	was := s.state.Lists[list][i].Name
	name := func(was, is string) {
		for i := range s.state.Lists[list] {
			if s.state.Lists[list][i].Name == was {
				s.state.Lists[list][i].Name = is
			}
		}
		s.Notef("list %s is %v", list, s.state.Lists[list])
	}
	s.pending = func() { name(was+".x", was) }
	name(was, was+".x")
}

// allow removals of a set, or forbid them again.
func (s *Session) allow() {
	p := s.pick(func(p plan) bool { return p.AtMost >= 0 })
	if p == nil {
		return
	}
	if s.state.Allowed[p.Name] > 0 {
		delete(s.state.Allowed, p.Name)
	} else {
		s.state.Allowed[p.Name] = 5
	}
	s.Notef("allowed is %v", s.state.Allowed)
}
