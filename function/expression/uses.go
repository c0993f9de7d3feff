package expression

import (
	"cmp"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/crossplane/function-sdk-go/errors"
)

// uses are what an expression refers to.
type uses struct {
	// runs and required resources by name; true when the expression needs them
	// to be there.
	runs, required map[string]bool
	// sets are runs by name of which it refers to more than the member with the key of
	// the item, as in runs.disk[each.key].
	sets map[string]bool
	// resources of other steps by their composition resource names; true as for
	// runs.
	resources map[string]bool
	// computed are the names of other such resources.
	computed []computedName
	// locals by name.
	locals map[string]bool
	// waits is true when it refers to what may be there later without an edit of the XR.
	waits bool
	// each is true when it refers to each.
	each bool
	// beyond is true when it refers to more than the identity of the XR and the
	// key of an item.
	beyond bool
}

// A computedName is the name of a resource, in brackets, that is no literal.
type computedName struct {
	expr ast.Expr
	// needed is false where the expression asks whether there is one.
	needed bool
}

// usesOf finds out what an expression refers to.
func usesOf(a *ast.AST) (uses, error) {
	u := uses{
		runs: map[string]bool{}, required: map[string]bool{}, sets: map[string]bool{}, resources: map[string]bool{},
		locals: map[string]bool{},
	}
	closed := map[string]map[string]bool{
		rootRuns: u.runs, rootRequired: u.required, rootResources: u.resources,
		rootLocals: u.locals,
	}
	tested := map[string]bool{}

	var err error

	ast.PreOrderVisit(ast.NavigateAST(a), ast.NewExprVisitor(func(e ast.Expr) {
		if v := shadowed(e); v != "" {
			err = errors.Errorf("a variable of the expression must not be called %s", v)
		}

		if e.Kind() != ast.IdentKind {
			return
		}

		root := e.AsIdent()
		u.each = u.each || root == rootEach
		u.beyond = u.beyond || slices.Contains(roots[:], root) && !identifies(root, pathFrom(e))

		u.waits = u.waits || waits(root, pathFrom(e))

		names, ok := closed[root]
		if !ok {
			return
		}

		name, test := member(e)

		if index, optional := indexOf(e); root == rootResources && index != nil && name == "" {
			u.computed = append(u.computed, computedName{expr: index, needed: !optional})
			err = cmp.Or(err, computable(index))

			return
		}

		if name == "" {
			err = cmp.Or(err, errors.Errorf("%s must be followed by a name, as in %s.%s", root, root, examples[root]))
			return
		}

		if root == rootRuns && !isOfItem(e) {
			u.sets[name] = true
		}

		names[name] = true
		tested[root+"."+name] = tested[root+"."+name] || test
	}))

	for root, names := range closed {
		for name := range names {
			names[name] = !tested[root+"."+name]
		}
	}

	return u, err
}

// isOfItem is true for the identifier of runs when the member with the key of the item
// is selected from the run that is selected from it.
func isOfItem(e ast.Expr) bool {
	run, ok := parentOf(e)
	if !ok {
		return false
	}

	index, ok := parentOf(run)
	if !ok || index.Kind() != ast.CallKind {
		return false
	}

	c := index.AsCall()
	if c.FunctionName() != operators.Index && c.FunctionName() != operators.OptIndex || c.Args()[0].ID() != run.ID() ||
		c.Args()[1].Kind() != ast.SelectKind {
		return false
	}

	key := c.Args()[1].AsSelect()

	return key.FieldName() == "key" && !key.IsTestOnly() && key.Operand().Kind() == ast.IdentKind &&
		key.Operand().AsIdent() == rootEach
}

func parentOf(e ast.Expr) (ast.NavigableExpr, bool) {
	n, ok := e.(ast.NavigableExpr)
	if !ok {
		return nil, false
	}

	return n.Parent()
}

// pathFrom an identifier: the literal names that are selected one after the other.
func pathFrom(e ast.Expr) []string {
	var path []string

	for {
		parent, ok := parentOf(e)
		if !ok {
			return path
		}

		name, ok := selected(parent, e)
		if !ok {
			return path
		}

		path, e = append(path, name), parent
	}
}

// selected returns the literal name that an expression selects from an operand.
func selected(e, operand ast.Expr) (string, bool) {
	switch e.Kind() {
	case ast.SelectKind:
		return e.AsSelect().FieldName(), true
	case ast.CallKind:
		c := e.AsCall()
		switch c.FunctionName() {
		case operators.Index, operators.OptIndex, operators.OptSelect:
			if c.Args()[0].ID() != operand.ID() || c.Args()[1].Kind() != ast.LiteralKind {
				return "", false
			}

			name, ok := c.Args()[1].AsLiteral().Value().(string)

			return name, ok
		}
	}

	return "", false
}

// shadowed returns the root that a variable of a comprehension hides, if any.
func shadowed(e ast.Expr) string {
	if e.Kind() != ast.ComprehensionKind {
		return ""
	}

	for _, v := range []string{e.AsComprehension().IterVar(), e.AsComprehension().IterVar2()} {
		if slices.Contains(roots[:], v) {
			return v
		}
	}

	return ""
}

// member returns the name that is selected from an identifier, and whether the
// selection asks whether it is there.
func member(e ast.Expr) (name string, test bool) {
	parent, ok := parentOf(e)
	if !ok {
		return "", false
	}

	switch parent.Kind() {
	case ast.SelectKind:
		s := parent.AsSelect()
		return s.FieldName(), s.IsTestOnly()
	case ast.CallKind:
		if c := parent.AsCall(); c.FunctionName() == operators.OptSelect {
			name, _ := c.Args()[1].AsLiteral().Value().(string)
			return name, true
		}
	}

	index, optional := indexOf(e)
	if index == nil || index.Kind() != ast.LiteralKind {
		return "", false
	}

	name, _ = index.AsLiteral().Value().(string)

	return name, optional
}

// indexOf what is selected in brackets from an identifier, and whether the selection
// asks whether it is there; nil when nothing is.
func indexOf(e ast.Expr) (index ast.Expr, optional bool) {
	parent, ok := parentOf(e)
	if !ok || parent.Kind() != ast.CallKind {
		return nil, false
	}

	c := parent.AsCall()
	if f := c.FunctionName(); f != operators.Index && f != operators.OptIndex || c.Args()[0].ID() != e.ID() {
		return nil, false
	}

	return c.Args()[1], c.FunctionName() == operators.OptIndex
}

// computable says what is wrong with an expression that computes the name of a
// resource: it is evaluated by itself.
func computable(index ast.Expr) error {
	var err error

	ast.PreOrderVisit(index, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind || e.Kind() == ast.IdentKind && !slices.Contains(roots[:], e.AsIdent()) {
			err = errors.New(
				`the name of a resource can be computed only from roots such as xr and each, as in resources["disk-" + each.key]`)
		}
	}))

	return err
}

// defaulted returns the paths, from a root, of the fields that an expression does without when they are not there:
// those that it asks for, and those for which it has something else. Those of the locals that it refers to are among
// them. Fields of runs, and of what other steps compose, are not: these may be gone on purpose.
func (e *Environment) defaulted(a *ast.AST) [][]string {
	var all [][]string

	// Locals that refer to each other lead to the same field in many ways.
	add := func(path []string) {
		if !slices.ContainsFunc(all, func(other []string) bool { return slices.Equal(other, path) }) {
			all = append(all, path)
		}
	}

	ast.PreOrderVisit(ast.NavigateAST(a), ast.NewExprVisitor(func(x ast.Expr) {
		if root, path, optional := placeOf(x); optional {
			if path, ok := e.pathOf(root, path); ok {
				add(path)
			}
		}

		if x.Kind() != ast.IdentKind || x.AsIdent() != rootLocals {
			return
		}

		local, _ := e.locals.at(pathFrom(x))
		for p := range local.programs {
			for _, path := range p.defaulted {
				add(path)
			}
		}
	}))

	return all
}

// pathOf returns the path, from a root that is one of given, of what is at a path below a
// root. It is false when that is elsewhere, or when a local computes it.
func (e *Environment) pathOf(root string, path []string) ([]string, bool) {
	if root != rootLocals {
		return slices.Concat([]string{root}, path), slices.Contains(given[:], root)
	}

	local, rest := e.locals.at(path)

	p := local.expression()
	if p == nil {
		return nil, false
	}

	root, above, _ := placeOf(p.ast.Expr())
	above, ok := e.pathOf(root, above)

	return slices.Concat(above, rest), ok
}

// placeOf what an expression selects: the root and the literal names that lead there. It is
// optional when the expression asks whether it is there. The root is "" when the expression
// is anything else.
func placeOf(e ast.Expr) (root string, path []string, optional bool) {
	var operand ast.Expr

	name, ok := "", false

	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent(), nil, false
	case ast.SelectKind:
		operand, optional = e.AsSelect().Operand(), e.AsSelect().IsTestOnly()
		name, ok = selected(e, operand)
	case ast.CallKind:
		switch c := e.AsCall(); c.FunctionName() {
		case operators.Index, operators.OptIndex, operators.OptSelect:
			operand, optional = c.Args()[0], c.FunctionName() != operators.Index
			name, ok = selected(e, operand)
		case operators.In:
			operand, optional = c.Args()[1], true
			if c.Args()[0].Kind() == ast.LiteralKind {
				name, ok = c.Args()[0].AsLiteral().Value().(string)
			}
		}
	}

	if !ok {
		return "", nil, false
	}

	root, path, above := placeOf(operand)
	if root == "" {
		return "", nil, false
	}

	return root, append(path, name), optional || above
}
