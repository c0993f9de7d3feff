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
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/environ"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
	"github.com/crossplane-ansible/crossplane-ansible/provider/rights"
)

// maxReferred is the largest total size, in bytes, of the values of all Secrets and ConfigMaps that an AnsibleRun and
// its configuration refer to. A value counts once for each reference. All values are in memory at each reconcile, in
// several copies.
const maxReferred = 4 << 20

// A source reads the Secrets, ConfigMaps and files that a configuration and then an AnsibleRun refer to. The object
// with the references is the referrer.
type source struct {
	reader Reader
	// host is true when the referrer may read files and environment variables of the provider.
	host bool
	// namespace of the referrer, empty when it is cluster scoped.
	namespace string
	// kind of the referrer, and the prefix of its field paths, for error messages.
	kind, at string

	// size of the values that were read so far, all missing references, and the first other error.
	size    int
	missing MissingError
	mistake error
}

// record records an error of a field. The fields after it are read all the same.
func (s *source) record(err error, path *field.Path) {
	switch err = errors.Wrap(err, s.at+path.String()); {
	case IsMissing(err):
		s.missing = append(s.missing, err.Error())
	case s.mistake == nil:
		s.mistake = err
	}
}

// err returns the first error that is no missing reference, or else a MissingError with all missing references.
func (s *source) err() error {
	if s.mistake == nil && len(s.missing) > 0 {
		return s.missing
	}

	return s.mistake
}

// readConfig adds the files that a configuration refers to.
func (s *source) readConfig(ctx context.Context, c *common.ProviderConfigSpec, in *inputs.Inputs) {
	path := field.NewPath("spec")

	s.credentials(ctx, c.Credentials, in, path.Child("credentials"))
	s.variables(ctx, c.Env, in, path.Child("env"))
	s.varFiles(ctx, c.VarFiles, in, path.Child("varFiles"))
}

// readRun adds the files that the parameters of a run refer to. They win over those of its configuration.
func (s *source) readRun(ctx context.Context, in *inputs.Inputs) {
	path := field.NewPath("spec", "forProvider")

	s.varFiles(ctx, in.Parameters.VarFiles, in, path.Child("varFiles"))
	s.inventories(ctx, in, path.Child("inventories"))
	s.variables(ctx, in.Parameters.Env, in, path.Child("env"))
}

// varFiles adds files of variables in the format that Ansible reads, except empty ones.
func (s *source) varFiles(ctx context.Context, vars []common.VarFile, in *inputs.Inputs, path *field.Path) {
	for i, v := range vars {
		f, err := s.varFile(ctx, v)
		if !v.Optional || !IsMissing(err) {
			s.record(err, path.Index(i))
		}

		if len(f.Data) > 0 {
			in.VarFiles = append(in.VarFiles, f)
		}
	}
}

func (s *source) varFile(ctx context.Context, v common.VarFile) (inputs.File, error) {
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

func (s *source) inventories(ctx context.Context, in *inputs.Inputs, path *field.Path) {
	for i, inv := range in.Parameters.Inventories {
		if inv.Source == common.FileSourceProject {
			in.Inventories = append(in.Inventories, inputs.File{Name: inv.Path, Path: inv.Path})
			continue
		}

		f, ok, err := s.file(ctx, inv.FileSelector)
		s.record(err, path.Index(i))

		if ok {
			in.Inventories = append(in.Inventories, f)
		}
	}

	// The inventory of the run itself wins over inventories that it shares with other runs.
	if text := in.Parameters.InventoryInline; text != "" {
		in.Inventories = append(in.Inventories, inputs.File{Name: "spec.forProvider.inventoryInline", Data: []byte(text)})
	}
}

func (s *source) credentials(ctx context.Context, cs []common.Credential, in *inputs.Inputs, path *field.Path) {
	for i, c := range cs {
		f, ok, err := s.file(ctx, c.FileSelector)
		s.record(err, path.Index(i))

		if ok {
			if c.Rotates {
				f.Rotates = f.Name
			}

			f.Name = c.Filename
			in.Credentials = append(in.Credentials, f)
		}
	}
}

// variables adds environment variables, with the values that they refer to.
func (s *source) variables(ctx context.Context, vars []common.EnvVar, in *inputs.Inputs, path *field.Path) {
	for i, v := range vars {
		var (
			f   inputs.File
			err error
		)

		switch from := v.ValueFrom; {
		case from == nil:
			f.Data = []byte(ptr.Deref(v.Value, ""))
		case from.SecretKeyRef != nil:
			f, err = s.value(ctx, selector{KindSecret, from.SecretKeyRef, "valueFrom.secretKeyRef"})
		default:
			f, err = s.value(ctx, selector{KindConfigMap, from.ConfigMapKeyRef, "valueFrom.configMapKeyRef"})
		}

		s.record(err, path.Index(i))

		if err := environ.ValidatePlay(v.Name, string(f.Data)); err != nil {
			name := path.Index(i).Child("name")
			s.record(errors.New(field.Invalid(name, v.Name, err.Error()).ErrorBody()), name)
		}

		f.Name = v.Name
		in.PlayEnv = append(in.PlayEnv, f)
	}
}

// file returns the selected file; false for sources without a file.
func (s *source) file(ctx context.Context, sel common.FileSelector) (inputs.File, bool, error) {
	var (
		f   inputs.File
		err error
	)

	switch sel.Source {
	case common.FileSourceNone, common.FileSourceInjectedIdentity, common.FileSourceProject:
		return inputs.File{}, false, nil
	case common.FileSourceSecret:
		f, err = s.value(ctx, selector{KindSecret, sel.SecretRef, "secretRef"})
	case common.FileSourceConfigMapKey:
		f, err = s.value(ctx, selector{KindConfigMap, sel.ConfigMapKeyRef, "configMapKeyRef"})
	case common.FileSourceEnvironment:
		f, err = s.env(sel.Env)
	case common.FileSourceFilesystem:
		f, err = s.fs(sel.Fs)
	}

	return f, err == nil, err
}

// value returns the value of a key as a file.
func (s *source) value(ctx context.Context, sel selector) (inputs.File, error) {
	f, data, err := s.read(ctx, sel)
	if err != nil {
		return inputs.File{}, err
	}

	f.Data = data[sel.ref.Key]

	return f, nil
}

// read returns the file that is selected, without data, and the values by key. The error says so if all values that
// were read so far exceed maxReferred.
func (s *source) read(ctx context.Context, sel selector) (inputs.File, map[string][]byte, error) {
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
		s.size += len(value)
	}

	if s.size > maxReferred {
		return inputs.File{}, nil, errors.Errorf(
			"%s is too much: the values of all Secrets and ConfigMaps that an AnsibleRun and its configuration refer to "+
				"may have %d MiB together; put large files into a project or a role", f.Name, maxReferred>>20)
	}

	return f, data, nil
}

// get returns the data of a Secret or a ConfigMap.
func (s *source) get(ctx context.Context, kind string, key types.NamespacedName) (map[string][]byte, error) {
	if s.size > maxReferred {
		return nil, s.mistake // Nothing more is read.
	}

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

// key returns the namespaced name of the object in a reference. A namespaced referrer refers to objects of its own
// namespace only.
func (s *source) key(sel selector) (types.NamespacedName, error) {
	if sel.ref == nil {
		return types.NamespacedName{}, errors.Errorf("%s must be set", sel.field)
	}

	namespace := cmp.Or(s.namespace, sel.ref.Namespace)

	if namespace == "" {
		return types.NamespacedName{}, errors.Errorf("%s.namespace must be set, since this %s is cluster scoped",
			sel.field, s.kind)
	}

	return types.NamespacedName{Namespace: namespace, Name: sel.ref.Name}, nil
}

func (s *source) env(ref *common.EnvSelector) (inputs.File, error) {
	if err := s.mayReadHost(common.FileSourceEnvironment); err != nil {
		return inputs.File{}, err
	}

	v, ok := os.LookupEnv(ref.Name)
	if !ok {
		return inputs.File{}, errors.Errorf("the provider has no environment variable %q", ref.Name)
	}

	return inputs.File{Name: fmt.Sprintf("environment variable %q", ref.Name), Data: []byte(v), Secret: true}, nil
}

func (s *source) fs(ref *common.FsSelector) (inputs.File, error) {
	if err := s.mayReadHost(common.FileSourceFilesystem); err != nil {
		return inputs.File{}, err
	}

	data, err := os.ReadFile(ref.Path)
	if err != nil {
		return inputs.File{}, errors.Wrap(err, "cannot read a file of the provider")
	}

	return inputs.File{Name: fmt.Sprintf("file %q", ref.Path), Data: data, Secret: true}, nil
}

func (s *source) mayReadHost(f common.FileSource) error {
	if s.host {
		return nil
	}

	return errors.Errorf(
		"source %s reads from the provider itself: it needs the provider's flag that allows it, and a cluster scoped "+
			"AnsibleRun", f)
}
