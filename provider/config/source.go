package config

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
)

// maxReferred is the size of all values of Secrets and ConfigMaps that an AnsibleRun and its configuration refer to, in
// bytes, each counted as often as it is referred to. They are in memory at each reconcile, several times over.
const maxReferred = 4 << 20

// A source of files reads what one object, the referrer, refers to.
type source struct {
	reader Reader
	// left of maxReferred. The sources of a run and of its configuration share it.
	left *int
	// host is true when the referrer may read files and environment variables of the
	// provider.
	host bool
	// namespace of the referrer, empty when it is cluster scoped.
	namespace string
	// kind of the referrer, for error messages.
	kind string
}

func (s source) varFiles(ctx context.Context, in *inputs.Inputs, g *MissingError, path *field.Path) error {
	for i, v := range in.Parameters.VarFiles {
		f, err := s.varFile(ctx, v)
		if v.Optional && IsMissing(err) {
			continue
		}

		if err != nil {
			if err := g.add(err, path.Index(i).String()); err != nil {
				return err
			}

			continue
		}

		empty, err := checkVars(f.Data)
		if err != nil {
			return errors.Wrapf(err, "%s: %s", path.Index(i), f.Name)
		}

		if !empty {
			in.VarFiles = append(in.VarFiles, f)
		}
	}

	return nil
}

func (s source) varFile(ctx context.Context, v common.VarFile) (inputs.File, error) {
	if v.Source == common.VarFileSourceConfigMapKey {
		return s.configMap(ctx, v.ConfigMapKeyRef, "configMapKeyRef")
	}

	return s.secret(ctx, v.SecretKeyRef, "secretKeyRef")
}

func (s source) inventories(ctx context.Context, in *inputs.Inputs, g *MissingError, path *field.Path) error {
	for i, inv := range in.Parameters.Inventories {
		if inv.Source == common.FileSourceProject {
			in.Inventories = append(in.Inventories, inputs.File{Name: inv.Path, Path: inv.Path})
			continue
		}

		f, ok, err := s.file(ctx, inv.FileSelector)
		if err := g.add(err, path.Index(i).String()); err != nil {
			return err
		}

		if ok {
			in.Inventories = append(in.Inventories, f)
		}
	}

	// What a run says itself wins over what it shares with others.
	if text := in.Parameters.InventoryInline; text != "" {
		in.Inventories = append(in.Inventories, inputs.File{Name: "spec.forProvider.inventoryInline", Data: []byte(text)})
	}

	return nil
}

func (s source) credentials(ctx context.Context, cs []common.Credential, in *inputs.Inputs, g *MissingError) error {
	for i, c := range cs {
		path := field.NewPath("spec", "credentials").Index(i)

		f, ok, err := s.file(ctx, c.FileSelector)
		if err := g.add(err, path.String()); err != nil {
			return err
		}

		if ok {
			if c.Rotates {
				f.Rotates = f.Name
			}

			f.Name = c.Filename
			in.Credentials = append(in.Credentials, f)
		}
	}

	return nil
}

// variables of the environment, with the values that they refer to.
func (s source) variables(ctx context.Context, vars []common.EnvVar, g *MissingError,
	path *field.Path,
) ([]inputs.Variable, error) {
	var all []inputs.Variable

	for i, v := range vars {
		f, err := s.value(ctx, v)
		if err := g.add(err, path.Index(i).String()); err != nil {
			return nil, err
		}

		all = append(all, inputs.Variable{Name: v.Name, Value: string(f.Data), Secret: f.Secret, From: f.From, Index: i})
	}

	return all, nil
}

// value of an environment variable, as a file.
func (s source) value(ctx context.Context, v common.EnvVar) (inputs.File, error) {
	switch from := v.ValueFrom; {
	case v.Value != nil:
		return inputs.File{Data: []byte(*v.Value)}, nil
	case from.SecretKeyRef != nil:
		return s.secret(ctx, from.SecretKeyRef, "valueFrom.secretKeyRef")
	default:
		return s.configMap(ctx, from.ConfigMapKeyRef, "valueFrom.configMapKeyRef")
	}
}

// file that is selected; false for sources that have none.
func (s source) file(ctx context.Context, sel common.FileSelector) (inputs.File, bool, error) {
	var (
		f   inputs.File
		err error
	)

	switch sel.Source {
	case common.FileSourceNone, common.FileSourceInjectedIdentity, common.FileSourceProject:
		return inputs.File{}, false, nil
	case common.FileSourceSecret:
		f, err = s.secret(ctx, sel.SecretRef, "secretRef")
	case common.FileSourceConfigMapKey:
		f, err = s.configMap(ctx, sel.ConfigMapKeyRef, "configMapKeyRef")
	case common.FileSourceEnvironment:
		f, err = s.env(sel.Env)
	case common.FileSourceFilesystem:
		f, err = s.fs(sel.Fs)
	}

	return f, err == nil, err
}

func (s source) secret(ctx context.Context, ref *common.KeySelector, path string) (inputs.File, error) {
	key, err := s.key(ref, path)
	if err != nil {
		return inputs.File{}, err
	}

	o := &corev1.Secret{}
	if err := s.get(ctx, KindSecret, key, o); err != nil {
		return inputs.File{}, err
	}

	data, ok := o.Data[ref.Key]
	if !ok {
		return inputs.File{}, missing("Secret %q has no key %q", name(key), ref.Key)
	}

	return s.take(inputs.File{
		Name: fmt.Sprintf("Secret %q, key %q", name(key), ref.Key), Data: data, Secret: true,
		From: redact.Source{Secret: ref.Name, Key: ref.Key},
	})
}

func (s source) configMap(ctx context.Context, ref *common.KeySelector, path string) (inputs.File, error) {
	key, err := s.key(ref, path)
	if err != nil {
		return inputs.File{}, err
	}

	o := &corev1.ConfigMap{}
	if err := s.get(ctx, KindConfigMap, key, o); err != nil {
		return inputs.File{}, err
	}

	data, ok := o.BinaryData[ref.Key]
	if text, is := o.Data[ref.Key]; is {
		data, ok = []byte(text), true
	}

	if !ok {
		return inputs.File{}, missing("ConfigMap %q has no key %q", name(key), ref.Key)
	}

	return s.take(inputs.File{Name: fmt.Sprintf("ConfigMap %q, key %q", name(key), ref.Key), Data: data})
}

// take a file, unless it is too much together with what was taken before.
func (s source) take(f inputs.File) (inputs.File, error) {
	if *s.left -= len(f.Data); *s.left < 0 {
		return inputs.File{}, errors.Errorf(
			"%s is too much: the values of all Secrets and ConfigMaps that an AnsibleRun and its configuration refer to "+
				"may have %d MiB together; put large files into a project or a role", f.Name, maxReferred>>20)
	}

	return f, nil
}

func (s source) get(ctx context.Context, kind string, key types.NamespacedName, o client.Object) error {
	err := s.reader.Get(ctx, key, o)
	if kerrors.IsNotFound(err) {
		return missing("%s %q not found", kind, name(key))
	}

	return errors.Wrapf(err, "cannot get %s %q", kind, name(key))
}

// key of the object that is referred to. A namespaced referrer reaches its own
// namespace only.
func (s source) key(ref *common.KeySelector, path string) (types.NamespacedName, error) {
	namespace := cmp.Or(ref.Namespace, s.namespace)

	if namespace == "" {
		return types.NamespacedName{}, errors.Errorf("%s.namespace must be set, since this %s is cluster scoped",
			path, s.kind)
	}

	if s.namespace != "" && namespace != s.namespace {
		return types.NamespacedName{}, errors.Errorf("%s.namespace must be %q, the namespace of this %s, not %q", path,
			s.namespace, s.kind, namespace)
	}

	return types.NamespacedName{Namespace: namespace, Name: ref.Name}, nil
}

func (s source) env(ref *common.EnvSelector) (inputs.File, error) {
	if err := s.mayReadHost(common.FileSourceEnvironment); err != nil {
		return inputs.File{}, err
	}

	v, ok := os.LookupEnv(ref.Name)
	if !ok {
		return inputs.File{}, &MissingError{
			Missing: []string{fmt.Sprintf("the provider has no environment variable %q", ref.Name)}, Host: true,
		}
	}

	return inputs.File{Name: fmt.Sprintf("environment variable %q", ref.Name), Data: []byte(v), Secret: true}, nil
}

func (s source) fs(ref *common.FsSelector) (inputs.File, error) {
	if err := s.mayReadHost(common.FileSourceFilesystem); err != nil {
		return inputs.File{}, err
	}

	data, err := os.ReadFile(ref.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return inputs.File{}, &MissingError{
			Missing: []string{fmt.Sprintf("the provider has no file %q", ref.Path)},
			Host:    true,
		}
	}

	if err != nil {
		return inputs.File{}, errors.Wrap(err, "cannot read the file")
	}

	return inputs.File{Name: fmt.Sprintf("file %q", ref.Path), Data: data, Secret: true}, nil
}

func (s source) mayReadHost(f common.FileSource) error {
	if s.host {
		return nil
	}

	return errors.Errorf(
		"source %s reads what the provider itself can read: it needs the provider's flag that allows it, and a cluster "+
			"scoped AnsibleRun", f)
}
