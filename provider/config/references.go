package config

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

// Kinds of objects with files.
const (
	KindSecret    = "Secret"
	KindConfigMap = "ConfigMap"
)

// Fields by which a cache indexes AnsibleRuns and configurations, to find those that a change of another object
// concerns.
const (
	// FieldReferences indexes AnsibleRuns and configurations by the Secrets and ConfigMaps that they refer to, see
	// Reference.String.
	FieldReferences = "provider.references"
	// FieldConfig indexes AnsibleRuns by their configuration, see NameOf.
	FieldConfig = "provider.config"
)

// A Reference to a Secret or a ConfigMap.
type Reference struct {
	Kind string
	types.NamespacedName
}

// String returns the value of the index.
func (r Reference) String() string { return r.Kind + " " + r.NamespacedName.String() }

// references collects the references that a source reads, in order and without duplicates. As a Reader it finds no
// object.
type references []string

func (r *references) add(kind string, key types.NamespacedName) {
	if s := (Reference{kind, key}).String(); !slices.Contains(*r, s) {
		*r = append(*r, s)
	}
}

// Get records the reference.
func (r *references) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	kind := KindSecret
	if _, ok := o.(*corev1.ConfigMap); ok {
		kind = KindConfigMap
	}

	r.add(kind, key)

	return kerrors.NewNotFound(schema.GroupResource{Resource: kind}, key.Name)
}

// IndexReferences returns the values of FieldReferences for an AnsibleRun or a configuration: the Secrets and
// ConfigMaps that the Resolver reads for it, and the Secret with its connection details. Those of an AnsibleRun do not
// include those of its configuration.
func IndexReferences(o client.Object) []string {
	var refs references

	s := source{reader: &refs, namespace: o.GetNamespace()}

	switch o := o.(type) {
	case common.AnsibleRun:
		s.readRun(context.Background(), &inputs.Inputs{Parameters: *o.Parameters()})

		if key, ok := ConnectionSecret(o); ok {
			refs.add(KindSecret, key)
		}
	case common.Config:
		s.readConfig(context.Background(), o.ConfigSpec(), &inputs.Inputs{})
	}

	return refs
}

// ConnectionSecret returns the Secret to which an AnsibleRun writes its connection details; false if it writes none.
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

// A selector refers to a key of a Secret or of a ConfigMap, or to the whole object if the key is empty.
type selector struct {
	kind string
	ref  *common.KeySelector
	// field with the reference.
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

// IndexConfig returns the value of FieldConfig for an AnsibleRun.
func IndexConfig(o client.Object) []string {
	run, ok := o.(common.AnsibleRun)
	if !ok {
		return nil
	}

	c, key, err := target(run)
	if err != nil {
		return nil // The run refers to no configuration.
	}

	return []string{describe(c, key)}
}

// NameOf returns the value of FieldConfig for a configuration.
func NameOf(c common.Config) string {
	return describe(c, client.ObjectKeyFromObject(c))
}

// NameOnly is a transformation for a cache of metadata of Secrets and ConfigMaps. It keeps the identity and the version
// of an object, which a watch needs. It drops annotations, which may repeat the data of a Secret.
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
