package config

import (
	"bufio"
	"context"
	"io"
	"reflect"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	clusterv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/cluster/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	namespacedv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/schema"
	"github.com/crossplane-ansible/crossplane-ansible/package-provider/crds"
)

// Manifests are valid objects from files, with the defaults of the API server.
type Manifests struct {
	scheme  *runtime.Scheme
	objects map[objectKey]client.Object

	// Runs that were added, in order.
	Runs []common.AnsibleRun
	// Ignored objects by kind and name, in order.
	Ignored []string
}

type objectKey struct {
	kschema.GroupKind
	types.NamespacedName
}

// definitions are the schemas of this API's kinds that runs refer to.
var definitions = map[kschema.GroupVersionKind]func() (*schema.Schema, error){ //nolint:gochecknoglobals // They are constants that have to be compiled.
	clusterv1alpha1.SchemeGroupVersion.WithKind(common.KindAnsibleRun):        defined(crds.ClusterAnsibleRuns),
	clusterv1alpha1.SchemeGroupVersion.WithKind(kindProviderConfig):           defined(crds.ClusterProviderConfigs),
	namespacedv1alpha1.SchemeGroupVersion.WithKind(common.KindAnsibleRun):     defined(crds.AnsibleRuns),
	namespacedv1alpha1.SchemeGroupVersion.WithKind(kindProviderConfig):        defined(crds.ProviderConfigs),
	namespacedv1alpha1.SchemeGroupVersion.WithKind(kindClusterProviderConfig): defined(crds.SharedProviderConfigs),
}

// defined returns a function that compiles the schema of a CRD once.
func defined(crd []byte) func() (*schema.Schema, error) {
	return sync.OnceValues(func() (*schema.Schema, error) { return schema.New(crd) })
}

// NewManifests returns an empty set of manifests.
func NewManifests() *Manifests {
	s := runtime.NewScheme()
	types := runtime.NewSchemeBuilder(corev1.AddToScheme, clusterv1alpha1.AddToScheme, namespacedv1alpha1.AddToScheme)
	utilruntime.Must(types.AddToScheme(s))

	return &Manifests{scheme: s, objects: map[objectKey]client.Object{}}
}

// Add the objects of a YAML file: AnsibleRuns, ProviderConfigs, ClusterProviderConfigs, Secrets and ConfigMaps. Objects
// of other kinds go to Ignored. Unknown fields and duplicate objects are errors. Errors name the file.
func (m *Manifests) Add(file string, text io.Reader) error {
	docs := yaml.NewYAMLReader(bufio.NewReader(text))

	for i := 1; ; i++ {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}

		if err != nil {
			return errors.Wrapf(err, "cannot read %s", file)
		}

		if err := m.add(doc); err != nil {
			return errors.Wrapf(err, "%s, document %d", file, i)
		}
	}
}

func (m *Manifests) add(doc []byte) error {
	text, err := sigsyaml.YAMLToJSONStrict(doc)
	if err != nil {
		return errors.Wrap(err, "is not valid YAML")
	}

	u := &unstructured.Unstructured{}

	if err := json.Unmarshal(text, &u.Object); err == nil && u.Object == nil {
		return nil
	}

	return m.object(u)
}

func (m *Manifests) object(object runtime.Object) error {
	u, _ := object.(*unstructured.Unstructured)

	switch {
	case u.GetAPIVersion() == "", u.GetKind() == "":
		return errors.New("is not an object of Kubernetes: it has no apiVersion and kind")
	case u.IsList(): // The output of kubectl get for several objects.
		return u.EachListItem(m.object)
	}

	switch needed, err := m.check(u); {
	case err != nil:
		return err
	case !needed:
		m.Ignored = append(m.Ignored, strings.TrimSpace(u.GetKind()+" "+u.GetName()))
		return nil
	}

	gvk := u.GroupVersionKind()

	decoded, err := m.scheme.New(gvk)
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, decoded, true)
	}

	if err != nil {
		return errors.Wrap(err, "cannot decode the object")
	}

	o, err := withDefaults(decoded)
	if err != nil {
		return errors.Wrap(err, gvk.String())
	}

	key := objectKey{GroupKind: gvk.GroupKind(), NamespacedName: client.ObjectKeyFromObject(o)}
	if _, ok := m.objects[key]; ok {
		return errors.Errorf("%s %q is given twice", gvk.Kind, name(key.NamespacedName))
	}

	m.objects[key] = o

	if run, ok := o.(common.AnsibleRun); ok {
		m.Runs = append(m.Runs, run)
	}

	return nil
}

// check validates an object and fills in its defaults, as the API server does. It returns false for kinds that runs do
// not refer to. An unknown kind of this API's groups is an error.
func (m *Manifests) check(u *unstructured.Unstructured) (needed bool, err error) {
	k := u.GroupVersionKind()
	definition, ours := definitions[k]

	switch {
	case ours:
	case k.Group == clusterv1alpha1.SchemeGroupVersion.Group, k.Group == namespacedv1alpha1.SchemeGroupVersion.Group:
		if !m.scheme.Recognizes(k) {
			return false, errors.Errorf("%s has no kind %s", k.GroupVersion(), k.Kind)
		}

		return false, nil
	default:
		return k.Group == corev1.GroupName && (k.Kind == KindSecret || k.Kind == KindConfigMap), nil
	}

	s, err := definition()
	if err != nil {
		return false, errors.Wrapf(err, "cannot use the definition of %s", k.Kind)
	}

	s.Default(u.Object)

	return true, s.Validate(u.Object).ToAggregate()
}

// Get returns a copy of an object that was added.
func (m *Manifests) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	gvk, err := apiutil.GVKForObject(into, m.scheme)
	if err != nil {
		return errors.Wrap(err, "cannot tell the kind of the object")
	}

	o, ok := m.objects[objectKey{GroupKind: gvk.GroupKind(), NamespacedName: key}]
	if !ok {
		return kerrors.NewNotFound(kschema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.Name)
	}

	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(o.DeepCopyObject()).Elem())

	return nil
}

// withDefaults merges the stringData of a Secret into its data, as the API server does, and sets the namespace as
// kubectl does.
func withDefaults(decoded runtime.Object) (client.Object, error) {
	namespace := corev1.NamespaceDefault

	switch o := decoded.(type) {
	case *clusterv1alpha1.AnsibleRun, *clusterv1alpha1.ProviderConfig, *namespacedv1alpha1.ClusterProviderConfig:
		namespace = ""
	case *corev1.Secret:
		if o.Data == nil {
			o.Data = map[string][]byte{}
		}

		for k, v := range o.StringData {
			o.Data[k] = []byte(v)
		}

		o.StringData = nil
	}

	o, ok := decoded.(client.Object)
	if !ok || o.GetName() == "" {
		return nil, errors.New("metadata.name must be set")
	}

	// Cluster scoped objects have no namespace.
	if namespace == "" || o.GetNamespace() == "" {
		o.SetNamespace(namespace)
	}

	return o, nil
}
