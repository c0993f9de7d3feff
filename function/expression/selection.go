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

// A selection is a root in an expression, with the literal names that are selected from it one after the other. All
// that an expression refers to is known from its selections.
type selection struct {
	// path of the names, from that of the root on.
	path []string
	// asked is the first name in the path, or behind it, of which the expression asks whether it is there; 0 for none.
	asked int
	// computed is the source of what is selected in brackets behind the path, where that is no literal.
	computed string
}

// asks is true for so many names of the path if the expression asks whether one of them is there.
func (s selection) asks(names int) bool { return s.asked > 0 && s.asked < names }

// selectionsIn an expression. The error is about a variable that hides a root.
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

// selectionFrom a root.
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
				s.computed, _ = parser.Unparse(index, info) // What is parsed can be written again.
			}

			return s
		}

		s.path, e = append(s.path, name), parent
	}
}

// stepOf an expression that selects from an operand: a literal name, or an index, and whether it asks for that.
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

// uses are what expressions refer to.
type uses struct {
	// named below the roots whose names are known: runs, required, resources (by their composition resource names) and
	// locals; true when an expression needs them to be there, and does not ask whether they are.
	named map[string]map[string]bool
	// resources of which the name is computed.
	resources []resourceName
	// waits is true when an expression refers to what may be there later without an edit of the XR.
	waits bool

	// Sets are runs by name of which an expression refers to more than the member with the key of the item.
	Sets map[string]bool
	// Published are the runs, by name, of which an expression refers to the connection details, or to the Secret that
	// has them.
	Published map[string]bool
	// Each is true when an expression refers to each.
	Each bool
	// Varies is true when an expression refers to more than what the XR is called, its claim included, and the key of an
	// item: its value may change while the XR is there.
	Varies bool
}

func newUses() uses {
	return uses{
		named: map[string]map[string]bool{rootRuns: {}, rootRequired: {}, rootResources: {}, rootLocals: {}},
		Sets:  map[string]bool{}, Published: map[string]bool{},
	}
}

// Runs that the expressions refer to, by name: true when one of them needs the run to be there, and does not ask
// whether it is. They must not be changed.
func (u *uses) Runs() map[string]bool { return u.named[rootRuns] }

// Required are the same for required resources.
func (u *uses) Required() map[string]bool { return u.named[rootRequired] }

// join what is used as well: by another expression, or by a local that the same expression refers to. What the
// expression asks for, it does not need because of a local.
func (u *uses) join(more uses, isLocal bool) {
	for root, names := range more.named {
		for name, needed := range names {
			was, known := u.named[root][name]
			u.named[root][name] = was || needed && (!known || !isLocal)
		}
	}

	// Locals that refer to each other lead to the same name in many ways.
	for _, name := range more.resources {
		if !slices.Contains(u.resources, name) {
			u.resources = append(u.resources, name)
		}
	}

	maps.Copy(u.Sets, more.Sets)
	maps.Copy(u.Published, more.Published)

	u.waits, u.Each, u.Varies = u.waits || more.waits, u.Each || more.Each, u.Varies || more.Varies
}

// usesOf finds out what an expression refers to by its selections.
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

			// The member with the key of the item is selected as in runs.disk[each.key].
			if root == rootRuns && (len(s.path) != member || s.computed != "each.key") {
				u.Sets[name] = true
			}

			if root == rootRuns && publishes(source, s.path) {
				u.Published[name] = true
			}
		case root == rootResources && s.computed != "":
			// It is evaluated by itself, without the variables around it.
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

// publishes is true for the path of a run below which an expression may select the connection details, or the Secret
// that has them, also by the variable of a comprehension.
func publishes(source string, path []string) bool {
	const run = 2

	return slices.ContainsFunc([]string{connectionDetails, "writeConnectionSecretToRef"}, func(field string) bool {
		return strings.Contains(source, field) && (len(path) == run || slices.Contains(path, field))
	})
}

// ResourceNames are the composition resource names of what other steps compose that the expressions refer to: literal
// ones (true), and expressions that compute them.
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

// Resources that the expressions refer to, by their composition resource names: true when one of them needs the
// resource to be there. The problems are those of names that are computed.
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

// defaulted returns the paths, from a root, of the fields that an expression does without when they are not there:
// those that it asks for, and those for which it has something else. Those of the locals that it refers to are among
// them. What comes of runs, and of what other steps compose, is not: that may be gone on purpose.
func (e *Environment) defaulted(selections []selection) [][]string {
	var all [][]string

	// Locals that refer to each other lead to the same field in many ways.
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

		for n := len(s.path); given && s.asks(n); n-- { // The longest path says best what is missing.
			add(s.path[:n])
		}
	}

	return all
}

func contains(paths [][]string, path []string) bool {
	return slices.ContainsFunc(paths, func(other []string) bool { return slices.Equal(other, path) })
}

// Defaulted returns the paths of the fields of the XR, of required resources, of the environment, of the context
// and of locals that the expressions do without when they are not there, as in xr.spec.?users.orValue([]).
func (t *Template) Defaulted() [][]string {
	var all [][]string
	for _, p := range t.parts {
		if p.program != nil {
			all = append(all, p.program.defaulted...)
		}
	}

	return all
}

// Needs calls yield with the paths, from a root, of all that the expressions select and do not do without, and with
// that of the expression.
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
