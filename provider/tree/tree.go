// Package tree makes an AnsibleRun from a directory and from flags of ansible-playbook.
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
	"sigs.k8s.io/yaml"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

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

// Names of the objects in the manifests of a tree.
const (
	treeConfig = "default"
	treeVars   = "extra-vars"
)

// Manifests returns the objects for the run as YAML, so that users can keep them.
func (x Tree) Manifests() ([]byte, error) {
	dir, err := filepath.Abs(x.Project)
	if err != nil {
		return nil, errors.Wrap(err, "cannot find the project")
	}

	p := &common.AnsibleRunParameters{
		Project: &common.Project{Src: "file://" + dir}, Limit: x.Limit, Tags: x.Tags, SkipTags: x.SkipTags,
	}

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
		// Ansible takes a text with a comma for names of hosts.
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

	vars := map[string]string{}

	for i, text := range x.ExtraVars {
		key := strconv.Itoa(i) + ".yml"

		if vars[key], err = extraVars(dir, text); err != nil {
			return nil, errors.Wrapf(err, "--extra-vars=%s", text)
		}

		p.VarFiles = append(p.VarFiles, common.VarFile{
			Source: common.VarFileSourceConfigMapKey, ConfigMapKeyRef: &common.KeySelector{Name: treeVars, Key: key},
		})
	}

	api := v1alpha1.SchemeGroupVersion.String()
	all := [][]byte{
		document(api, "ProviderConfig", treeConfig, "spec", map[string]any{}),
		document(api, common.KindAnsibleRun, nameOf(dir), "spec", map[string]any{
			"providerConfigRef": map[string]any{"kind": "ProviderConfig", "name": treeConfig}, "forProvider": p,
		}),
	}

	if len(vars) > 0 {
		all = append(all, document("v1", "ConfigMap", treeVars, "data", vars))
	}

	return bytes.Join(all, []byte("---\n")), nil
}

// inProject returns the path, relative to the project, of a file or a directory in it.
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

// extraVars returns a file of variables for a value of --extra-vars of ansible-playbook. The path of a file is relative
// to the project.
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

// nameOf returns the name of the AnsibleRun for a directory.
func nameOf(dir string) string {
	name := regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(filepath.Base(dir)), "-")
	if name = strings.Trim(name, "-"); name == "" {
		return "project"
	}

	return name
}

// document returns an object with one field beside its metadata.
func document(version, kind, name, field string, content any) []byte {
	text, _ := yaml.Marshal(map[string]any{ // All values can be encoded.
		"apiVersion": version, "kind": kind,
		"metadata": map[string]any{"namespace": corev1.NamespaceDefault, "name": name}, field: content,
	})

	return text
}
