package expression

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

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

// uses are what an expression refers to.
type uses struct {
	// names below the roots whose names are known: runs, required, resources (by their composition resource names) and
	// locals; true when the expression needs them to be there.
	names map[string]map[string]bool
	// sets are runs by name of which it refers to more than the member with the key of
	// the item.
	sets map[string]bool
	// published are the runs, by name, of which it refers to the connection details, or to the Secret that has them.
	published map[string]bool
	// waits is true when it refers to what may be there later without an edit of the XR.
	waits bool
	// each is true when it refers to each.
	each bool
	// beyond is true when it refers to more than the identity of the XR and the
	// key of an item.
	beyond bool
}

// usesOf finds out what an expression refers to by its selections.
func usesOf(selections []selection) (uses, error) {
	u := uses{
		names: map[string]map[string]bool{rootRuns: {}, rootRequired: {}, rootResources: {}, rootLocals: {}},
		sets:  map[string]bool{},
	}

	var err error

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

			if s.root == rootRuns && !s.ofItem {
				u.sets[path[0]] = true
			}
		}
	}

	return u, err
}

// publishedBy an expression and its selections: all runs of which it may select the field, also by the variable of a
// comprehension.
func publishedBy(source string, selections []selection) map[string]bool {
	all := map[string]bool{}

	for _, field := range []string{connectionDetails, "writeConnectionSecretToRef"} {
		if !strings.Contains(source, field) {
			continue
		}

		for _, s := range selections {
			path := s.path(len(s.steps))
			if s.root == rootRuns && (len(path) == 1 || slices.Contains(path, field)) {
				all[path[0]] = true
			}
		}
	}

	return all
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

	// Locals that refer to each other lead to the same field in many ways.
	add := func(path []string) {
		if !slices.ContainsFunc(all, func(other []string) bool { return slices.Equal(other, path) }) {
			all = append(all, path)
		}
	}

	for _, s := range selections {
		for n := len(s.steps); n >= 0; n-- { // The longest path says best what is missing.
			if path, ok := e.pathOf(s.root, s.path(n)); ok && s.optional(n) {
				add(path)
			}
		}

		if s.root != rootLocals {
			continue
		}

		local, _ := e.locals.at(s.path(len(s.steps)))
		for p := range local.programs {
			for _, path := range p.defaulted {
				add(path)
			}
		}
	}

	return all
}

// pathOf returns the path, from a root that is one of given, of what is at a path below a
// root. It is false when that is elsewhere, or when a local computes it.
func (e *Environment) pathOf(root string, path []string) ([]string, bool) {
	if root != rootLocals {
		return slices.Concat([]string{root}, path), roots[root].given
	}

	local, rest := e.locals.at(path)

	p := local.expression()
	if p == nil {
		return nil, false
	}

	for _, s := range p.selections {
		if s.whole {
			above, ok := e.pathOf(s.root, s.path(len(s.steps)))
			return slices.Concat(above, rest), ok
		}
	}

	return nil, false
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

	for at, p := range t.expressions {
		for _, s := range p.selections {
			for n := len(s.steps); n >= 0; n-- {
				path := slices.Concat([]string{s.root}, s.path(n))
				tested := slices.ContainsFunc(p.defaulted, func(p []string) bool { return slices.Equal(p, path) })
				all = append(all, Reference{At: at.path, Path: path, Tested: tested || s.optional(n)})
			}
		}
	}

	return all
}
