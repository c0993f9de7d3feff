package scaffold

import (
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// A crd is a CustomResourceDefinition of a project.
type crd struct {
	// spec of it.
	spec map[string]any
	// stored version.
	stored string
}

func (c crd) text(path ...string) string { return manifest.NestedText(c.spec, path...) }

// groupKind that it defines.
func (c crd) groupKind() metav1.GroupKind {
	return metav1.GroupKind{Group: c.text("group"), Kind: c.text("names", "kind")}
}

// name of it, and of the XRD.
func (c crd) name() string { return c.text("names", "plural") + "." + c.text("group") }

func (c crd) isCluster() bool { return c.text("scope") == "Cluster" }

// properties of the spec of the stored version, by name.
func (c crd) properties() map[string]any {
	return object(manifest.Nested(c.version(c.stored), "schema", "openAPIV3Schema", "properties", "spec", "properties"))
}

func (c crd) version(name string) map[string]any {
	for _, v := range listOf(c.spec, "versions") {
		if manifest.Text(object(v), "name") == name {
			return object(v)
		}
	}

	return nil
}

// crdDirs are where projects have their definitions, by the version of the SDK.
var crdDirs = [...]string{"config/crd/bases", "deploy/crds"} //nolint:gochecknoglobals // Go has no constant arrays.

// loadCRDs of a project.
func loadCRDs(dir string) ([]crd, error) {
	var all []crd

	for _, below := range crdDirs {
		files, _ := filepath.Glob(filepath.Join(dir, filepath.FromSlash(below), "*.y*ml")) // The pattern is well formed.

		for _, f := range files {
			documents, err := documentsIn(f)
			if err != nil {
				return nil, err
			}

			for _, d := range documents {
				if manifest.Text(object(d), "kind") != "CustomResourceDefinition" {
					continue
				}

				c, err := crdOf(object(d))
				if err != nil {
					return nil, errors.Wrap(err, filepath.Base(f))
				}

				all = append(all, c)
			}
		}
	}

	if len(all) == 0 {
		return nil, errors.Errorf("the project has no CustomResourceDefinition in %s", strings.Join(crdDirs[:], " or "))
	}

	return all, nil
}

// crdOf a definition.
func crdOf(d map[string]any) (crd, error) {
	c := crd{spec: object(d["spec"])}

	for _, v := range listOf(c.spec, "versions") {
		if object(v)["storage"] == true {
			c.stored = manifest.Text(object(v), "name")
		}
	}

	switch v := manifest.Text(d, "apiVersion"); {
	case v != "apiextensions.k8s.io/v1":
		return c, errors.Errorf("a CustomResourceDefinition of %s, which Kubernetes has not served since v1.22: "+
			"write it for apiextensions.k8s.io/v1", v)
	case c.version(c.stored)["served"] != true:
		return c, errors.Errorf("%s does not serve the version that it stores, %s: of an XRD one version is both",
			c.name(), c.stored)
	}

	return c, nil
}

// definition of the XRs that the CRD's objects become. Reported are the fields of the
// status that content is known to report.
func (c crd) definition(reported []string) (*mapping, error) {
	spec := newMapping().
		set("scope", c.text("scope")).
		set("group", c.text("group")).
		set("names", c.spec["names"])

	var versions []*mapping

	for _, v := range listOf(c.spec, "versions") {
		m, err := c.versionOf(object(v), reported)
		if err != nil {
			return nil, errors.Wrapf(err, "%s, version %s", c.name(), manifest.Text(object(v), "name"))
		}

		versions = append(versions, m)
	}

	spec.set("versions", versions)

	if s := c.text("conversion", "strategy"); s != "" && s != "None" {
		spec.set("conversion", c.spec["conversion"], "The webhook has to stay when the operator goes.")
	}

	return definitionOf(c.name(), spec,
		"The API of the operator. Crossplane takes over the CustomResourceDefinition of this name, and the objects that "+
			"there are become XRs."), nil
}

// versionOf the XRD for a version of the CRD.
func (c crd) versionOf(v map[string]any, reported []string) (*mapping, error) {
	m := newMapping().add(manifest.Pick(v, "name")).
		set("served", v["served"] == true).
		set("referenceable", manifest.Text(v, "name") == c.stored).
		add(manifest.Pick(v, "deprecated", "deprecationWarning")).
		set("additionalPrinterColumns", columns(v))

	if scale := manifest.Nested(v, "subresources", "scale"); scale != nil {
		m.set("subresources", newMapping().set("scale", scale), "Older releases of Crossplane ignore this.")
	}

	var comments []string
	if f := v["selectableFields"]; f != nil {
		comments = append(comments, "An XRD has no selectableFields. These were: "+oneLine(f))
	}

	openAPI, err := openAPI(object(manifest.Nested(v, "schema", "openAPIV3Schema")), reported)
	if err != nil {
		return nil, err
	}

	return m.set("schema", newMapping().set("openAPIV3Schema", openAPI), comments...), nil
}

// ownColumns are those that Crossplane adds itself.
var ownColumns = [...]string{"SYNCED", "READY", "COMPOSITION", "COMPOSITIONREVISION", "AGE"} //nolint:gochecknoglobals // Go has no constant arrays.

// columns that kubectl get shows.
func columns(v map[string]any) []*mapping {
	var all []*mapping

	last := []*mapping{statusColumn()}

	for _, column := range listOf(v, "additionalPrinterColumns") {
		switch name := strings.ToUpper(manifest.Text(object(column), "name")); {
		case slices.Contains(ownColumns[:], name):
			continue
		case name == "STATUS":
			last = nil
		}

		all = append(all, newMapping().add(object(column)))
	}

	return append(all, last...)
}

// openAPI is the schema of XRs for that of a CRD.
func openAPI(of map[string]any, reported []string) (*mapping, error) {
	properties, written := newMapping(), object(of["properties"])

	for _, name := range manifest.SortedKeys(written) {
		switch name {
		case "spec", "status", "apiVersion", "kind":
		case "metadata":
			if object(written[name])["properties"] != nil {
				properties.set(name, written[name])
			}
		default:
			return nil, errors.Errorf("the field %q: XRs have no fields beside spec and status", name)
		}
	}

	spec := object(written["spec"])
	if spec == nil {
		spec = map[string]any{"type": "object", preserve: true}
	}

	if manifest.Nested(spec, "properties", "crossplane") != nil {
		return nil, errors.New("the field spec.crossplane: of an XR that is Crossplane's own")
	}

	setStatus(properties.set("spec", spec), object(written["status"]), reported)

	required := listOf(of, "required")
	if !slices.Contains(required, any("spec")) {
		required = append(slices.Clone(required), "spec")
	}

	return newMapping().add(without(of, "properties", preserve, "required")).
		set("required", required).set("properties", properties), nil
}

// setStatus adds the status of an XR to properties: what the CRD has, and what content is known to report.
func setStatus(properties *mapping, status map[string]any, reported []string) {
	var comments []string

	if manifest.Nested(status, "properties", "conditions") != nil {
		comments = append(comments, "The schema of conditions is Crossplane's own.")
	}

	fields := without(object(status["properties"]), "conditions", "crossplane")
	declared := len(fields)

	if status[preserve] == true || status == nil {
		comments = append(comments,
			"Crossplane keeps the fields of a status that are declared here, and no others: declare all that the content "+
				"reports.")

		for _, name := range reported {
			if name != "conditions" && fields[name] == nil {
				fields[name] = map[string]any{preserve: true}
			}
		}
	}

	if declared < len(fields) {
		comments = append(comments, "Fields that the project's tasks report were added, without types.")
	}

	properties.set("status", newMapping().add(without(status, "properties", "type", preserve)).
		set("type", "object").set("properties", fields), comments...)
}

// without is a copy of an object that lacks some of its fields.
func without(o map[string]any, names ...string) map[string]any {
	return manifest.Pick(o, slices.DeleteFunc(manifest.SortedKeys(o),
		func(name string) bool { return slices.Contains(names, name) })...)
}
