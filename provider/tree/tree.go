// Package tree makes an AnsibleRun of a directory and of flags that say what of it runs, as those of ansible-playbook.
package tree

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
)

// A Tree has the flags for a run of a directory, without a manifest. They are those of ansible-playbook.
type Tree struct {
	Playbook string `arg:"" help:"Playbook of the project; site.yml by default." optional:""`

	Project   string   `help:"Directory to run content of as it is now, in place of manifests."                            placeholder:"DIR" type:"existingdir" xor:"what"`
	Role      string   `help:"Role to run, in place of a playbook."                                                        placeholder:"NAME"`
	Inventory []string `help:"Inventory: a file or a directory of the project, or names of hosts with a comma after them." placeholder:"PATH" sep:"none" short:"i"`
	Limit     string   `help:"Hosts to run on, as a pattern."                                                              short:"l"`
	ExtraVars []string `help:"Variables: @FILE, key=value, or YAML."                                                       placeholder:"VARS" sep:"none" short:"e"`
	Tags      []string `help:"Tags of the plays and tasks to run."                                                         short:"t"`
	SkipTags  []string `help:"Tags of the plays and tasks not to run."`
}

// names of the objects that stand for a tree.
const (
	treeConfig = "default"
	treeVars   = "extra-vars"
)

// Manifests say as objects what runs, so that what was tried can be written down.
func (x Tree) Manifests() ([]byte, error) {
	dir, err := filepath.Abs(x.Project)
	if err != nil {
		return nil, errors.Wrap(err, "cannot find the project")
	}

	run := &v1alpha1.AnsibleRun{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: common.KindAnsibleRun},
		ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceDefault, Name: nameOf(dir)},
	}
	run.Spec.ProviderConfigReference = &xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: treeConfig}

	p := &run.Spec.ForProvider
	p.Project = &common.Project{Src: "file://" + dir}
	p.Limit, p.Tags, p.SkipTags = x.Limit, x.Tags, x.SkipTags

	switch {
	case x.Role != "":
		p.Role = x.Role
	case x.Playbook != "":
		if p.Playbook, err = inProject(dir, x.Playbook); err != nil {
			return nil, err
		}
	default:
		p.Playbook = "site.yml"
	}

	for _, i := range x.Inventory {
		// Ansible takes what has a comma for names of hosts.
		if strings.Contains(i, ",") {
			p.InventoryInline += strings.ReplaceAll(strings.TrimSuffix(i, ","), ",", "\n") + "\n"
			continue
		}

		path, err := inProject(dir, i)
		if err != nil {
			return nil, errors.Wrapf(err, "--inventory=%s", i)
		}

		p.Inventories = append(p.Inventories, common.Inventory{
			FileSelector: common.FileSelector{Source: common.FileSourceProject}, Path: path,
		})
	}

	config := &v1alpha1.ProviderConfig{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "ProviderConfig"},
		ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceDefault, Name: treeConfig},
	}
	vars := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceDefault, Name: treeVars},
		Data:       map[string]string{},
	}

	for i, text := range x.ExtraVars {
		key := strconv.Itoa(i) + ".yml"

		if vars.Data[key], err = extraVars(dir, text); err != nil {
			return nil, errors.Wrapf(err, "--extra-vars=%s", text)
		}

		p.VarFiles = append(p.VarFiles, common.VarFile{
			Source: common.VarFileSourceConfigMapKey, ConfigMapKeyRef: &common.KeySelector{Name: treeVars, Key: key},
		})
	}

	all := []any{config, run}
	if len(vars.Data) > 0 {
		all = append(all, vars)
	}

	return documents(all)
}

// inProject returns the path from the project to a file or a directory in it.
func inProject(dir, path string) (string, error) {
	name := path
	if filepath.IsAbs(path) {
		name, _ = filepath.Rel(dir, path)
	}

	if !filepath.IsLocal(name) {
		return "", errors.Errorf("%q is not in the project: the run has nothing but what is in --project", path)
	}

	return filepath.ToSlash(filepath.Clean(name)), nil
}

// extraVars are the text of a file of variables, from what --extra-vars of ansible-playbook takes. The path of a file
// is relative to the project.
func extraVars(dir, text string) (string, error) {
	if name, ok := strings.CutPrefix(text, "@"); ok {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}

		data, err := os.ReadFile(filepath.Clean(name))

		return string(data), err
	}

	if strings.HasPrefix(text, "{") {
		return text, nil
	}

	vars := map[string]string{}

	for pair := range strings.FieldsSeq(text) {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return "", errors.New(
				`must be @FILE, YAML that begins with {, or key=value without spaces; for others write {"key": "a value"}`)
		}

		vars[key] = value
	}

	data, err := json.Marshal(vars)

	return string(data), err
}

// nameOf an object for a directory.
func nameOf(dir string) string {
	name := regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(filepath.Base(dir)), "-")
	if name = strings.Trim(name, "-"); name == "" {
		return "project"
	}

	return name
}

// documents of YAML, without what an API server adds.
func documents(objects []any) ([]byte, error) {
	var all [][]byte

	for _, o := range objects {
		text, err := json.Marshal(o)
		if err != nil {
			return nil, errors.Wrap(err, "cannot write an object")
		}

		fields := map[string]any{}
		if err := json.Unmarshal(text, &fields); err != nil {
			return nil, errors.Wrap(err, "cannot write an object")
		}

		delete(fields, "status")

		doc, err := yaml.Marshal(fields)
		if err != nil {
			return nil, errors.Wrap(err, "cannot write an object")
		}

		all = append(all, doc)
	}

	return bytes.Join(all, []byte("---\n")), nil
}
