package scaffold

import (
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// A crd is the spec of a CustomResourceDefinition.
type crd map[string]any

func (c crd) text(path ...string) string { return manifest.NestedText(c, path...) }

// name returns the name of the CRD, and of the XRD.
func (c crd) name() string { return c.text("names", "plural") + "." + c.text("group") }

func (c crd) isCluster() bool { return c.text("scope") == "Cluster" }

// stored returns the stored version.
func (c crd) stored() map[string]any {
	for _, v := range listOf(c, "versions") {
		if object(v)["storage"] == true {
			return object(v)
		}
	}

	return nil
}

// crdDirs are the directories for CRDs in a project. The version of the Operator SDK decides which one a project has.
const crdDirs = "config/crd/bases or deploy/crds"

// crds returns the CRDs of the project.
func (p project) crds() (map[schema.GroupKind]crd, error) {
	all := map[schema.GroupKind]crd{}

	for _, file := range manifest.SortedKeys(p.config) {
		if !slices.Contains(strings.Split(crdDirs, " or "), path.Dir(file)) || !strings.Contains(path.Ext(file), "ml") {
			continue
		}

		documents, err := p.config.documents(file)
		if err != nil {
			return nil, err
		}

		for _, d := range documents {
			c := crd(object(object(d)["spec"]))

			switch v := manifest.Text(object(d), "apiVersion"); {
			case manifest.Text(object(d), "kind") != "CustomResourceDefinition":
				continue
			case v != "apiextensions.k8s.io/v1":
				return nil, errors.Errorf("%s: a CustomResourceDefinition of %s, which Kubernetes has not served since v1.22: "+
					"write it for apiextensions.k8s.io/v1", file, v)
			case c.stored()["served"] != true:
				return nil, errors.Errorf("%s: %s does not serve the version that it stores, %s: of an XRD one version is both",
					file, c.name(), manifest.Text(c.stored(), "name"))
			}

			all[schema.GroupKind{Group: c.text("group"), Kind: c.text("names", "kind")}] = c
		}
	}

	return all, nil
}

// definition returns the XRD that replaces the CRD. reported has the status fields that the content reports.
func (c crd) definition(reported []string) (*mapping, error) {
	var versions []*mapping

	for _, v := range listOf(c, "versions") {
		of, err := openAPI(object(manifest.Nested(object(v), "schema", "openAPIV3Schema")), reported)
		if err != nil {
			return nil, errors.Wrapf(err, "%s, version %s", c.name(), manifest.Text(object(v), "name"))
		}

		m := newMapping().add(manifest.Pick(object(v), "name", "served", "deprecated", "deprecationWarning")).
			set("referenceable", object(v)["storage"] == true).
			set("additionalPrinterColumns", columns(object(v)))

		if scale := manifest.Nested(object(v), "subresources", "scale"); scale != nil {
			m.set("subresources", newMapping().set("scale", scale), "Older releases of Crossplane ignore this.")
		}

		versions = append(versions, m.set("schema", newMapping().set("openAPIV3Schema", of)))
	}

	return definitionOf(c.name(), newMapping().
		add(manifest.Pick(c, "group", "names", "scope", "conversion")).
		set("versions", versions),
		"The API of the operator. Crossplane takes over the CustomResourceDefinition of this name, and the objects that "+
			"there are become XRs."), nil
}

// columns returns the printer columns of the XRD: those of the CRD, without those that Crossplane adds, and a Status
// column if it has none.
func columns(version map[string]any) []*mapping {
	var all []*mapping

	last := []*mapping{statusColumn()}

	for _, column := range listOf(version, "additionalPrinterColumns") {
		switch strings.ToUpper(manifest.Text(object(column), "name")) {
		case "SYNCED", "READY", "COMPOSITION", "COMPOSITIONREVISION", "AGE":
			continue
		case "STATUS":
			last = nil
		}

		all = append(all, newMapping().add(object(column)))
	}

	return append(all, last...)
}

// openAPI converts the schema of a CRD to the schema of XRs.
func openAPI(of map[string]any, reported []string) (*mapping, error) {
	written := object(of["properties"])

	for name := range without(written, "spec", "status", "metadata", "apiVersion", "kind") {
		return nil, errors.Errorf("the field %q: XRs have no fields beside spec and status", name)
	}

	spec := object(written["spec"])
	if spec == nil {
		spec = map[string]any{"type": "object", preserve: true}
	}

	if manifest.Nested(spec, "properties", "crossplane") != nil {
		return nil, errors.New("the field spec.crossplane: of an XR that is Crossplane's own")
	}

	properties := newMapping().add(manifest.Pick(written, "metadata")).set("spec", spec)
	setStatus(properties, object(written["status"]), reported)

	required := listOf(of, "required")
	if !slices.Contains(required, any("spec")) {
		required = append(slices.Clone(required), "spec")
	}

	return newMapping().add(without(of, "properties", preserve, "required")).
		set("required", required).set("properties", properties), nil
}

// setStatus adds the status of an XR to properties: the fields of the CRD and those that the content reports.
func setStatus(properties *mapping, status map[string]any, reported []string) {
	var comments []string

	fields := without(object(status["properties"]), "conditions", "crossplane")

	if status[preserve] == true || status == nil {
		comments = append(comments, "Crossplane keeps the fields of a status that are declared here, and no others: "+
			"declare all that the content reports. Fields that the project's tasks report have no types.")

		for _, name := range reported {
			if name != "conditions" && fields[name] == nil {
				fields[name] = map[string]any{preserve: true}
			}
		}
	}

	properties.set("status", newMapping().add(without(status, "properties", "type", preserve)).
		set("type", "object").set("properties", fields), comments...)
}

// without returns a copy of an object without some fields.
func without(o map[string]any, names ...string) map[string]any {
	return manifest.Pick(o, slices.DeleteFunc(manifest.SortedKeys(o),
		func(name string) bool { return slices.Contains(names, name) })...)
}
