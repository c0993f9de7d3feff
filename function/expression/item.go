package expression

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// An Item is what is known of the values of a list or a map, which each.value is
// one of.
type Item struct {
	// Type of the values, as CEL calls it.
	Type string

	declared *apiservercel.DeclType
}

// Item returns what is known of the values of a list or a map; nil for nothing.
func (e *Environment) Item(t *Template) *Item {
	p := t.expression()
	if p == nil {
		return nil
	}

	out := inside(p.output)
	if out.Kind() != types.ListKind && out.Kind() != types.MapKind {
		return nil
	}

	of := out.Parameters()[len(out.Parameters())-1]

	d := e.declaredFor(of)
	if d == apiservercel.DynType {
		return nil
	}

	return &Item{Type: of.String(), declared: detached(prefix+"Each.value", d)}
}

// detached copy of a declaration, of another name. Nobody knows of a value that
// stands alone which of its numbers stay doubles, so they can be any.
func detached(name string, d *apiservercel.DeclType) *apiservercel.DeclType {
	switch {
	case d.IsObject():
		fields := make(map[string]*apiservercel.DeclField, len(d.Fields))
		for f := range d.Fields {
			fields[f] = declare(f, detached(name+"."+f, d.Fields[f].Type))
		}

		return apiservercel.NewObjectType(name, fields)
	case d.IsList():
		return apiservercel.NewListType(detached(name+".@item", d.ElemType), -1)
	case d.IsMap():
		return apiservercel.NewMapType(d.KeyType, detached(name+".@value", d.ElemType), -1)
	case d.TypeName() == apiservercel.DoubleType.TypeName():
		return apiservercel.DynType
	}

	return d
}

// misindexed returns the mistakes of an expression that selects fields by their
// names in brackets. An object of a schema has no other fields than by a dot.
func (e *Environment) misindexed(source string) []string {
	if !strings.Contains(source, "[") {
		return nil
	}

	parsed, issues := e.cel.Parse(source)
	if issues.Err() != nil {
		return nil
	}

	indexed := false
	factory := ast.NewExprFactory()

	ast.PostOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		if x.Kind() != ast.CallKind || len(x.AsCall().Args()) != 2 {
			return
		}

		args := x.AsCall().Args()
		if args[1].Kind() != ast.LiteralKind || args[1].AsLiteral().Type() != types.StringType {
			return
		}

		name, _ := args[1].AsLiteral().Value().(string)

		switch x.AsCall().FunctionName() {
		case operators.Index:
			x.SetKindCase(factory.NewSelect(x.ID(), args[0], name))
		case operators.OptIndex:
			x.SetKindCase(factory.NewCall(x.ID(), operators.OptSelect, args...))
		default:
			return
		}

		indexed = true
	}))

	if !indexed {
		return nil
	}

	_, issues = e.cel.Check(parsed)
	if issues.Err() == nil {
		return nil
	}

	var messages []string

	for _, err := range issues.Errors() {
		if isMistake(err) {
			messages = append(messages, e.explain(source, err))
		}
	}

	return slices.Compact(messages)
}
