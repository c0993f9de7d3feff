package config

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/environ"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
	"github.com/crossplane-ansible/crossplane-ansible/provider/rights"
)

// maxReferred is the size of all values of Secrets and ConfigMaps that an AnsibleRun and its configuration refer to, in
// bytes, each counted as often as it is referred to. They are in memory at each reconcile, several times over.
const maxReferred = 4 << 20

// A source of files reads what one object, the referrer, refers to.
type source struct {
	reader Reader
	// left of maxReferred, and what is missing. The sources of a run and of its configuration share both.
	left    *int
	missing *MissingError
	// host is true when the referrer may read files and environment variables of the
	// provider.
	host bool
	// namespace of the referrer, empty when it is cluster scoped.
	namespace string
	// kind of the referrer, and what comes before the path of a field in it, for error messages.
	kind, at string
}

// note what is missing for a field, so that one error names all. Any other error is returned.
func (s source) note(err error, path *field.Path) error {
	err = errors.Wrap(err, s.at+path.String())
	if !IsMissing(err) {
		return err
	}

	*s.missing = append(*s.missing, err.Error())

	return nil
}

// varFiles are files of variables as Ansible reads them, without those that have none.
func (s source) varFiles(ctx context.Context, vars []common.VarFile, path *field.Path) ([]inputs.File, error) {
	var all []inputs.File

	for i, v := range vars {
		f, err := s.varFile(ctx, v)
		if v.Optional && IsMissing(err) {
			continue
		}

		if err := s.note(err, path.Index(i)); err != nil {
			return nil, err
		}

		if len(f.Data) > 0 {
			all = append(all, f)
		}
	}

	return all, nil
}

func (s source) varFile(ctx context.Context, v common.VarFile) (inputs.File, error) {
	sel := varsSelector(v)

	f, data, err := s.read(ctx, sel)
	if err != nil {
		return inputs.File{}, err
	}

	if v.Variable != "" || sel.ref.Key == "" {
		f.Data, err = rawVars(data, v.Variable)
		return f, errors.Wrap(err, f.Name)
	}

	f.Data = data[sel.ref.Key]

	empty, err := checkVars(f.Data)
	if empty {
		f.Data = nil
	}

	return f, errors.Wrap(err, f.Name)
}

func (s source) inventories(ctx context.Context, in *inputs.Inputs, path *field.Path) error {
	for i, inv := range in.Parameters.Inventories {
		if inv.Source == common.FileSourceProject {
			in.Inventories = append(in.Inventories, inputs.File{Name: inv.Path, Path: inv.Path})
			continue
		}

		f, ok, err := s.file(ctx, inv.FileSelector)
		if err := s.note(err, path.Index(i)); err != nil {
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

func (s source) credentials(ctx context.Context, cs []common.Credential, in *inputs.Inputs, path *field.Path) error {
	for i, c := range cs {
		f, ok, err := s.file(ctx, c.FileSelector)
		if err := s.note(err, path.Index(i)); err != nil {
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
func (s source) variables(ctx context.Context, vars []common.EnvVar, path *field.Path) ([]inputs.File, error) {
	var all []inputs.File

	for i, v := range vars {
		var (
			f   inputs.File
			err error
		)

		if v.Value != nil {
			f.Data = []byte(*v.Value)
		} else {
			f, err = s.value(ctx, envSelector(v))
		}

		if err := s.note(err, path.Index(i)); err != nil {
			return nil, err
		}

		if err := environ.ValidatePlay(v.Name, string(f.Data)); err != nil {
			return nil, errors.Errorf("%s%w", s.at, field.Invalid(path.Index(i).Child("name"), v.Name, err.Error()))
		}

		f.Name = v.Name
		all = append(all, f)
	}

	return all, nil
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
	case common.FileSourceSecret, common.FileSourceConfigMapKey:
		f, err = s.value(ctx, fileSelector(sel))
	case common.FileSourceEnvironment:
		f, err = s.env(sel.Env)
	case common.FileSourceFilesystem:
		f, err = s.fs(sel.Fs)
	}

	return f, err == nil, err
}

// value of a key, as a file.
func (s source) value(ctx context.Context, sel selector) (inputs.File, error) {
	f, data, err := s.read(ctx, sel)
	if err != nil {
		return inputs.File{}, err
	}

	f.Data = data[sel.ref.Key]

	return f, nil
}

// read what is selected: the file that it is, without data, and the values by their keys. They must not be too much
// together with what was read before.
func (s source) read(ctx context.Context, sel selector) (inputs.File, map[string][]byte, error) {
	key, err := s.key(sel)
	if err != nil {
		return inputs.File{}, nil, err
	}

	data, err := s.get(ctx, sel.kind, key)
	if err != nil {
		return inputs.File{}, nil, err
	}

	f := inputs.File{Name: fmt.Sprintf("%s %q", sel.kind, name(key)), Secret: sel.kind == KindSecret}
	if f.Secret {
		f.From = redact.Source{Secret: sel.ref.Name, Key: sel.ref.Key}
	}

	if k := sel.ref.Key; k != "" {
		value, ok := data[k]
		if !ok {
			return inputs.File{}, nil, missing("%s has no key %q", f.Name, k)
		}

		f.Name += fmt.Sprintf(", key %q", k)
		data = map[string][]byte{k: value}
	}

	for _, value := range data {
		*s.left -= len(value)
	}

	if *s.left < 0 {
		return inputs.File{}, nil, errors.Errorf(
			"%s is too much: the values of all Secrets and ConfigMaps that an AnsibleRun and its configuration refer to "+
				"may have %d MiB together; put large files into a project or a role", f.Name, maxReferred>>20)
	}

	return f, data, nil
}

// get the data of a Secret or a ConfigMap.
func (s source) get(ctx context.Context, kind string, key types.NamespacedName) (map[string][]byte, error) {
	var secret corev1.Secret

	var texts corev1.ConfigMap

	o := client.Object(&secret)
	if kind == KindConfigMap {
		o = &texts
	}

	err := s.reader.Get(ctx, key, o)
	if kerrors.IsNotFound(err) {
		return nil, missing("%s %q not found", kind, name(key))
	}

	if kerrors.IsForbidden(err) {
		err = rights.Refused(err, "get", strings.ToLower(kind)+"s", key.Namespace)
	}

	data := map[string][]byte{}
	maps.Copy(data, secret.Data)
	maps.Copy(data, texts.BinaryData)

	for k, text := range texts.Data {
		data[k] = []byte(text)
	}

	return data, errors.Wrapf(err, "cannot get %s %q", kind, name(key))
}

// key of the object that is referred to. A namespaced referrer reaches its own
// namespace only, and names none.
func (s source) key(sel selector) (types.NamespacedName, error) {
	namespace := cmp.Or(s.namespace, sel.ref.Namespace)

	if namespace == "" {
		return types.NamespacedName{}, errors.Errorf("%s.namespace must be set, since this %s is cluster scoped",
			sel.field, s.kind)
	}

	return types.NamespacedName{Namespace: namespace, Name: sel.ref.Name}, nil
}

func (s source) env(ref *common.EnvSelector) (inputs.File, error) {
	if err := s.mayReadHost(common.FileSourceEnvironment); err != nil {
		return inputs.File{}, err
	}

	v, ok := os.LookupEnv(ref.Name)
	if !ok {
		return inputs.File{}, errors.Errorf("the provider has no environment variable %q", ref.Name)
	}

	return inputs.File{Name: fmt.Sprintf("environment variable %q", ref.Name), Data: []byte(v), Secret: true}, nil
}

func (s source) fs(ref *common.FsSelector) (inputs.File, error) {
	if err := s.mayReadHost(common.FileSourceFilesystem); err != nil {
		return inputs.File{}, err
	}

	data, err := os.ReadFile(ref.Path)
	if err != nil {
		return inputs.File{}, errors.Wrap(err, "cannot read a file of the provider")
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
