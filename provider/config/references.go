package config

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// Kinds that hold files.
const (
	KindSecret    = "Secret"
	KindConfigMap = "ConfigMap"
)

// Fields that AnsibleRuns and configurations are indexed by, for a cache to find
// those that a change concerns.
const (
	// FieldReferences indexes AnsibleRuns and configurations by what they refer
	// to, see Reference.String.
	FieldReferences = "provider.references"
	// FieldConfig indexes AnsibleRuns by their configuration, see NameOf.
	FieldConfig = "provider.config"
)

// A Reference to a Secret or a ConfigMap.
type Reference struct {
	Kind string
	types.NamespacedName
}

// String that the index has.
func (r Reference) String() string { return r.Kind + " " + r.NamespacedName.String() }

// IndexReferences returns an object's value of FieldReferences: what the Resolver reads for an AnsibleRun or a
// configuration, and the Secret for its connection details. Those of an AnsibleRun are without those of
// its configuration.
func IndexReferences(o client.Object) []string {
	switch o := o.(type) {
	case common.AnsibleRun:
		refs := referencesOf(source{namespace: o.GetNamespace()}, runSelectors(o.Parameters()))

		if key, ok := ConnectionSecret(o); ok && !slices.Contains(refs, Reference{KindSecret, key}.String()) {
			refs = append(refs, Reference{KindSecret, key}.String())
		}

		return refs
	case common.Config:
		return referencesOf(source{namespace: o.GetNamespace()}, configSelectors(o.ConfigSpec()))
	}

	return nil
}

// ConnectionSecret is the Secret that the connection details of an AnsibleRun go
// to; false when they go nowhere.
func ConnectionSecret(run common.AnsibleRun) (types.NamespacedName, bool) {
	switch o := run.(type) {
	case resource.LocalConnectionSecretWriterTo:
		if ref := o.GetWriteConnectionSecretToReference(); ref != nil {
			return types.NamespacedName{Namespace: run.GetNamespace(), Name: ref.Name}, true
		}
	case resource.ConnectionSecretWriterTo:
		if ref := o.GetWriteConnectionSecretToReference(); ref != nil {
			return types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, true
		}
	}

	return types.NamespacedName{}, false
}

// A selector is a key of a Secret or of a ConfigMap; without a key it is all of the object, and without a reference
// neither.
type selector struct {
	kind string
	ref  *common.KeySelector
	// field that has the reference.
	field string
}

func varsSelector(v common.VarFile) selector {
	whole := func(kind string, o *common.ObjectSelector, field string) selector {
		return selector{kind, &common.KeySelector{Namespace: o.Namespace, Name: o.Name}, field}
	}

	switch v.Source {
	case common.VarFileSourceSecret:
		return whole(KindSecret, v.SecretRef, "secretRef")
	case common.VarFileSourceConfigMap:
		return whole(KindConfigMap, v.ConfigMapRef, "configMapRef")
	case common.VarFileSourceConfigMapKey:
		return selector{KindConfigMap, v.ConfigMapKeyRef, "configMapKeyRef"}
	case common.VarFileSourceSecretKey:
	}

	return selector{KindSecret, v.SecretKeyRef, "secretKeyRef"}
}

func envSelector(v common.EnvVar) selector {
	switch from := v.ValueFrom; {
	case from == nil:
		return selector{}
	case from.SecretKeyRef != nil:
		return selector{KindSecret, from.SecretKeyRef, "valueFrom.secretKeyRef"}
	default:
		return selector{KindConfigMap, from.ConfigMapKeyRef, "valueFrom.configMapKeyRef"}
	}
}

// fileSelector has no reference for sources that are neither a Secret nor a ConfigMap.
func fileSelector(f common.FileSelector) selector {
	switch f.Source { //nolint:exhaustive // The others have none.
	case common.FileSourceSecret:
		return selector{KindSecret, f.SecretRef, "secretRef"}
	case common.FileSourceConfigMapKey:
		return selector{KindConfigMap, f.ConfigMapKeyRef, "configMapKeyRef"}
	}

	return selector{}
}

func runSelectors(p *common.AnsibleRunParameters) []selector {
	all := selectors(p.VarFiles, p.Env)
	for _, inv := range p.Inventories {
		all = append(all, fileSelector(inv.FileSelector))
	}

	return all
}

func configSelectors(c *common.ProviderConfigSpec) []selector {
	all := selectors(c.VarFiles, c.Env)
	for _, cred := range c.Credentials {
		all = append(all, fileSelector(cred.FileSelector))
	}

	return all
}

func selectors(vars []common.VarFile, env []common.EnvVar) []selector {
	var all []selector

	for _, v := range vars {
		all = append(all, varsSelector(v))
	}

	for _, v := range env {
		all = append(all, envSelector(v))
	}

	return all
}

func referencesOf(s source, selectors []selector) []string {
	var refs []string

	for _, sel := range selectors {
		if sel.ref == nil {
			continue
		}

		key, err := s.key(sel)
		// A reference that may not be read need not be watched.
		if r := (Reference{sel.kind, key}).String(); err == nil && !slices.Contains(refs, r) {
			refs = append(refs, r)
		}
	}

	return refs
}

// IndexConfig returns an AnsibleRun's value of FieldConfig.
func IndexConfig(o client.Object) []string {
	run, ok := o.(common.AnsibleRun)
	if !ok {
		return nil
	}

	c, key, err := target(run)
	if err != nil {
		return nil // It has none.
	}

	return []string{describe(c, key)}
}

// NameOf a configuration, as FieldConfig has it.
func NameOf(c common.Config) string {
	return describe(c, client.ObjectKeyFromObject(c))
}

// NameOnly is a transformation for a cache of metadata of Secrets and ConfigMaps. It leaves
// what a watch needs: which object it is, and its version. Annotations may repeat the data
// of a Secret.
func NameOnly(o any) (any, error) {
	m, ok := o.(*metav1.PartialObjectMetadata)
	if !ok {
		return o, nil
	}

	m.ObjectMeta = metav1.ObjectMeta{
		Namespace:       m.Namespace,
		Name:            m.Name,
		UID:             m.UID,
		ResourceVersion: m.ResourceVersion,
	}

	return m, nil
}
