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
	// each is true when it refers to each.
	each bool
}

// usesOf finds out what an expression refers to.
func usesOf(a *ast.AST) (uses, error) {
	u := uses{runs: map[string]bool{}, required: map[string]bool{}}
	closed := map[string]map[string]bool{rootRuns: u.runs, rootRequired: u.required}
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

		names, ok := closed[root]
		if !ok {
			return
		}

		name, test := member(e)
		if name == "" {
			err = cmp.Or(err, errors.Errorf("%s must be followed by a name, as in %s.database", root, root))
			return
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
	n, ok := e.(ast.NavigableExpr)
	if !ok {
		return "", false
	}

	parent, ok := n.Parent()
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

	return "", false
}
