package compile

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
)

// The Secret that holds connection details of XRs that have none of their own.
const (
	// ResourceConnection is its composition resource name.
	ResourceConnection = "connection-details"
)

// Connection are the connection details of XRs, compiled.
type Connection struct {
	Names     []string
	Values    []*expression.Template
	Namespace string
	// Name of the Secret; nil for the usual one.
	Name *expression.Template
}

// compileConnection of the XR. Only here do expressions see connection details of
// runs.
func compileConnection(env *expression.Environment, in v1alpha1.AnsibleRuns, namespaced bool) (Connection, field.ErrorList) {
	var (
		d    Connection
		errs field.ErrorList
	)

	root := field.NewPath("connectionDetails")

	for i, detail := range in.ConnectionDetails {
		if slices.Contains(d.Names, detail.Name) {
			errs = append(errs, field.Duplicate(root.Index(i).Child("name"), detail.Name))
		}

		t, terrs := env.Compile(root.Index(i).Child("value"), detail.Value)
		errs = append(errs, terrs...)
		errs = append(errs, mistyped(root.Index(i).Child("value"), t, expression.String)...)
		d.Names = append(d.Names, detail.Name)
		d.Values = append(d.Values, t)
	}

	secret := ptr.Deref(in.ConnectionSecret, v1alpha1.ConnectionSecret{})
	d.Namespace = secret.Namespace

	if namespaced && d.Namespace != "" {
		errs = append(errs, field.Forbidden(field.NewPath("connectionSecret", "namespace"), "the Secret of a namespaced XR is in its own namespace"))
	} else if d.Namespace != "" {
		errs = append(errs, notANamespace(field.NewPath("connectionSecret", "namespace"), d.Namespace)...)
	}

	if secret.Name != "" {
		t, terrs := env.Compile(field.NewPath("connectionSecret", "name"), secret.Name)
		d.Name = t
		errs = append(errs, append(terrs, nameMistakes(t, namespaced)...)...)
	}

	return d, errs
}

// nameMistakes in the name of the Secret with the connection details of an XR. In
// a namespace that is not the XR's own, no author of one may choose it freely.
func nameMistakes(t *expression.Template, namespaced bool) field.ErrorList {
	partial := strings.Join(t.Text(), "") != ""

	if t.Identifies() && (t.Has(sourceUID) || t.Has(sourceName) && (namespaced || partial)) {
		return nil
	}

	return field.ErrorList{field.Forbidden(field.NewPath("connectionSecret", "name"), "must hold what is the XR's own, as in ${xr.metadata.name}-admin or ${xr.metadata.uid}, and beside that only the name of the XR and its claim")}
}
