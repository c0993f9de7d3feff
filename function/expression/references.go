package expression

import (
	"slices"

	"github.com/google/cel-go/common/ast"
)

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

	for c := range t.walk {
		for _, part := range c.parts {
			if part.program == nil {
				continue
			}

			ast.PreOrderVisit(part.program.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
				root, path, optional := placeOf(e)
				if !slices.Contains(roots[:], root) {
					return
				}

				path = slices.Concat([]string{root}, path)
				tested := slices.ContainsFunc(part.program.defaulted, func(p []string) bool { return slices.Equal(p, path) })
				all = append(all, Reference{At: c.path, Path: path, Tested: optional || tested})
			}))
		}
	}

	return all
}

// Literals calls yield with each text beside expressions, and its path.
func (t *Template) Literals(yield func(path, text string) bool) {
	for c := range t.walk {
		for _, p := range c.parts {
			if p.program == nil && !yield(c.path, p.text) {
				return
			}
		}
	}
}
