package expression

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/parser"

	"github.com/crossplane/function-sdk-go/errors"
)

// A selection is a chain of field selections from a root in an expression, as in xr.spec.size.
type selection struct {
	// path has the name of the root and the literal names after it.
	path []string
	// asked is the index in path of the first name that may be missing, as in xr.?spec or has(xr.spec); 0 for none. It
	// is len(path) for a computed name.
	asked int
	// computed is the source of the computed name in brackets after the path, if there is one.
	computed string
}

// asks is true if one of the first names of the path may be missing.
func (s selection) asks(names int) bool { return s.asked > 0 && s.asked < names }

// selectionsIn returns the selections in an expression, or an error for a variable with the name of a root.
func selectionsIn(a *ast.AST) ([]selection, error) {
	var all []selection

	for _, e := range ast.MatchDescendants(ast.NavigateAST(a), ast.AllMatcher()) {
		switch {
		case e.Kind() == ast.ComprehensionKind:
			for _, v := range []string{e.AsComprehension().IterVar(), e.AsComprehension().IterVar2()} {
				if isRoot(v) {
					return nil, errors.Errorf("a variable of the expression must not be called %s", v)
				}
			}
		case e.Kind() == ast.IdentKind && isRoot(e.AsIdent()):
			all = append(all, selectionFrom(e, a.SourceInfo()))
		}
	}

	return all, nil
}

// selectionFrom returns the selection from the identifier of a root.
func selectionFrom(e ast.NavigableExpr, info *ast.SourceInfo) selection {
	s := selection{path: []string{e.AsIdent()}}

	for {
		parent, ok := e.Parent()
		if !ok {
			return s
		}

		name, index, asked := stepOf(parent, e)
		if asked && s.asked == 0 {
			s.asked = len(s.path)
		}

		if name == "" {
			if index != nil {
				s.computed, _ = parser.Unparse(index, info) // Unparse cannot fail for a parsed expression.
			}

			return s
		}

		s.path, e = append(s.path, name), parent
	}
}

// stepOf returns the literal name or the index that e selects from an operand, and whether it may be missing.
func stepOf(e, operand ast.Expr) (name string, index ast.Expr, asked bool) {
	if e.Kind() == ast.SelectKind {
		return e.AsSelect().FieldName(), nil, e.AsSelect().IsTestOnly()
	}

	if e.Kind() != ast.CallKind {
		return "", nil, false
	}

	from, key := 0, 1

	switch e.AsCall().FunctionName() {
	case operators.Index:
	case operators.OptIndex, operators.OptSelect:
		asked = true
	case operators.In:
		from, key, asked = 1, 0, true
	default:
		return "", nil, false
	}

	args := e.AsCall().Args()
	if args[from].ID() != operand.ID() {
		return "", nil, false
	}

	if args[key].Kind() == ast.LiteralKind {
		name, _ = args[key].AsLiteral().Value().(string)
		return name, nil, asked
	}

	return "", args[key], asked
}

// uses are the references of expressions.
type uses struct {
	// named has the names that follow the roots runs, required, resources and locals, by root. A name is true if an
	// expression needs it, and false if it may be missing.
	named map[string]map[string]bool
	// resources are the computed names of resources.
	resources []resourceName
	// waits is true if an expression refers to a value that may be set later without an edit of the XR.
	waits bool

	// Sets has the names of runs of which an expression may use other members than that of each.key.
	Sets map[string]bool
	// Published has the names of runs of which an expression uses the connection details, or their Secret.
	Published map[string]bool
	// Each is true if an expression refers to each.
	Each bool
	// Varies is true if an expression refers to a value that may change during the life of the XR, see identity.
	Varies bool
}

func newUses() uses {
	return uses{
		named: map[string]map[string]bool{rootRuns: {}, rootRequired: {}, rootResources: {}, rootLocals: {}},
		Sets:  map[string]bool{}, Published: map[string]bool{},
	}
}

// Runs returns the runs that the expressions refer to, by name. A run is true if an expression needs it, and false if
// it may be missing. The map must not be changed.
func (u *uses) Runs() map[string]bool { return u.named[rootRuns] }

// Required returns the same for required resources.
func (u *uses) Required() map[string]bool { return u.named[rootRequired] }

// join adds the references of another expression, or of a local that this expression refers to. A name that may be
// missing in this expression may be missing in its locals, too.
func (u *uses) join(more uses, isLocal bool) {
	for root, names := range more.named {
		for name, needed := range names {
			was, known := u.named[root][name]
			u.named[root][name] = was || needed && (!known || !isLocal)
		}
	}

	// Several locals may use the same name.
	for _, name := range more.resources {
		if !slices.Contains(u.resources, name) {
			u.resources = append(u.resources, name)
		}
	}

	maps.Copy(u.Sets, more.Sets)
	maps.Copy(u.Published, more.Published)

	u.waits, u.Each, u.Varies = u.waits || more.waits, u.Each || more.Each, u.Varies || more.Varies
}

// usesOf returns the references in selections of an expression, or mistakes in them.
func (e *Environment) usesOf(source string, selections []selection) (uses, []string) {
	const member = 2

	u := newUses()

	for _, s := range selections {
		root := s.path[0]
		u.Each = u.Each || root == rootEach
		u.Varies = u.Varies || !identifies(s.path)
		u.waits = u.waits || waits(s.path)

		names, ok := u.named[root]

		switch {
		case !ok:
		case len(s.path) > 1:
			name := s.path[1]
			needed, known := names[name]
			names[name] = (needed || !known) && s.asked != 1

			// runs.disk[each.key] uses only the member of the same key.
			if root == rootRuns && (len(s.path) != member || s.computed != "each.key") {
				u.Sets[name] = true
			}

			if root == rootRuns && publishes(source, s.path) {
				u.Published[name] = true
			}
		case root == rootResources && s.computed != "":
			// The name is evaluated separately, so it cannot use the variable of a comprehension.
			p := e.compile(s.computed)
			if len(p.mistakes) > 0 {
				return u, []string{"the name of a resource can be computed only from roots such as xr and each, " +
					`as in resources["disk-" + each.key]`}
			}

			u.resources = append(u.resources, resourceName{program: p, needed: s.asked == 0})
		default:
			return u, []string{fmt.Sprintf("%s must be followed by a name, as in %s.%s", root, root, roots[root].example)}
		}
	}

	return u, nil
}

// publishes is true if an expression may select the connection details of a run, or their Secret. If the path ends at
// the run, it is true for a name of such a field in the source, since the variable of a comprehension may select it.
func publishes(source string, path []string) bool {
	const run = 2

	return slices.ContainsFunc([]string{connectionDetails, "writeConnectionSecretToRef"}, func(field string) bool {
		return strings.Contains(source, field) && (len(path) == run || slices.Contains(path, field))
	})
}

// ResourceNames returns the composition resource names of resources of other steps that the expressions refer to. A
// literal name is true; for a computed name, the map has its expression, which is false.
func (t *Template) ResourceNames() map[string]bool {
	names := map[string]bool{}

	for name := range t.named[rootResources] {
		names[name] = true
	}

	for _, r := range t.resources {
		names[r.show()] = false
	}

	return names
}

// Resources returns the resources that the expressions refer to, by composition resource name. A resource is true if an
// expression needs it. The problems are those of computed names.
func (t *Template) Resources(ctx context.Context, data Data) (map[string]bool, []Problem) {
	var problems []Problem

	all := maps.Clone(t.named[rootResources])

	for _, r := range t.resources {
		v, _, problem := r.evaluate(ctx, &data)

		name, ok := v.(string)
		if problem == nil && !ok {
			problem = &Problem{Kind: Invalid, Message: "the name of a resource must be a string: " + r.show()}
		}

		if problem != nil {
			problems = append(problems, t.problem(*problem))
			continue
		}

		all[name] = all[name] || r.needed
	}

	return all, problems
}

// defaulted returns the paths of fields that may be missing in an expression, since it tests their existence or has a
// default, and those in its locals. Values of runs and of other steps are left out: they may be removed on purpose.
func (e *Environment) defaulted(selections []selection) [][]string {
	var all [][]string

	// Several locals may have the same path.
	add := func(path []string) {
		if !contains(all, path) {
			all = append(all, path)
		}
	}

	for _, s := range selections {
		given := roots[s.path[0]].given

		if s.path[0] == rootLocals {
			local := e.declared.Locals.find(s.path[1:])
			given = len(local.Runs()) == 0 && len(local.ResourceNames()) == 0

			for _, path := range local.Defaulted() {
				add(path)
			}
		}

		for n := len(s.path); given && s.asks(n); n-- { // The longest path is the most specific in a message.
			add(s.path[:n])
		}
	}

	return all
}

func contains(paths [][]string, path []string) bool {
	return slices.ContainsFunc(paths, func(other []string) bool { return slices.Equal(other, path) })
}

// Defaulted returns the paths of fields that may be missing in the expressions, as in xr.spec.?users.orValue([]). They
// are fields of the XR, of required resources, of the environment, of the context and of locals.
func (t *Template) Defaulted() [][]string {
	var all [][]string
	for _, p := range t.parts {
		if p.program != nil {
			all = append(all, p.program.defaulted...)
		}
	}

	return all
}

// Needs calls yield with the path of each value that an expression needs, and with the path of the expression.
func (t *Template) Needs(yield func(at string, path []string) bool) {
	for _, p := range t.parts {
		if p.program == nil {
			continue
		}

		for _, s := range p.program.selections {
			for n := len(s.path); n > 0; n-- {
				if path := s.path[:n]; !s.asks(n) && !contains(p.program.defaulted, path) && !yield(p.path, path) {
					return
				}
			}
		}
	}
}
