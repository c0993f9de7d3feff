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

// References of an AnsibleRun or of a configuration: to what the Resolver reads for it, and
// to the Secret for its connection details. Those of an AnsibleRun are without those of
// its configuration.
func References(o client.Object) []Reference {
	switch o := o.(type) {
	case common.AnsibleRun:
		refs := referencesOf(source{namespace: o.GetNamespace()}, runSelectors(o.Parameters()))

		if key, ok := ConnectionSecret(o); ok && !slices.Contains(refs, Reference{KindSecret, key}) {
			refs = append(refs, Reference{KindSecret, key})
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

// A selector is a key of a Secret or of a ConfigMap; one of the two is nil.
type selector struct {
	secret, configMap *common.KeySelector
}

func runSelectors(p *common.AnsibleRunParameters) []selector {
	var all []selector

	for _, v := range p.VarFiles {
		all = append(all, selector{v.SecretKeyRef, v.ConfigMapKeyRef})
	}

	for _, inv := range p.Inventories {
		all = append(all, selector{inv.SecretRef, inv.ConfigMapKeyRef})
	}

	return append(all, envSelectors(p.Env)...)
}

func envSelectors(vars []common.EnvVar) []selector {
	var all []selector

	for _, v := range vars {
		if from := v.ValueFrom; from != nil {
			all = append(all, selector{from.SecretKeyRef, from.ConfigMapKeyRef})
		}
	}

	return all
}

func configSelectors(c *common.ProviderConfigSpec) []selector {
	var all []selector
	for _, cred := range c.Credentials {
		all = append(all, selector{cred.SecretRef, cred.ConfigMapKeyRef})
	}

	return append(all, envSelectors(c.Env)...)
}

func referencesOf(s source, selectors []selector) []Reference {
	var refs []Reference

	add := func(kind string, sel *common.KeySelector) {
		if sel == nil {
			return
		}

		key, err := s.key(sel, "")
		// A reference that may not be read need not be watched.
		if r := (Reference{kind, key}); err == nil && !slices.Contains(refs, r) {
			refs = append(refs, r)
		}
	}

	for _, sel := range selectors {
		add(KindSecret, sel.secret)
		add(KindConfigMap, sel.configMap)
	}

	return refs
}

// IndexReferences returns an object's value of FieldReferences.
func IndexReferences(o client.Object) []string {
	refs := References(o)
	keys := make([]string, len(refs))

	for i, r := range refs {
		keys[i] = r.String()
	}

	return keys
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
