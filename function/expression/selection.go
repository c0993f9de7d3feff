package expression

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/crossplane/function-sdk-go/errors"
)

// A selection is a root in an expression, with the literal names that are selected from it one after the other. All
// that an expression refers to is known from its selections.
type selection struct {
	root  string
	steps []step
	// index is what is selected in brackets from the root alone, where that is no literal.
	index ast.Expr
	// asked is true where the expression asks whether the index is there.
	asked bool
	// ofItem is true where the member with the key of the item is selected from the first step, as in
	// runs.disk[each.key].
	ofItem bool
	// whole is true for a selection that is the whole expression.
	whole bool
}

// A step is a name that is selected. It is optional where the expression asks whether it is there.
type step struct {
	name     string
	optional bool
}

// path of the first steps.
func (s selection) path(steps int) []string {
	path := make([]string, steps)
	for i := range path {
		path[i] = s.steps[i].name
	}

	return path
}

// optional is true for the first steps of which one is optional.
func (s selection) optional(steps int) bool {
	return slices.ContainsFunc(s.steps[:steps], func(s step) bool { return s.optional })
}

// selectionsIn an expression. The error is about a variable that hides a root.
func selectionsIn(a *ast.AST) ([]selection, error) {
	var (
		all []selection
		err error
	)

	ast.PreOrderVisit(ast.NavigateAST(a), ast.NewExprVisitor(func(e ast.Expr) {
		switch {
		case e.Kind() == ast.ComprehensionKind:
			for _, v := range []string{e.AsComprehension().IterVar(), e.AsComprehension().IterVar2()} {
				if isRoot(v) {
					err = errors.Errorf("a variable of the expression must not be called %s", v)
				}
			}
		case e.Kind() == ast.IdentKind && isRoot(e.AsIdent()):
			all = append(all, selectionFrom(e))
		}
	}))

	return all, err
}

// selectionFrom a root.
func selectionFrom(e ast.Expr) selection {
	s := selection{root: e.AsIdent()}

	for {
		var (
			parent ast.NavigableExpr
			ok     bool
		)

		if n, isNavigable := e.(ast.NavigableExpr); isNavigable {
			parent, ok = n.Parent()
		}

		if !ok {
			s.whole = true
			return s
		}

		next, index, ok := stepOf(parent, e)

		switch {
		case ok:
			s.steps, e = append(s.steps, next), parent
			continue
		case index != nil && len(s.steps) == 0:
			s.index, s.asked = index, next.optional
		case index != nil && len(s.steps) == 1:
			s.ofItem = index.Kind() == ast.SelectKind && index.AsSelect().FieldName() == "key" &&
				index.AsSelect().Operand().Kind() == ast.IdentKind && index.AsSelect().Operand().AsIdent() == rootEach
		}

		return s
	}
}

// stepOf an expression that selects from an operand: a literal name (true), or an index.
func stepOf(e, operand ast.Expr) (s step, index ast.Expr, isName bool) {
	if e.Kind() == ast.SelectKind {
		return step{name: e.AsSelect().FieldName(), optional: e.AsSelect().IsTestOnly()}, nil, true
	}

	if e.Kind() != ast.CallKind {
		return step{}, nil, false
	}

	from, key := 0, 1

	switch e.AsCall().FunctionName() {
	case operators.Index:
	case operators.OptIndex, operators.OptSelect:
		s.optional = true
	case operators.In:
		from, key, s.optional = 1, 0, true
	default:
		return step{}, nil, false
	}

	args := e.AsCall().Args()
	if args[from].ID() != operand.ID() {
		return step{}, nil, false
	}

	if args[key].Kind() != ast.LiteralKind {
		return s, args[key], false
	}

	s.name, isName = args[key].AsLiteral().Value().(string)

	return s, nil, isName
}

// uses are what expressions refer to.
type uses struct {
	// names below the roots whose names are known: runs, required, resources (by their composition resource names) and
	// locals; true when an expression needs them to be there, and does not ask whether they are.
	names map[string]map[string]bool
	// computed names of resources.
	computed []resourceName
	// sets are runs by name of which an expression refers to more than the member with the key of the item.
	sets map[string]bool
	// published are the runs, by name, of which an expression refers to the connection details, or to the Secret that
	// has them.
	published map[string]bool
	// waits is true when an expression refers to what may be there later without an edit of the XR.
	waits bool
	// each is true when an expression refers to each.
	each bool
	// beyond is true when an expression refers to more than the identity of the XR and the key of an item.
	beyond bool
}

func newUses() uses {
	return uses{
		names: map[string]map[string]bool{rootRuns: {}, rootRequired: {}, rootResources: {}, rootLocals: {}},
		sets:  map[string]bool{}, published: map[string]bool{},
	}
}

// join what is used as well: by another expression, or by a local that the same expression refers to. What the
// expression asks for, it does not need because of a local.
func (u *uses) join(more uses, isLocal bool) {
	for root, names := range more.names {
		for name, needed := range names {
			was, known := u.names[root][name]
			u.names[root][name] = was || needed && (!known || !isLocal)
		}
	}

	// Locals that refer to each other lead to the same name in many ways.
	for _, name := range more.computed {
		if !slices.Contains(u.computed, name) {
			u.computed = append(u.computed, name)
		}
	}

	maps.Copy(u.sets, more.sets)
	maps.Copy(u.published, more.published)

	u.waits, u.each, u.beyond = u.waits || more.waits, u.each || more.each, u.beyond || more.beyond
}

// usesOf finds out what an expression refers to by its selections.
func usesOf(source string, selections []selection) (uses, error) {
	var err error

	u := newUses()

	for _, s := range selections {
		path := s.path(len(s.steps))
		u.each = u.each || s.root == rootEach
		u.beyond = u.beyond || !identifies(s.root, path)
		u.waits = u.waits || waits(s.root, path)

		names, ok := u.names[s.root]

		switch {
		case !ok:
		case s.root == rootResources && s.index != nil:
			err = cmp.Or(err, computable(s.index))
		case len(path) == 0:
			err = cmp.Or(err, errors.Errorf("%s must be followed by a name, as in %s.%s", s.root, s.root, roots[s.root].example))
		default:
			needed, known := names[path[0]]
			names[path[0]] = (needed || !known) && !s.steps[0].optional

			if s.root == rootRuns {
				u.refer(source, path, s.ofItem)
			}
		}
	}

	return u, err
}

// refer to a run, or to what is at a path below it.
func (u *uses) refer(source string, path []string, ofItem bool) {
	if !ofItem {
		u.sets[path[0]] = true
	}

	if publishes(source, path) {
		u.published[path[0]] = true
	}
}

// publishes is true for the path of a run below which an expression may select the connection details, or the Secret
// that has them, also by the variable of a comprehension.
func publishes(source string, path []string) bool {
	return slices.ContainsFunc([]string{connectionDetails, "writeConnectionSecretToRef"}, func(field string) bool {
		return strings.Contains(source, field) && (len(path) == 1 || slices.Contains(path, field))
	})
}

// Runs that the expressions refer to, by name: true when one of them needs the run to be there, and does not ask
// whether it is. They must not be changed.
func (t *Template) Runs() map[string]bool { return t.uses.names[rootRuns] }

// Required resources that the expressions refer to, by name: true when one of them needs the resource to be there, and
// does not ask whether it is. They must not be changed.
func (t *Template) Required() map[string]bool { return t.uses.names[rootRequired] }

// Sets are the runs, by name, of which the expressions refer to more than the member with the key of the item.
func (t *Template) Sets() map[string]bool { return t.uses.sets }

// Published are the runs, by name, of which the expressions refer to the connection details, or to the Secret that has
// them.
func (t *Template) Published() map[string]bool { return t.uses.published }

// Each is true when an expression refers to each.
func (t *Template) Each() bool { return t.uses.each }

// Identifies is true when the expressions refer to nothing but what the XR is called, its claim included, and the key
// of an item: a value that stays the same as long as the XR is there.
func (t *Template) Identifies() bool { return !t.uses.beyond }

// PathTo the first expression that cannot be without a run; "" when there is none.
func (t *Template) PathTo(run string) string {
	for at, p := range t.programs {
		if p.uses.names[rootRuns][run] {
			return at.path
		}
	}

	return ""
}

// ResourceNames are the composition resource names of what other steps compose that the expressions refer to: literal
// ones (true), and expressions that compute them.
func (t *Template) ResourceNames() map[string]bool {
	names := map[string]bool{}

	for name := range t.uses.names[rootResources] {
		names[name] = true
	}

	for _, r := range t.uses.computed {
		names[r.show()] = false
	}

	return names
}

// Resources that the expressions refer to, by their composition resource names: true when one of them needs the
// resource to be there. The problems are those of names that are computed.
func (t *Template) Resources(ctx context.Context, data Data) (map[string]bool, []Problem) {
	var problems []Problem

	resources := maps.Clone(t.uses.names[rootResources])

	for _, r := range t.uses.computed {
		v, problem := r.evaluate(ctx, &data)

		name, ok := v.(types.String)
		if problem == nil && !ok {
			problem = &Problem{Kind: Invalid, Message: "the name of a resource must be a string: " + r.show()}
		}

		if problem != nil {
			problems = append(problems, t.problem(*problem))
			continue
		}

		resources[string(name)] = resources[string(name)] || r.needed
	}

	return resources, problems
}

// computable says what is wrong with an expression that computes the name of a
// resource: it is evaluated by itself.
func computable(index ast.Expr) error {
	var err error

	ast.PreOrderVisit(index, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind || e.Kind() == ast.IdentKind && !isRoot(e.AsIdent()) {
			err = errors.New(
				`the name of a resource can be computed only from roots such as xr and each, as in resources["disk-" + each.key]`)
		}
	}))

	return err
}

// defaulted returns the paths, from a root, of the fields that an expression does without when they are not there:
// those that it asks for, and those for which it has something else. Those of the locals that it refers to are among
// them. Fields of runs, and of what other steps compose, are not: these may be gone on purpose.
func (e *Environment) defaulted(selections []selection) [][]string {
	var all [][]string

	for _, s := range selections {
		for n := len(s.steps); n >= 0; n-- { // The longest path says best what is missing.
			if path, ok := e.pathOf(s.root, s.path(n)); ok && s.optional(n) {
				all = append(all, path)
			}
		}

		if s.root == rootLocals {
			local, _ := e.locals.find(s.path(len(s.steps)))
			all = append(all, local.Defaulted()...)
		}
	}

	return distinct(all)
}

// distinct paths: locals that refer to each other lead to the same field in many ways.
func distinct(paths [][]string) [][]string {
	var all [][]string

	for _, path := range paths {
		if !contains(all, path) {
			all = append(all, path)
		}
	}

	return all
}

func contains(paths [][]string, path []string) bool {
	return slices.ContainsFunc(paths, func(other []string) bool { return slices.Equal(other, path) })
}

// pathOf returns the path, from a root that is one of given, of what is at a path below a root. It is false when that
// is elsewhere, or when a local computes it.
func (e *Environment) pathOf(root string, path []string) ([]string, bool) {
	if root != rootLocals {
		return slices.Concat([]string{root}, path), roots[root].given
	}

	local, rest := e.locals.find(path)

	if p := local.expression(); p != nil {
		for _, s := range p.selections {
			if s.whole {
				above, ok := e.pathOf(s.root, s.path(len(s.steps)))
				return slices.Concat(above, rest), ok
			}
		}
	}

	return nil, false
}

// Defaulted returns the paths of the fields of the XR, of required resources, of the environment and of the context
// that the expressions do without when they are not there, as in xr.spec.?users.orValue([]).
func (t *Template) Defaulted() [][]string {
	var all [][]string
	for _, p := range t.programs {
		all = append(all, p.defaulted...)
	}

	return all
}

// A Reference is what an expression selects.
type Reference struct {
	// At is the path of the expression.
	At string
	// Path of names from a root.
	Path []string
	// Tested is true when the expression does without it.
	Tested bool
}

// References of the expressions, to what is on the way to each value that they select, too.
func (t *Template) References() []Reference {
	var all []Reference

	for at, p := range t.programs {
		for _, s := range p.selections {
			for n := len(s.steps); n >= 0; n-- {
				path := slices.Concat([]string{s.root}, s.path(n))
				all = append(all, Reference{At: at.path, Path: path, Tested: s.optional(n) || contains(p.defaulted, path)})
			}
		}
	}

	return all
}
