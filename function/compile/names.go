package compile

import (
	"fmt"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/fields"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// Expressions for the name and the UID of an XR.
const (
	sourceName = "xr.metadata.name"
	sourceUID  = "xr.metadata.uid"
)

// text compiles a text of a Referring field f: it returns a *plan.Value for a text with an expression, and the text
// itself for others. A namespaced run may refer to any object in the namespace of its XR. Otherwise the name must
// contain the UID of the XR, so that the object cannot belong to another owner.
func (c compiler) text(r input.Run, f fields.Field, t fields.Text, namespaced bool) any {
	if !t.Computes() || !strings.Contains(t.Value, "${") {
		return t.Value
	}

	at := field.NewPath(asWritten(t.Path.String()))
	v := &plan.Value{Template: c.compile(at, t.Value, expression.String), Required: true, Entry: f.OptionalEntries}
	_, project := r.Object["project"]

	v.As = func(computed any) (any, error) {
		playbook := t.Of == fields.AllowedPlaybook || t.Of == fields.AllowedPlaybooks
		ext := path.Ext(fmt.Sprint(computed))

		if playbook && !project && (ext == ".yml" || ext == ".yaml") {
			return nil, errors.Errorf("%s is a path, which needs project, the repository that has it", manifest.Show(computed))
		}

		return computed, t.Check(computed, r.Allowed[t.Of])
	}

	c.name(r, t, v.Template, namespaced)

	return v
}

// name reports a text that must not have this expression.
func (c compiler) name(r input.Run, t fields.Text, computed *expression.Template, namespaced bool) {
	forbidden := ""

	switch {
	case t.Meaning == fields.Content && len(r.Allowed[t.Of]) == 0:
		forbidden = "an expression may stand here only beside a list of the values that it may have, with patterns such as " +
			"v1.*: write allowed: {" + t.Of + ": [...]}"
	case t.Meaning == fields.Value && strings.HasPrefix(t.Of, "ANSIBLE_"):
		forbidden = "a variable with a name that begins with ANSIBLE_ changes how Ansible works: its value is literal"
	case t.Meaning != fields.Name:
	case !namespaced:
		if computed.Varies || !computed.Has(sourceUID) {
			forbidden = "the name of what is not in an XR's own namespace must hold ${xr.metadata.uid}, and beside it only " +
				"the name of the XR, its claim and each.key; other names may be those of other XRs"
		}
	case strings.Contains(t.Path.String(), "providerConfigRef") && t.Of != "ProviderConfig":
		forbidden = "only the name of a ProviderConfig in the XR's own namespace can be computed; set kind: ProviderConfig"
	}

	if forbidden != "" {
		c.add(field.Forbidden(c.at.Child(computed.Path), forbidden))
	}
}

// nameMistakes returns errors for invalid names of objects in the references of an AnsibleRun.
func nameMistakes(path *field.Path, spec any) field.ErrorList {
	var errs field.ErrorList

	fields.Replace(path, "", spec, func(t fields.Text) any {
		if t.Meaning == fields.Name && t.Value != "" && len(validation.IsDNS1123Subdomain(t.Value)) > 0 {
			errs = append(errs, field.Invalid(t.Path, t.Value, "cannot be the name of an object"))
		}

		return t.Value
	})

	return errs
}

// secretName reports mistakes in the name of the Secret with the connection details of an XR. The author of an XR must
// not be able to choose the name of the Secret of another XR.
func (c compiler) secretName(t *expression.Template, namespaced bool) {
	partial := strings.Join(t.Text(), "") != ""

	if t.Varies || !t.Has(sourceUID) && (!t.Has(sourceName) || !namespaced && !partial) {
		c.add(field.Forbidden(field.NewPath("connectionSecret", "name"),
			"must hold what is the XR's own, as in ${xr.metadata.name}-admin or ${xr.metadata.uid}, and beside that only the "+
				"name of the XR and its claim"))
	}
}

// namespace reports an invalid name of a namespace, with which core could compose no resource of the XR.
func (c compiler) namespace(path *field.Path, name string) {
	if len(validation.IsDNS1123Label(name)) > 0 {
		c.add(field.Invalid(path, name, "cannot be the name of a namespace; it is literal"))
	}
}
