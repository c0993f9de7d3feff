package compile

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/fields"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
)

// references returns the texts of a run that hold an expression in fields that are otherwise literal.
func references(at *field.Path, object map[string]any) []fields.Text {
	var refs []fields.Text

	for _, name := range fields.Names(func(f fields.Field) bool { return f.Kind == fields.Referring }) {
		fields.References(at.Child(name), name, object[name], func(t fields.Text) {
			if strings.Contains(t.Value, "${") {
				refs = append(refs, t)
			}
		})
	}

	return refs
}

// Expressions for the name and the uid of an XR.
const (
	sourceName = "xr.metadata.name"
	sourceUID  = "xr.metadata.uid"
)

// objectNames returns the names of other objects, the content and the variables of the environment that a run computes.
// A run may choose any object in the namespace of its XR. The name of any other object must hold the uid of the XR, so
// that it cannot be an object of another owner.
func objectNames(env *expression.Environment, r input.Run,
	namespaced bool,
) (map[fields.Key]*expression.Template, field.ErrorList) {
	names := map[fields.Key]*expression.Template{}

	var errs field.ErrorList

	for _, t := range references(r.Path, r.Object) {
		at := field.NewPath(strings.TrimPrefix(strings.TrimPrefix(t.Path.String(), r.Path.String()), "."))
		names[t.Key()], _ = env.Compile(at, t.Value)
		errs = append(errs, mistyped(t.Path, names[t.Key()], expression.String)...)

		switch {
		case t.Meaning == fields.Content && len(r.Allowed[t.Of]) == 0:
			errs = append(errs,
				field.Forbidden(t.Path,
					"an expression may stand here only beside a list of the values that it may have, with patterns such as v1.*: "+
						"write allowed: {"+t.Of+": [...]}"))
		case t.Meaning == fields.Value && strings.HasPrefix(t.Of, "ANSIBLE_"):
			errs = append(errs,
				field.Forbidden(t.Path,
					"a variable with a name that begins with ANSIBLE_ changes how Ansible works: its value is literal"))
		case t.Meaning != fields.Name:
		case !namespaced:
			if n := names[t.Key()]; !n.Identifies() || !n.Has(sourceUID) {
				errs = append(errs,
					field.Forbidden(t.Path,
						"the name of what is not in an XR's own namespace must hold ${xr.metadata.uid}, and beside it only the name of "+
							"the XR, its claim and each.key; other names may be those of other XRs"))
			}
		case strings.Contains(t.Path.String(), "providerConfigRef") && t.Of != "ProviderConfig":
			errs = append(errs,
				field.Forbidden(t.Path,
					"only the name of a ProviderConfig in the XR's own namespace can be computed; set kind: ProviderConfig"))
		}
	}

	return names, errs
}

// nameMistakes reports literal names in references that no object can have.
func nameMistakes(path *field.Path, object map[string]any) field.ErrorList {
	var errs field.ErrorList

	fields.References(path, "", object, func(t fields.Text) {
		if t.Meaning == fields.Name && !strings.Contains(t.Value, "${") && len(validation.IsDNS1123Subdomain(t.Value)) > 0 {
			errs = append(errs, field.Invalid(t.Path, t.Value, "cannot be the name of an object"))
		}
	})

	return errs
}

// secretNameMistakes in the name of the Secret with the connection details of an XR. In
// a namespace that is not the XR's own, no author of one may choose it freely.
func secretNameMistakes(t *expression.Template, namespaced bool) field.ErrorList {
	partial := strings.Join(t.Text(), "") != ""

	if t.Identifies() && (t.Has(sourceUID) || t.Has(sourceName) && (namespaced || partial)) {
		return nil
	}

	return field.ErrorList{field.Forbidden(field.NewPath("connectionSecret", "name"),
		"must hold what is the XR's own, as in ${xr.metadata.name}-admin or ${xr.metadata.uid}, and beside that only the "+
			"name of the XR and its claim")}
}

// notANamespace reports what cannot be the name of a namespace: core could compose
// nothing of the XR.
func notANamespace(path *field.Path, name string) field.ErrorList {
	if len(validation.IsDNS1123Label(name)) == 0 {
		return nil
	}

	return field.ErrorList{field.Invalid(path, name, "cannot be the name of a namespace; it is literal")}
}
