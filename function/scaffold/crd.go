package scaffold

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane/function-sdk-go/errors"
)

// A crd is a CustomResourceDefinition of a project.
type crd struct {
	// spec of it.
	spec *yaml.Node
	// stored version.
	stored string
}

// groupKind that it defines.
func (c crd) groupKind() schema.GroupKind {
	return schema.GroupKind{Group: text(c.spec, "group"), Kind: text(c.spec, "names", "kind")}
}

// name of it, and of the XRD.
func (c crd) name() string { return c.plural() + "." + text(c.spec, "group") }

func (c crd) plural() string { return text(c.spec, "names", "plural") }

func (c crd) isCluster() bool { return text(c.spec, "scope") == "Cluster" }

// properties of the spec of the stored version.
func (c crd) properties() *yaml.Node {
	return child(c.version(c.stored), "schema", "openAPIV3Schema", "properties", "spec", "properties")
}

func (c crd) version(name string) *yaml.Node {
	for _, v := range c.versions() {
		if text(v, "name") == name {
			return v
		}
	}

	return nil
}

func (c crd) versions() []*yaml.Node {
	if v := child(c.spec, "versions"); v != nil {
		return v.Content
	}

	return nil
}

// crdDirs are where projects have their definitions, by the version of the SDK.
var crdDirs = [...]string{"config/crd/bases", "deploy/crds"} //nolint:gochecknoglobals // Go has no constant arrays.

// loadCRDs of a project.
func loadCRDs(dir string) ([]crd, error) {
	var all []crd

	for _, below := range crdDirs {
		files, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(below), "*.y*ml"))
		if err != nil {
			return nil, errors.Wrap(err, "cannot look for CustomResourceDefinitions")
		}

		for _, f := range files {
			crds, err := crdsIn(f)
			if err != nil {
				return nil, errors.Wrap(err, filepath.Base(f))
			}

			all = append(all, crds...)
		}
	}

	if len(all) == 0 {
		return nil, errors.Errorf("the project has no CustomResourceDefinition in %s", strings.Join(crdDirs[:], " or "))
	}

	return all, nil
}

func crdsIn(file string) ([]crd, error) {
	documents, err := documentsIn(file)
	if err != nil {
		return nil, err
	}

	var all []crd

	for _, d := range documents {
		if text(d, "kind") != "CustomResourceDefinition" {
			continue
		}

		if v := text(d, "apiVersion"); v != "apiextensions.k8s.io/v1" {
			return nil, errors.Errorf(
				"a CustomResourceDefinition of %s, which Kubernetes has not served since v1.22: write it for "+
					"apiextensions.k8s.io/v1", v)
		}

		c := crd{spec: child(d, "spec")}

		for _, v := range c.versions() {
			if isTrue(v, "storage") {
				c.stored = text(v, "name")
			}
		}

		switch {
		case c.groupKind().Group == "" || c.groupKind().Kind == "" || c.plural() == "":
			return nil, errors.New("a CustomResourceDefinition without group, kind or plural")
		case c.stored == "":
			return nil, errors.Errorf("%s has no version that is stored", c.name())
		case !isTrue(c.version(c.stored), "served"):
			return nil, errors.Errorf("%s does not serve the version that it stores, %s: of an XRD one version is both",
				c.name(), c.stored)
		}

		all = append(all, c)
	}

	return all, nil
}

// documentsIn a YAML file.
func documentsIn(file string) ([]*yaml.Node, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, errors.Wrap(err, "cannot read the file")
	}

	defer f.Close() //nolint:errcheck // It was only read.

	var all []*yaml.Node

	for d := yaml.NewDecoder(f); ; {
		n := yaml.Node{}

		switch err := d.Decode(&n); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, errors.Wrap(err, "cannot read YAML")
		case len(n.Content) > 0:
			all = append(all, expanded(n.Content[0]))
		}
	}
}

// definition of the XRs that the CRD's objects become. Reported are the fields of the
// status that content is known to report.
func (c crd) definition(reported []string) (*mapping, error) {
	spec := newMapping().
		set("scope", text(c.spec, "scope")).
		set("group", text(c.spec, "group")).
		set("names", child(c.spec, "names"))

	var versions []*mapping

	for _, v := range c.versions() {
		m, err := c.versionOf(v, reported)
		if err != nil {
			return nil, errors.Wrapf(err, "%s, version %s", c.name(), text(v, "name"))
		}

		versions = append(versions, m)
	}

	spec.set("versions", versions)

	if s := text(c.spec, "conversion", "strategy"); s != "" && s != "None" {
		spec.set("conversion", child(c.spec, "conversion"), "The webhook has to stay when the operator goes.")
	}

	return newMapping().
		set("apiVersion", "apiextensions.crossplane.io/v2",
			"The API of the operator. Crossplane takes over the CustomResourceDefinition of this name, and the objects that "+
				"there are become XRs.").
		set("kind", "CompositeResourceDefinition").
		set("metadata", newMapping().set("name", c.name())).
		set("spec", spec), nil
}

// versionOf the XRD for a version of the CRD.
func (c crd) versionOf(v *yaml.Node, reported []string) (*mapping, error) {
	stored := text(v, "name") == c.stored

	m := newMapping().set("name", text(v, "name")).set("served", isTrue(v, "served")).set("referenceable", stored)

	for _, name := range []string{"deprecated", "deprecationWarning"} {
		if f := child(v, name); f != nil {
			m.set(name, f)
		}
	}

	m.set("additionalPrinterColumns", columns(v))

	if scale := child(v, "subresources", "scale"); scale != nil {
		m.set("subresources", newMapping().set("scale", scale), "Older releases of Crossplane ignore this.")
	}

	var comments []string
	if f := child(v, "selectableFields"); f != nil {
		comments = append(comments, "An XRD has no selectableFields. These were: "+oneLine(f))
	}

	openAPI, err := openAPI(child(v, "schema", "openAPIV3Schema"), reported)
	if err != nil {
		return nil, err
	}

	return m.set("schema", newMapping().set("openAPIV3Schema", openAPI), comments...), nil
}

// ownColumns are those that Crossplane adds itself.
var ownColumns = [...]string{"SYNCED", "READY", "COMPOSITION", "COMPOSITIONREVISION", "AGE"} //nolint:gochecknoglobals // Go has no constant arrays.

// columns that kubectl get shows.
func columns(v *yaml.Node) []*mapping {
	var all []*mapping

	status := statusColumn()

	if list := child(v, "additionalPrinterColumns"); list != nil {
		for _, n := range list.Content {
			name := strings.ToUpper(text(n, "name"))
			if slices.Contains(ownColumns[:], name) {
				continue
			}

			if name == "STATUS" {
				status = nil
			}

			all = append(all, without(n))
		}
	}

	if status != nil {
		all = append(all, status)
	}

	return all
}

// preserve is what a schema says of fields that it does not have.
const preserve = "x-kubernetes-preserve-unknown-fields"

// openAPI is the schema of XRs for that of a CRD.
func openAPI(n *yaml.Node, reported []string) (*mapping, error) {
	properties, written := newMapping(), child(n, "properties")

	for _, name := range keys(written) {
		switch name {
		case "spec", "status", "apiVersion", "kind":
		case "metadata":
			if child(written, name, "properties") != nil {
				properties.set(name, child(written, name))
			}
		default:
			return nil, errors.Errorf("the field %q: XRs have no fields beside spec and status", name)
		}
	}

	spec := child(written, "spec")
	if spec == nil {
		spec = nodeOf(newMapping().set("type", "object").set(preserve, true))
	}

	if child(spec, "properties", "crossplane") != nil {
		return nil, errors.New("the field spec.crossplane: of an XR that is Crossplane's own")
	}

	properties.set("spec", spec)
	statusOf(properties, child(written, "status"), reported)

	out := without(n, "properties", preserve, "required")

	var required []string
	if r := child(n, "required"); r != nil {
		if err := r.Decode(&required); err != nil {
			return nil, errors.Wrap(err, "required")
		}
	}

	if !slices.Contains(required, "spec") {
		required = append(required, "spec")
	}

	return out.set("required", required).set("properties", properties), nil
}

// statusOf an XR: what the CRD has, and what content is known to report.
func statusOf(properties *mapping, status *yaml.Node, reported []string) {
	var comments []string

	if child(status, "properties", "conditions") != nil {
		comments = append(comments, "The schema of conditions is Crossplane's own.")
	}

	fields := without(child(status, "properties"), "conditions", "crossplane")
	declared := len(fields.Content)

	if isTrue(status, preserve) || status == nil {
		comments = append(comments,
			"Crossplane keeps the fields of a status that are declared here, and no others: declare all that the content "+
				"reports.")

		for _, name := range reported {
			if name != "conditions" && child(&fields.Node, name) == nil {
				fields.set(name, newMapping().set(preserve, true))
			}
		}
	}

	if declared < len(fields.Content) {
		comments = append(comments, "Fields that the project's tasks report were added, without types.")
	}

	properties.set("status", without(status, "properties", "type", preserve).set("type", "object").set("properties",
		fields), comments...)
}
