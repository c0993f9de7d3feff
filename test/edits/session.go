// Package edits changes a Composition and its XR at random, and predicts the AnsibleRuns that
// follow: which exist in the end, which may be removed on the way, and in which order. The
// predictions come from a model that shares no code with the function.
package edits

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// A Session edits one XR and its Composition, and judges what becomes of them.
type Session struct {
	// Directory with the ledger that plays write to.
	Directory string
	// Log of the edits and of the plays, for whoever reads a failed test.
	Log []string

	rnd   *rand.Rand
	state state
	// serial is the last number given to a name or a value, so that none is there twice.
	serial int
	// settled is true when no AnsibleRun waits for another one.
	settled bool
	// pending adds the previousNames that an edit has left out; nil for none.
	pending func() (composition, xr bool)

	// start has the AnsibleRuns as they were when they had settled last.
	start world
	// worlds that are possible since then, and the moves between them.
	worlds map[string]world
	moves  []move
	// deleted are the things that were deleted by hand since then.
	deleted map[string]bool
	last    map[string]Entry
}

// New returns a session whose edits a seed decides, with a Composition of a few runs.
func New(seed uint64, directory string) *Session {
	s := &Session{
		Directory: directory, rnd: rand.New(rand.NewPCG(seed, 1)), //nolint:gosec // Not a secret.
		state: state{Lists: map[string][]item{}, Toggles: map[string]bool{}, Allowed: map[string]int{}},
		start: world{}, deleted: map[string]bool{}, last: map[string]Entry{},
	}
	s.worlds = map[string]world{s.start.id(): s.start}
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

// Edit the Composition or the XR at random, and return which of them was edited. The edit takes
// effect with Applied.
func (s *Session) Edit() (composition, xr bool) {
	// While previousNames are missing, the fields stay by which the function recognizes the runs.
	harmless := []func() (composition, xr bool){s.addRun, s.addSet, s.changeDependsOn, s.changeAtMost, s.allow, s.keep}
	all := append([]func() (composition, xr bool){
		s.removeRun, s.rename, s.eachOf, s.changeKey, s.changeLiteral, s.changeRefs, s.loosen, s.compute, s.changeWhen, s.changeValue,
		s.turn, s.turn, s.changeItems, s.changeItems, s.changeItems,
	}, harmless...)

	switch {
	case s.pending != nil && s.Chance(2):
		composition, xr = s.pending()
		s.pending = nil
		return composition, xr
	case s.pending != nil:
		all = harmless
	case s.settled:
		all = append(all, s.renameUndeclared, s.changeKeyUndeclared, s.relabel)
	}
	s.settled = false
	for range 100 {
		if composition, xr := all[s.rnd.IntN(len(all))](); composition || xr {
			return composition, xr
		}
	}
	return false, false
}

// playbook writes to the ledger when it begins and ends, with its variables.
const playbook = `- hosts: localhost
  gather_facts: false
  tasks:
  - ansible.builtin.shell: |
      echo {{ line }} begins >> {{ ledger }}
      sleep 0.2
      echo {{ line }} ends >> {{ ledger }}
    vars:
      ledger: "{{ (directory ~ '/ledger') | quote }}"
      line: "{{ [thing, form, value, upstream, ansible_provider_meta.managed_resource.state, ansible_provider_meta.run.id] | map('quote') | join(' ') }}"
  - ansible.builtin.set_stats: {data: {value: "{{ thing }}:{{ value }}"}}
`

// States that a play is run with.
const (
	present = "present"
	absent  = "absent"
)

// fieldName of runs, items and metadata.
const fieldName = "name"

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

// Applied adds the worlds that the present state can lead to.
func (s *Session) Applied() {
	for _, w := range slices.Collect(maps.Values(s.worlds)) {
		for range 100 {
			m := step(s.state, w)
			s.moves = append(s.moves, m)
			if m.to.id() == w.id() {
				break
			}
			w = m.to
			s.worlds[w.id()] = w

			for called, o := range w {
				if s.deleted[o.Thing] { // It may still be going.
					without := maps.Clone(w)
					delete(without, called)
					s.worlds[without.id()] = without
				}
			}
		}
	}
}

// Record what a play has written to the ledger, and return what is wrong with it.
func (s *Session) Record(l Entry) []string {
	s.Notef("    %s", l)
	was, ok := s.last[l.Thing]
	s.last[l.Thing] = l

	switch {
	case !l.Begins && (!ok || was.Run != l.Run):
		return []string{fmt.Sprintf("%s ends after %s", l, was)}
	case !l.Begins:
		return nil
	case l.State == present && ok && was.State == present && was.Inputs() == l.Inputs():
		return []string{fmt.Sprintf("%s runs twice with the same inputs: after %s", l, was)}
	case l.State == absent && (!ok || was.State != present):
		return []string{fmt.Sprintf("%s is removed twice: after %s", l, was)}
	case l.State == absent:
		return s.removes(l.Thing)
	}
	return nil
}

// removes says what is wrong with the removal of a thing.
func (s *Session) removes(id string) (wrong []string) {
	if s.deleted[id] {
		return nil
	}
	asked := false
	with := map[string]bool{}
	for _, m := range s.moves {
		others, ok := m.gone[id]
		asked = asked || ok
		for _, o := range others {
			with[o] = true
		}
	}
	if !asked {
		return []string{id + " is removed, although no edit has asked for that"}
	}

	plan := -1
	for _, o := range s.start {
		if o.Thing == id {
			plan = o.Plan
		}
	}
	for _, called := range slices.Sorted(maps.Keys(s.start)) {
		o := s.start[called]
		l := s.last[o.Thing]
		if o.Thing == id || l.State == absent && !l.Begins {
			continue
		}
		if slices.Contains(o.On, plan) && !with[o.Thing] {
			wrong = append(wrong, fmt.Sprintf("%s is removed while %s, which depends on it, is there", id, o.Thing))
		}
		if l.State == present && slices.Contains(strings.FieldsFunc(l.Upstream, func(c rune) bool { return strings.ContainsRune("=+:/", c) }), id) {
			wrong = append(wrong, fmt.Sprintf("%s is removed while %s still uses it: %s", id, o.Thing, l))
		}
	}
	return wrong
}

// Reached is true for the worlds that it may come to, given as what there is by
// composition resource names, and whether the XR is ready. The session continues from
// there.
func (s *Session) Reached(got map[string]Entry, ready bool) (why string, ok bool) {
	var lines []string
	for _, called := range slices.Sorted(maps.Keys(got)) {
		lines = append(lines, called+": "+got[called].Inputs())
	}
	is := strings.Join(lines, "\n")
	why = "there is\n" + is

	// Several may look alike.
	reached := map[string]world{}
	for _, id := range slices.Sorted(maps.Keys(s.worlds)) {
		m := step(s.state, s.worlds[id])
		switch {
		case m.to.id() != id:
		case m.to.String() != is:
			why += "\nand not\n" + m.to.String()
		case ready == m.held:
			why += fmt.Sprintf("\nand that the XR is ready is %t", ready)
		default:
			s.start = m.to
			reached[id] = m.to
		}
	}
	if len(reached) == 0 {
		return why, false
	}
	s.settled, s.worlds, s.moves, s.deleted = ready, reached, nil, map[string]bool{}
	s.Notef("settled, ready %t:\n%s", ready, s.start)
	return "", true
}

// Unapplied says what is wrong with the last runs of what there is now.
func (s *Session) Unapplied() (wrong []string) {
	for _, o := range s.start {
		if l := s.last[o.Thing]; l.State != present || l.Inputs() != o.inputs() {
			wrong = append(wrong, fmt.Sprintf("%s was not applied last with %q: got %s", o.Called, o.inputs(), l))
		}
	}
	return wrong
}

// Deletable are the composition resource names of AnsibleRuns that nothing depends
// on.
func (s *Session) Deletable() []string {
	var free []string
	for _, called := range slices.Sorted(maps.Keys(s.start)) {
		if !slices.ContainsFunc(slices.Collect(maps.Values(s.start)), func(o thing) bool { return slices.Contains(o.On, s.start[called].Plan) }) {
			free = append(free, called)
		}
	}
	return free
}

// Deleted says that an AnsibleRun was deleted by hand, by its composition resource name.
func (s *Session) Deleted(called string) {
	s.Notef("delete %s by hand", called)
	s.deleted[s.start[called].Thing] = true
	without := maps.Clone(s.start)
	delete(without, called)
	s.worlds[without.id()] = without
	s.Applied()
}

// Ended returns what is wrong with the entries of the ledger since the XR was deleted.
func (s *Session) Ended(told []Entry) (wrong []string) {
	gone := map[string]bool{}
	for _, l := range told {
		s.Notef("    %s", l)
		switch {
		case l.State == present:
			wrong = append(wrong, fmt.Sprintf("%s while the XR is being deleted", l))
		case !l.Begins:
			gone[l.Thing] = true
		case gone[l.Thing]:
			wrong = append(wrong, fmt.Sprintf("%s is removed twice", l))
		}
		for _, o := range s.start {
			p := s.state.plan(o.Plan)
			for _, of := range s.start {
				if l.Begins && of.Thing == l.Thing && slices.Contains(o.On, of.Plan) && !slices.Contains(of.On, o.Plan) && (p == nil || !p.Loose) && !gone[o.Thing] {
					wrong = append(wrong, fmt.Sprintf("%s goes before %s, which depends on it", of.Thing, o.Thing))
				}
			}
		}
	}
	for _, o := range s.start {
		if !gone[o.Thing] {
			wrong = append(wrong, o.Thing+" is not removed")
		}
	}
	return wrong
}

// Input of the function. It writes the number of its step to the status of the XR.
func (s *Session) Input(step int) map[string]any {
	runs := make([]any, 0, len(s.state.Plans))
	for _, p := range s.state.Plans {
		vars := map[string]any{
			"directory": s.Directory, "origin": p.Origin, "thing": p.Thing, "form": "single", "upstream": "none", "value": fmt.Sprintf("c%d", p.Literal),
		}
		run := map[string]any{fieldName: p.Name, "vars": vars}
		if p.Computed {
			vars["value"] = fmt.Sprintf("c%d.x${string(xr.spec.value)}", p.Literal)
		}
		if p.List != "" {
			vars["thing"], vars["form"] = "${each.value.id}", "each"
			run["forEach"], run["forEachKey"] = "${xr.spec.lists."+p.List+"}", "${each.value."+p.Key+"}"
			if p.AtMost >= 0 {
				run["removal"] = map[string]any{"atMost": p.AtMost}
			}
		}
		if p.When != "" {
			run["when"] = "${xr.spec.toggles." + p.When + "}"
		}
		if p.Previous != nil {
			names := []any{}
			for _, f := range p.Previous {
				names = append(names, f.text())
			}
			run["previousNames"] = names
		}
		if p.Keep {
			run["prune"] = false
		}
		if p.Loose {
			run["usages"] = false
		}
		after := []any{}
		for _, id := range p.After {
			after = append(after, s.state.plan(id).Name)
		}
		if len(after) > 0 {
			run["dependsOn"] = after
		}
		var up []string
		for _, id := range p.Refs {
			on := s.state.plan(id)
			value := "runs." + on.Name + ".outputs.value"
			if on.List != "" {
				value = "runs." + on.Name + ".transformList(k, r, r.outputs.value).join('+')"
			}
			up = append(up, fmt.Sprintf("p%d=${%s}", id, value))
		}
		if len(up) > 0 {
			vars["upstream"] = strings.Join(up, "/")
		}
		runs = append(runs, run)
	}
	return map[string]any{
		"apiVersion": "ansible.fn.crossplane.io/v1alpha1", "kind": "AnsibleRuns",
		"defaults": map[string]any{
			"runPolicy": "RunOnChange", "providerConfigRef": map[string]any{"kind": "ProviderConfig", fieldName: "default"}, "playbookInline": playbook,
		},
		"runs":   runs,
		"status": map[string]any{"composition": step, "xr": "${xr.spec.step}"},
	}
}

// Spec of the XR, with the number of its step.
func (s *Session) Spec(step int) map[string]any {
	lists := map[string]any{}
	for name, items := range s.state.Lists {
		list := []any{}
		for _, i := range items {
			list = append(list, map[string]any{fieldName: i.Name, "id": i.ID})
		}
		lists[name] = list
	}
	toggles := map[string]any{}
	for name, on := range s.state.Toggles {
		toggles[name] = on
	}
	return map[string]any{
		"lists": lists, "toggles": toggles, "value": s.state.Value, "step": step,
	}
}

// pick a plan; nil for none.
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

// insert a plan somewhere, which depends on others that do not depend on it.
func (s *Session) insert(p plan) {
	p.AtMost = -1
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
	s.state = s.state.clone()
	s.state.Plans = slices.Insert(s.state.Plans, s.rnd.IntN(len(s.state.Plans)+1), p)
}

// room for another run.
func (s *Session) room() bool {
	n := 0
	for _, p := range s.state.Plans {
		n += max(1, len(s.state.Lists[p.List]))
	}
	return n < 6
}

func (s *Session) newPlan() plan {
	id := s.next()
	return plan{ID: id, Name: fmt.Sprintf("r%d", id), Origin: fmt.Sprintf("o%d", id), Literal: id, AtMost: -1, Computed: s.Chance(3)}
}

func (s *Session) addRun() (composition, xr bool) {
	if !s.room() {
		return false, false
	}
	p := s.newPlan()
	p.Thing = fmt.Sprintf("t%d", p.ID)
	s.insert(p)
	s.Notef("add %s", p.Name)
	return true, false
}

func (s *Session) newItem() item {
	n := s.next()
	return item{Name: fmt.Sprintf("n%d", n), ID: fmt.Sprintf("t%d", n)}
}

func (s *Session) addSet() (composition, xr bool) {
	if !s.room() {
		return false, false
	}
	p := s.newPlan()
	p.List, p.Key = fmt.Sprintf("l%d", p.ID), []string{fieldName, "id"}[s.rnd.IntN(2)]
	s.insert(p)
	s.state.Lists[p.List] = []item{s.newItem(), s.newItem()}
	s.Notef("add set %s", p.Name)
	return true, true
}

// change a plan into a copy that shares no memory with it.
func (s *Session) change(is func(p plan) bool, to func(p *plan)) (composition, xr bool) {
	s.state = s.state.clone()
	p := s.pick(is)
	if p == nil {
		return false, false
	}
	p.Previous, p.After, p.Refs = slices.Clone(p.Previous), slices.Clone(p.After), slices.Clone(p.Refs)
	was := fmt.Sprintf("%+v", *p)
	to(p)
	if is := fmt.Sprintf("%+v", *p); is != was {
		s.Notef("change %s\n    to %s", was, is)
	}
	return true, false
}

// whole is true for a plan that was never one item of a set. Such an item, once it is gone, cannot
// be distinguished from a run that was never in the set.
func whole(p plan) bool {
	return !slices.ContainsFunc(p.Previous, func(f former) bool { return f.Item != "" })
}

// alone is true for a plan that no other depends on.
func (s *Session) alone(id int) bool {
	return !slices.ContainsFunc(s.state.Plans, func(p plan) bool { return slices.Contains(slices.Concat(p.After, p.Refs), id) })
}

func anyPlan(plan) bool { return true }

func (s *Session) removeRun() (composition, xr bool) {
	if len(s.state.Plans) < 3 {
		return false, false
	}
	s.state = s.state.clone()
	gone := *s.pick(anyPlan)
	s.Notef("remove %s", gone.Name)
	s.without(gone.ID)
	s.state.Plans = slices.DeleteFunc(s.state.Plans, func(p plan) bool { return p.ID == gone.ID })
	return true, false
}

// without a plan that others depend on.
func (s *Session) without(id int) {
	for i := range s.state.Plans {
		p := &s.state.Plans[i]
		p.After = slices.DeleteFunc(slices.Clone(p.After), func(on int) bool { return on == id })
		p.Refs = slices.DeleteFunc(slices.Clone(p.Refs), func(on int) bool { return on == id })
	}
}

func formerly(p plan) []former {
	if p.List == "" {
		return append([]former{{Name: p.Name}}, p.Previous...)
	}
	return append([]former{{Name: p.Name, Key: fieldName}, {Name: p.Name, Key: "id"}}, p.Previous...)
}

func (s *Session) rename() (composition, xr bool) {
	return s.change(anyPlan, func(p *plan) {
		p.Previous = formerly(*p)
		p.Name = fmt.Sprintf("r%d", s.next())
	})
}

// renameUndeclared renames a run. A later edit adds its previousNames.
func (s *Session) renameUndeclared() (composition, xr bool) {
	return s.change(func(p plan) bool { return p.Previous == nil }, func(p *plan) {
		id, was := s.next(), *p
		alone := s.alone(p.ID)
		for i := range s.state.Plans {
			o := &s.state.Plans[i]
			o.After, o.Refs = replaced(o.After, p.ID, id), replaced(o.Refs, p.ID, id)
		}
		p.ID, p.Name = id, fmt.Sprintf("r%d", id)
		s.pending = func() (composition, xr bool) {
			return s.change(func(p plan) bool { return p.ID == id }, func(p *plan) {
				// What others depend on has to stay for them, and what is in its place would wait
				// for its end.
				if p.Previous = formerly(was); alone && !was.Keep && !p.Keep && s.Chance(3) {
					p.Previous = []former{}
				}
			})
		}
	})
}

func replaced(list []int, was, is int) []int {
	list = slices.Clone(list)
	for i := range list {
		if list[i] == was {
			list[i] = is
		}
	}
	return list
}

// eachOf makes a set of a single run, which is the first of its items.
func (s *Session) eachOf() (composition, xr bool) {
	if !s.room() {
		return false, false
	}
	composition, _ = s.change(func(p plan) bool { return p.List == "" && !p.Keep && p.When == "" && s.alone(p.ID) }, func(p *plan) {
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
	return composition, composition
}

// changeKey of a set, with its former names.
func (s *Session) changeKey() (composition, xr bool) {
	return s.change(func(p plan) bool { return p.List != "" }, func(p *plan) {
		p.Previous, p.Key = formerly(*p), otherKey(p.Key)
	})
}

func otherKey(key string) string { return map[string]string{fieldName: "id", "id": fieldName}[key] }

// changeKeyUndeclared changes the key of a set. A later edit adds its previousNames.
func (s *Session) changeKeyUndeclared() (composition, xr bool) {
	return s.change(func(p plan) bool { return p.List != "" && p.Previous == nil }, func(p *plan) {
		p.Key = otherKey(p.Key)
		id := p.ID
		s.pending = func() (composition, xr bool) {
			return s.change(func(p plan) bool { return p.ID == id }, func(p *plan) { p.Previous = formerly(*p) })
		}
	})
}

func (s *Session) changeLiteral() (composition, xr bool) {
	return s.change(anyPlan, func(p *plan) { p.Literal = s.next() })
}

// toggled is a list with one more, or one less.
func toggled(list []int, id int) []int {
	if i := slices.Index(list, id); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return append(list, id)
}

// reaches is true when a plan depends on another one.
func (s *Session) reaches(p plan, id int) bool {
	return p.ID == id || slices.ContainsFunc(slices.Concat(p.After, p.Refs), func(on int) bool { return s.reaches(*s.state.plan(on), id) })
}

func (s *Session) changeDependsOn() (composition, xr bool) {
	on := s.state.Plans[s.rnd.IntN(len(s.state.Plans))]
	return s.change(func(p plan) bool { return whole(on) && !s.reaches(on, p.ID) }, func(p *plan) { p.After = toggled(p.After, on.ID) })
}

func (s *Session) changeRefs() (composition, xr bool) {
	on := s.state.Plans[s.rnd.IntN(len(s.state.Plans))]
	return s.change(func(p plan) bool { return whole(on) && !s.reaches(on, p.ID) }, func(p *plan) { p.Refs = toggled(p.Refs, on.ID) })
}

// keep turns prune: false of a plan on or off.
func (s *Session) keep() (composition, xr bool) {
	return s.change(whole, func(p *plan) { p.Keep = !p.Keep })
}

// loosen turns the Usages of a plan off or on.
func (s *Session) loosen() (composition, xr bool) {
	return s.change(anyPlan, func(p *plan) { p.Loose = !p.Loose })
}

// compute turns the computed part of the value of a plan on or off.
func (s *Session) compute() (composition, xr bool) {
	return s.change(anyPlan, func(p *plan) { p.Computed, p.Literal = !p.Computed, s.next() })
}

func (s *Session) changeWhen() (composition, xr bool) {
	composition, _ = s.change(func(p plan) bool { return whole(p) && (p.When == "" || s.state.Toggles[p.When]) }, func(p *plan) {
		if p.When != "" {
			p.When = ""
			return
		}
		p.When = fmt.Sprintf("w%d", s.next())
		s.state.Toggles[p.When] = true
	})
	return composition, composition
}

func (s *Session) changeAtMost() (composition, xr bool) {
	return s.change(func(p plan) bool { return p.List != "" && whole(p) }, func(p *plan) { p.AtMost = s.rnd.IntN(3) - 1 })
}

func (s *Session) changeValue() (composition, xr bool) {
	s.state.Value++
	s.Notef("value is %d", s.state.Value)
	return false, true
}

// turn a toggle on, off, or lose it.
func (s *Session) turn() (composition, xr bool) {
	p := s.pick(func(p plan) bool { return p.When != "" })
	if p == nil {
		return s.changeWhen()
	}
	s.state = s.state.clone()
	was, ok := s.state.Toggles[p.When]
	switch {
	case ok && s.Chance(5):
		delete(s.state.Toggles, p.When)
	default:
		s.state.Toggles[p.When] = !was
	}
	s.Notef("turn %s of %s: %v", p.When, p.Name, s.state.Toggles)
	return false, true
}

func (s *Session) changeItems() (composition, xr bool) {
	p := s.pick(func(p plan) bool { return p.List != "" && whole(p) })
	if p == nil {
		return false, false
	}
	s.state = s.state.clone()
	items := slices.Clone(s.state.Lists[p.List])
	switch n := s.rnd.IntN(10); {
	case n == 0:
		delete(s.state.Lists, p.List)
		s.Notef("no list %s of %s", p.List, p.Name)
		return false, true
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
		return false, false
	}
	s.state.Lists[p.List] = items
	s.Notef("list %s of %s is %v", p.List, p.Name, items)
	return false, true
}

// relabel an item of a list, which is its key.
func (s *Session) relabel() (composition, xr bool) {
	p := s.pick(func(p plan) bool {
		return p.List != "" && p.Key == fieldName && p.Previous == nil && len(s.state.Lists[p.List]) > 0
	})
	if p == nil {
		return false, false
	}
	list := p.List
	i := s.rnd.IntN(len(s.state.Lists[list]))
	was := s.state.Lists[list][i]
	name := func(was, is string) (composition, xr bool) {
		s.state = s.state.clone()
		items := slices.Clone(s.state.Lists[list])
		for i := range items {
			if items[i].Name == was {
				items[i].Name = is
			}
		}
		s.state.Lists[list] = items
		s.Notef("list %s is %v", list, items)
		return false, true
	}
	s.pending = func() (composition, xr bool) { return name("x"+was.Name, was.Name) }
	return name(was.Name, "x"+was.Name)
}

// allow so many removals of a set, or none.
func (s *Session) allow() (composition, xr bool) {
	p := s.pick(func(p plan) bool { return p.AtMost >= 0 })
	if p == nil {
		return false, false
	}
	s.state = s.state.clone()
	if s.state.Allowed[p.Name] > 0 {
		delete(s.state.Allowed, p.Name)
	} else {
		s.state.Allowed[p.Name] = 5
	}
	s.Notef("allowed is %v", s.state.Allowed)
	return false, true
}

// Right turns the state into one in which nothing is held.
func (s *Session) Right() {
	if s.pending != nil {
		s.pending()
		s.pending = nil
	}
	s.state = s.state.clone()
	for i := range s.state.Plans {
		p := &s.state.Plans[i]
		if p.When != "" {
			s.state.Toggles[p.When] = true
		}
		p.AtMost, p.Keep = -1, false
		items, ok := s.state.Lists[p.List]
		if p.List != "" && !ok {
			s.state.Lists[p.List] = []item{s.newItem()}
		}
		slices.SortFunc(items, func(a, b item) int { return strings.Compare(a.ID, b.ID) })
		if p.List != "" {
			s.state.Lists[p.List] = slices.Compact(slices.Clone(s.state.Lists[p.List]))
		}
	}
}

// Allowed is the annotation of the XR that allows removals.
func (s *Session) Allowed() string {
	var allow []string
	for _, name := range slices.Sorted(maps.Keys(s.state.Allowed)) {
		allow = append(allow, fmt.Sprintf("%s=%d", name, s.state.Allowed[name]))
	}
	return strings.Join(allow, ",")
}
