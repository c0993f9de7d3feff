package expression

import (
	"github.com/google/cel-go/common/types"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

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

	d := e.forJSON(of)
	if d == apiservercel.DynType {
		return nil
	}

	return &Item{Type: of.String(), declared: detached(prefix+"Each.value", d)}
}

// detached returns a copy of a declaration by another name. Without the schema it is not
// known which integral numbers in it are doubles, so that numbers may be of any type.
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
