package scaffold

import (
	"bytes"
	"context"
	"errors"
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
	type args struct {
		dir        string
		name       string
		entryPoint string
		config     Config
	}

	cases := map[string]struct {
		reason string
		args   args
	}{
		"site": {
			reason: "All that argument specifications can say.",
			args: args{
				dir: siteRole, entryPoint: EntryPointMain,
				config: Config{Group: "platform.example.org", Requirements: "collections:\n- name: acme.web\n  version: 1.0.0\n"},
			},
		},
		"site-cluster": {
			reason: "A cluster-scoped XR with names of its own.",
			args: args{
				dir: siteRole, entryPoint: EntryPointMain,
				config: Config{Group: "example.org", Kind: "WebSite", Plural: "sites", Cluster: true, Requirements: "collections: [acme.web]\n"},
			},
		},
		"backup": {
			reason: "Another entry point of the same role.",
			args:   args{dir: siteRole, entryPoint: "backup", config: Config{Group: "platform.example.org", Kind: "Backup"}},
		},
		"plain": {
			reason: "A role without argument specifications, from its defaults.",
			args:   args{dir: "testdata/acme.plain", entryPoint: EntryPointMain, config: Config{Group: "platform.example.org"}},
		},
		"server": {
			reason: "Argument specifications in meta/main.yml, and the name of a role from there.",
			args:   args{dir: "testdata/server", entryPoint: EntryPointMain, config: Config{Group: "platform.example.org"}},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			role, err := Load(tc.args.dir, tc.args.name, tc.args.entryPoint)
			if err != nil {
				t.Fatalf("\n%s\nLoad(...): %v", tc.reason, err)
			}

			documents, err := Write(role, tc.args.config)
			if err != nil {
				t.Fatalf("\n%s\nWrite(...): %v", tc.reason, err)
			}

			got := &bytes.Buffer{}
			for _, d := range documents {
				got.WriteString("--- # " + d.File + "\n")
				got.Write(d.Content)
			}

			golden := filepath.Join("testdata", "golden", name+".yaml")
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}

			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("\n%s\nWrite(...): -want, +got:\n%s", tc.reason, diff)
			}

			result, err := validate.Files(validate.File{Name: golden, Content: got.Bytes()})
			if err != nil || result.Inputs != 1 || len(result.Mistakes) > 0 {
				t.Errorf("\n%s\nvalidate.Files(...): %v: %v", tc.reason, err, result)
			}

			served(t, documents[0].Content, documents[len(documents)-1].Content)
		})
	}
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
	if err := yaml.Unmarshal(definition, &xrd); err != nil {
		t.Fatal(err)
	}

	for i, version := range xrd.Spec.Versions {
		props := &apiextensions.JSONSchemaProps{}
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, props, nil); err != nil {
			t.Fatal(err)
		}

		structural, err := schema.NewStructural(props)
		if err != nil {
			t.Fatalf("the schema is not structural: %v", err)
		}

		errs := schema.ValidateStructural(field.NewPath("openAPIV3Schema"), structural)

		derrs, err := defaulting.ValidateDefaults(context.Background(), field.NewPath("openAPIV3Schema"), structural, true, true)
		if err != nil {
			t.Fatal(err)
		}

		if errs = append(errs, derrs...); len(errs) > 0 {
			t.Errorf("the schema is not valid: %v", errs.ToAggregate())
		}

		if i > 0 || example == nil {
			continue
		}

		validator, _, err := validation.NewSchemaValidator(props)
		if err != nil {
			t.Fatal(err)
		}

		xr := map[string]any{}
		if err := yaml.Unmarshal(example, &xr); err != nil {
			t.Fatal(err)
		}

		if errs := validation.ValidateCustomResource(nil, xr, validator); len(errs) > 0 {
			t.Errorf("the example is not valid: %v", errs.ToAggregate())
		}
	}
}

func TestInstall(t *testing.T) {
	needs.Ansible(t)

	collection, err := filepath.Abs("testdata/acme.web")
	if err != nil {
		t.Fatal(err)
	}

	requirements := filepath.Join(t.TempDir(), "requirements.yml")
	if err := os.WriteFile(requirements, []byte("collections: [{name: "+collection+", type: dir}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	dir, err := Install(t.Context(), "acme.web.site", requirements, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	got, err := Load(dir, "", EntryPointMain)
	if err != nil {
		t.Fatal(err)
	}

	want, err := Load(siteRole, "", EntryPointMain)
	if err != nil {
		t.Fatal(err)
	}

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

// TestOnDelete says what deletion does with roles that look at the state, that have an entry point for removal, and others.
func TestOnDelete(t *testing.T) {
	cases := map[string]struct {
		reason string
		file   string
		text   string
		want   string
	}{
		"Keep":    {"Nothing is known to remove anything.", "main.yml", "[]\n", "onDelete:\n          policy: Keep\n"},
		"Removal": {"An entry point has the name of a removal.", "uninstall.yml", "[]\n", "tasks_from: uninstall\n"},
		"Aware":   {"The role looks at the state.", "main.yml", "- debug: {var: ansible_provider_meta}\n", "# ansible_provider_meta.managed_resource.state absent.\n"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "acme.web")
			if err := os.MkdirAll(filepath.Join(dir, "tasks"), 0o700); err != nil {
				t.Fatal(err)
			}

			if err := os.WriteFile(filepath.Join(dir, "tasks", tc.file), []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}

			role, err := Load(dir, "", EntryPointMain)
			if err != nil {
				t.Fatal(err)
			}

			documents, err := Write(role, Config{Group: "platform.example.org"})
			if err != nil {
				t.Fatal(err)
			}

			var got string
			for _, d := range documents {
				got += string(d.Content)
			}

			if !strings.Contains(got, tc.want) || tc.file == "main.yml" && tc.text != "[]\n" && strings.Contains(got, "onDelete") {
				t.Errorf("\n%s\nWrite(...): want %q, got:\n%s", tc.reason, tc.want, got)
			}
		})
	}
}

// A value of an XR wins over all that a project says, so that its own defaults would never count.
func TestLoadProject(t *testing.T) {
	project := t.TempDir()

	for name, text := range map[string]string{
		"roles/web/defaults/main.yml":              "port: 80\nname: web\nsize: 1\ntitle: none\n",
		"group_vars/all/main.yml":                  "port: 8080\n",
		"inventories/production/host_vars/web.yml": "size: 3\n",
		"group_vars/secret.yml":                    "$ANSIBLE_VAULT;1.1;AES256\n",
		"other/vars/main.yml":                      "title: other\n",
	} {
		file := filepath.Join(project, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}

	role, err := Load(filepath.Join(project, "roles", "web"), "", EntryPointMain)
	if err != nil {
		t.Fatal(err)
	}

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
	cases := map[string]struct {
		reason     string
		dir        string
		entryPoint string
		want       string
	}{
		"NoEntryPoint": {
			reason:     "There is a list of what there is.",
			dir:        siteRole,
			entryPoint: "restore",
			want:       `the role acme.web.site has no entry point "restore", only backup, main`,
		},
		"Project": {
			reason: "A project has roles, and is none.",
			dir:    "testdata/cache-operator",
			want:   "testdata/cache-operator is no role, since it has no tasks: give the directory of a role, such as roles/web",
		},
		"UndocumentedEntryPoint": {
			reason:     "Defaults say nothing of entry points.",
			dir:        "testdata/acme.plain",
			entryPoint: "restore",
			want:       `the role acme.plain has no argument specifications, so nothing is known of its entry point "restore"`,
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
