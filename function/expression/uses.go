package expression

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/crossplane/function-sdk-go/errors"
)

// uses are what an expression refers to.
type uses struct {
	// runs and required resources by name; true when the expression needs them
	// to be there.
	runs, required map[string]bool
	// each is true when it refers to each.
	each bool
	// paths below the roots.
	paths []path
}

// A path is a root and the keys and indices below it.
type path []any

// usesOf finds out what an expression refers to.
func usesOf(a *ast.AST) (uses, error) {
	u := uses{runs: map[string]bool{}, required: map[string]bool{}}
	closed := map[string]map[string]bool{rootRuns: u.runs, rootRequired: u.required}
	tested := map[string]bool{}

	var err error

	ast.PreOrderVisit(ast.NavigateAST(a), ast.NewExprVisitor(func(e ast.Expr) {
		if p := pathOf(e); len(p) > 1 {
			u.paths = append(u.paths, p)
		}

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

// pathOf returns the path that an expression is, if it is one.
func pathOf(e ast.Expr) path {
	switch e.Kind() {
	case ast.IdentKind:
		if name := e.AsIdent(); slices.Contains(roots[:], name) {
			return path{name}
		}
	case ast.SelectKind:
		s := e.AsSelect()
		if p := pathOf(s.Operand()); p != nil && !s.IsTestOnly() {
			return append(p, s.FieldName())
		}
	case ast.CallKind:
		c := e.AsCall()
		if c.FunctionName() != operators.Index || c.Args()[1].Kind() != ast.LiteralKind {
			return nil
		}

		p := pathOf(c.Args()[0])
		if p == nil {
			return nil
		}

		switch k := c.Args()[1].AsLiteral().(type) {
		case types.String:
			return append(p, string(k))
		case types.Int:
			return append(p, int(k))
		}
	}

	return nil
}

// missing returns the path up to what is not there.
func (p path) missing(data Data) (path, bool) {
	var at any = data.roots()

	for i, key := range p {
		ok := false

		switch key := key.(type) {
		case string:
			m, _ := at.(map[string]any)
			at, ok = m[key]
		case int:
			if l, _ := at.([]any); key >= 0 && key < len(l) {
				at, ok = l[key], true
			}
		}

		if !ok {
			return p[:i+1], true
		}
	}

	return nil, false
}

// explains is true when this missing path may be the cause of an error.
func (p path) explains(err error) bool {
	message := err.Error()

	switch key := p[len(p)-1].(type) {
	case string:
		return strings.HasSuffix(message, "no such key: "+key)
	case int:
		return strings.HasSuffix(message, fmt.Sprintf("index out of bounds: %d", key))
	}

	return false
}

// pending is true for what may be there later without anybody changing the XR.
func (p path) pending() bool {
	switch p[0] {
	case rootXR:
		return len(p) > 1 && p[1] == "status"
	case rootEach:
		return false
	}

	return true
}

// hint says where what is pending has to come from, if that may not be clear.
func (p path) hint() string {
	switch p[0] {
	case rootEnvironment:
		return "; an EnvironmentConfig of an earlier step has to provide it, or write " + p.optional() + " if it may be missing"
	case rootContext:
		return "; an earlier step has to put it into the context, or write " + p.optional() + " if it may be missing"
	}

	return ""
}

// String returns the path as it is written in an expression.
func (p path) String() string {
	return p[:len(p)-1].prefix() + suffix(p[len(p)-1], "")
}

// optional returns the path such that it need not be there.
func (p path) optional() string {
	return p[:len(p)-1].prefix() + suffix(p[len(p)-1], "?")
}

func (p path) prefix() string {
	s, _ := p[0].(string)
	for _, key := range p[1:] {
		s += suffix(key, "")
	}

	return s
}

func suffix(key any, mark string) string {
	switch key := key.(type) {
	case int:
		return "[" + mark + strconv.Itoa(key) + "]"
	case string:
		if slices.ContainsFunc([]byte(key), func(c byte) bool { return !isIdentifier(c) }) {
			return "[" + mark + strconv.Quote(key) + "]"
		}

		return "." + mark + key
	}

	return ""
}
