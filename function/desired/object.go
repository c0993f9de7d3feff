package desired

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// object renders the AnsibleRun of a run, or of a member of a set.
func (r *renderer) object(ctx context.Context, run *plan.Run, resource string,
	data expression.Data,
) (map[string]any, []expression.Problem) {
	o, problems := run.Evaluate(ctx, data)
	metadata, _ := o["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)

	if uid := r.Observed.UID(); uid != "" {
		labels[ansiblerun.LabelComposite] = uid
	}

	if r.inUse(run, resource) {
		labels[ansiblerun.LabelInUse] = "true"
	}

	if on := r.dependsOn(run, resource, data); len(on) > 0 {
		annotations[ansiblerun.AnnotationDependsOn] = strings.Join(on, ",")
	}

	if spec, _ := o["spec"].(map[string]any); run.Published {
		spec["writeConnectionSecretToRef"] = r.secret(run, resource)
	}

	maps.DeleteFunc(metadata, func(_ string, v any) bool { return manifest.Equal(v, nil) })

	return o, problems
}

// secret returns the reference to the Secret for the connection details of an AnsibleRun. A reference that core has
// applied is kept, so that an edit of the Composition does not lose connection details.
func (r *renderer) secret(run *plan.Run, resource string) map[string]any {
	was := r.Observed.Resources[resource].Again()
	if ref, ok := manifest.Nested(was, "spec", "writeConnectionSecretToRef").(map[string]any); ok {
		return ref
	}

	ref := map[string]any{"name": secretName(cmp.Or(r.Observed.UID(), manifest.Name(r.Observed.XR)), resource)}
	if run.APIVersion() == ansiblerun.APIVersionNamespaced {
		return ref
	}

	ref["namespace"] = r.plan.Connection.Namespace

	return ref
}

// secretName returns the name of the Secret for the connection details of a composed resource. It begins with the UID
// of the XR: core does not check the origin of a Secret, so no other XR may use the name. The name of a resource is
// hashed if it cannot be in the name of a Secret, for example with capital letters.
func secretName(uid, resource string) string {
	name := uid + "-" + strings.NewReplacer("[", ".", "]", "").Replace(resource)
	if len(validation.IsDNS1123Subdomain(name)) == 0 {
		return name
	}

	sum := sha256.Sum256([]byte(resource))

	return uid + "-" + hex.EncodeToString(sum[:16])
}

// inUse is true for an AnsibleRun with LabelInUse: a new one with a dependent that has Usages, or an observed one that
// core has applied with the label, until core removes it.
func (r *renderer) inUse(run *plan.Run, resource string) bool {
	if o, ok := r.Observed.Resources[resource]; ok {
		has := func(o map[string]any) bool {
			return manifest.Nested(o, "metadata", "labels", ansiblerun.LabelInUse) != nil
		}

		return has(o.Object) && has(o.Applied)
	}

	return slices.ContainsFunc(r.plan.Runs, func(by *plan.Run) bool {
		_, needs := by.Needs[run.Name]
		return needs && by.Usages
	})
}

// dependsOn returns the entries of AnnotationDependsOn: the wanted runs that a run depends on, and the resources of
// other steps that it refers to.
func (r *renderer) dependsOn(run *plan.Run, resource string, data expression.Data) []string {
	var resources []string

	key, _ := data.Each["key"].(string)

	for name := range run.Needs {
		if !r.dependency(run, name, data).Unwanted() {
			resources = append(resources, r.dependsOnEntries(run, r.plan.ByResource[name], key)...)
		}
	}

	for name := range r.References[resource] {
		if _, ok := r.Data.Resources[name]; ok {
			resources = append(resources, name)
		}
	}

	slices.Sort(resources)

	return slices.Compact(resources)
}

// dependsOnEntries returns the entries in AnnotationDependsOn of a run for another run, or for its member with a key.
// They have the names that core knows, see PreviousName, since these stay valid when the other run is removed from the
// Composition.
func (r *renderer) dependsOnEntries(run, on *plan.Run, key string) []string {
	entry := run.Entry(on, key)
	if !strings.HasSuffix(entry, ansiblerun.AllKeys) {
		return []string{r.PreviousName(entry)}
	}

	entries := []string{entry}

	for resource, was := range r.Renamed {
		if !on.Owns(resource) {
			continue
		}

		if set, _, ok := plan.Member(was); ok {
			was = set + ansiblerun.AllKeys
		}

		entries = append(entries, was)
	}

	return entries
}
