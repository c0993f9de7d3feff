package scaffold

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-ansible/crossplane-ansible/function/validate"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// update the golden files: go test ./function/scaffold -update.
var update = flag.Bool("update", false, "write the golden files")

const siteRole = "testdata/acme.web/roles/site"

func TestWrite(t *testing.T) {
	cases := map[string]struct {
		reason     string
		dir        string
		entryPoint string
		config     Config
	}{
		"site": {
			"All that argument specifications can say.", siteRole, entryPointMain,
			Config{Group: "platform.example.org", Scope: "Namespaced", Requirements: "collections:\n- name: acme.web\n  version: 1.0.0\n"},
		},
		"site-cluster": {
			"A cluster-scoped XR with names of its own.", siteRole, entryPointMain,
			Config{Group: "example.org", Kind: "WebSite", Plural: "sites", Scope: "Cluster", Requirements: "collections: [acme.web]\n"},
		},
		"backup": {
			"Another entry point of the same role.", siteRole, "backup",
			Config{Group: "platform.example.org", Scope: "Namespaced", Kind: "Backup"},
		},
		"plain": {
			"A role without argument specifications, from its defaults.", "testdata/acme.plain", entryPointMain,
			Config{Group: "platform.example.org", Scope: "Namespaced"},
		},
		"server": {
			"Argument specifications in meta/main.yml, and the name of a role from there.", "testdata/server", entryPointMain,
			Config{Group: "platform.example.org", Scope: "Namespaced"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			role, err := Load(tc.dir, "", tc.entryPoint)
			if err != nil {
				t.Fatalf("\n%s\nLoad(...): %v", tc.reason, err)
			}

			documents, err := Write(role, tc.config)
			if err != nil {
				t.Fatalf("\n%s\nWrite(...): %v", tc.reason, err)
			}

			isGolden(t, name, documents)
			served(t, documents[0].Content, documents[len(documents)-1].Content)
		})
	}
}

// isGolden fails unless documents are equal to a golden file.
func isGolden(t *testing.T, name string, documents []validate.File) {
	t.Helper()

	got := ""
	for _, d := range documents {
		got += "--- # " + d.Name + "\n" + string(d.Content)
	}

	golden := filepath.Join("testdata", "golden", name+".yaml")
	if *update {
		needs.OK(t, os.WriteFile(golden, []byte(got), 0o644))
	}

	if diff := cmp.Diff(needs.Read(t, golden), got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// textsOf returns documents as one text.
func textsOf(documents []validate.File) string {
	text := ""
	for _, d := range documents {
		text += string(d.Content)
	}

	return text
}

// served fails unless the API server would serve an XRD, and store an XR of its first
// version if there is one.
func served(t *testing.T, definition, example []byte) {
	t.Helper()

	xrd := struct {
		Spec struct {
			Versions []apiextensionsv1.CustomResourceDefinitionVersion
		}
	}{}
	needs.OK(t, yaml.Unmarshal(definition, &xrd))

	for i, version := range xrd.Spec.Versions {
		props := &apiextensions.JSONSchemaProps{}
		needs.OK(t, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, props, nil))

		structural, err := schema.NewStructural(props)
		needs.OK(t, err)

		errs := schema.ValidateStructural(field.NewPath("openAPIV3Schema"), structural)

		derrs, err := defaulting.ValidateDefaults(context.Background(), field.NewPath("openAPIV3Schema"), structural, true, true)
		needs.OK(t, err)

		if errs = append(errs, derrs...); len(errs) > 0 {
			t.Errorf("the schema is not valid: %v", errs.ToAggregate())
		}

		if i > 0 || example == nil {
			continue
		}

		validator, _, err := validation.NewSchemaValidator(props)
		needs.OK(t, err)

		xr := map[string]any{}
		needs.OK(t, yaml.Unmarshal(example, &xr))

		if errs := validation.ValidateCustomResource(nil, xr, validator); len(errs) > 0 {
			t.Errorf("the example is not valid: %v", errs.ToAggregate())
		}
	}
}

func TestInstall(t *testing.T) {
	needs.Ansible(t)

	collection, err := filepath.Abs("testdata/acme.web")
	needs.OK(t, err)

	requirements := filepath.Join(t.TempDir(), "requirements.yml")
	needs.OK(t, os.WriteFile(requirements, []byte("collections: [{name: "+collection+", type: dir}]\n"), 0o600))

	dir, err := Install(t.Context(), "acme.web.site", requirements, t.TempDir())
	needs.OK(t, err)

	got, err := Load(dir, "", entryPointMain)
	needs.OK(t, err)

	want, err := Load(siteRole, "", entryPointMain)
	needs.OK(t, err)

	if diff := cmp.Diff(want, got); diff != "" || got.Name != "acme.web.site" {
		t.Errorf("an installed role should be what it was: -want, +got:\n%s", diff)
	}

	if _, err := Install(t.Context(), "acme.web.other", requirements, t.TempDir()); err == nil || err.Error() != "the requirements do not bring the role acme.web.other" {
		t.Errorf("want an error for a role that is not there, got %v", err)
	}

	t.Setenv("PATH", t.TempDir())

	if _, err := Install(t.Context(), "acme.web.site", requirements, t.TempDir()); err == nil || !strings.HasPrefix(err.Error(), "cannot find ansible-galaxy") {
		t.Errorf("want an error without ansible-galaxy, got %v", err)
	}
}

// TestOnDelete checks onDelete for roles that use the state variable, and for others.
func TestOnDelete(t *testing.T) {
	const keep = "onDelete:\n          policy: Keep\n"

	for text, keeps := range map[string]bool{"[]\n": true, "- debug: {var: ansible_provider_meta}\n": false} {
		dir := written(t, t.TempDir(), map[string]string{"acme.web/tasks/main.yml": text})

		role, err := Load(filepath.Join(dir, "acme.web"), "", entryPointMain)
		needs.OK(t, err)

		documents, err := Write(role, Config{Group: "platform.example.org", Scope: "Namespaced"})
		needs.OK(t, err)

		got := textsOf(documents)
		if strings.Contains(got, keep) != keeps || strings.Contains(got, "# ansible_provider_meta.managed_resource.state absent.\n") == keeps {
			t.Errorf("%s: the role is to run when the XR is deleted, if it looks at the state; got:\n%s", text, got)
		}
	}
}

// Options that the project sets get no default in the XRD, since a value of an XR wins over group_vars and host_vars.
func TestLoadProject(t *testing.T) {
	project := written(t, t.TempDir(), map[string]string{
		"roles/web/defaults/main.yml":              "port: 80\nname: web\nsize: 1\ntitle: none\n",
		"group_vars/all/main.yml":                  "port: 8080\n",
		"inventories/production/host_vars/web.yml": "size: 3\n",
		"group_vars/secret.yml":                    "$ANSIBLE_VAULT;1.1;AES256\n",
		"other/vars/main.yml":                      "title: other\n",
	})

	role, err := Load(filepath.Join(project, "roles", "web"), "", entryPointMain)
	needs.OK(t, err)

	got := map[string][]any{}
	for _, o := range role.Options {
		got[o.Name] = []any{o.Default, strings.Join(o.Notes, "")}
	}

	want := map[string][]any{
		"name": {"web", ""}, "title": {"none", ""},
		"port": {nil, "its default is left out, since group_vars/all/main.yml of the project sets it"},
		"size": {nil, "its default is left out, since inventories/production/host_vars/web.yml of the project sets it"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults and notes: -want, +got:\n%s", diff)
	}
}

func TestLoadErrors(t *testing.T) {
	cases := map[string]struct{ reason, dir, entryPoint, want string }{
		"NoEntryPoint": {
			"There is a list of what there is.", siteRole, "restore",
			`the role acme.web.site has no entry point "restore", only backup, main`,
		},
		"Project": {
			"A project has roles, and is none.", operatorProject, "",
			"testdata/cache-operator is no role, since it has no tasks: give the directory of a role, such as roles/web",
		},
		"WrongForm": {
			"What is written wrongly is said in terms of YAML.",
			written(t, t.TempDir(), map[string]string{"meta/main.yml": "galaxy_info: {namespace: acme, role_name: web}\nargument_specs: {main: {options: {port: here}}}\n"}), entryPointMain,
			"cannot read meta/main.yml: cannot read the specification of port: line 2: cannot read str `here` as mapping",
		},
		"InItself": {
			"A specification that is a part of itself has no end.",
			written(t, t.TempDir(), map[string]string{"meta/main.yml": "argument_specs: {main: {options: {port: &port {options: {port: *port}}}}}\n"}), entryPointMain,
			"cannot read meta/main.yml: yaml: anchor 'port' value contains itself",
		},
		"UndocumentedEntryPoint": {
			"Defaults say nothing of entry points.", "testdata/acme.plain", "restore",
			`the role acme.plain has no argument specifications, so nothing is known of its entry point "restore"`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Load(tc.dir, "", tc.entryPoint)
			if err == nil || err.Error() != tc.want {
				t.Errorf("\n%s\nLoad(...): want %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}
