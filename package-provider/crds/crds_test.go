package crds

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	clusterv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/cluster/v1alpha1"
	namespacedv1alpha1 "github.com/crossplane-ansible/crossplane-ansible/apis/namespaced/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// TestReadable checks that the API server refuses all objects that the provider cannot read. One such object would keep
// the provider from listing all others.
func TestReadable(t *testing.T) {
	cases := map[string]struct {
		reason, spec string
		want         bool
	}{
		"Minutes":              {reason: "A timeout is a duration as Go writes it.", spec: `{"role": "a.b.c", "timeout": "1h30m"}`, want: true},
		"None":                 {reason: "Zero means no timeout.", spec: `{"role": "a.b.c", "timeout": "0s"}`, want: true},
		"Word":                 {reason: "A word is no duration.", spec: `{"role": "a.b.c", "timeout": "soon"}`},
		"Number":               {reason: "A number has no unit.", spec: `{"role": "a.b.c", "timeout": "20"}`},
		"Days":                 {reason: "A duration of Go has no days.", spec: `{"role": "a.b.c", "timeout": "1d"}`},
		"Overflow":             {reason: "A value above the range of durations is refused.", spec: `{"role": "a.b.c", "timeout": "99999999999h"}`},
		"Negative":             {reason: "A negative timeout is refused.", spec: `{"role": "a.b.c", "timeout": "-5m"}`},
		"RetryLimit":           {reason: "A number that does not fit into 32 bits is too large.", spec: `{"role": "a.b.c", "retryLimit": 3000000000}`},
		"RetryLimitScientific": {reason: "A large number in scientific notation is refused.", spec: `{"role": "a.b.c", "retryLimit": 3e9}`},
	}

	for _, kind := range []struct {
		file string
		into func() any
	}{
		{"ansible.crossplane.io_ansibleruns.yaml", func() any { return &clusterv1alpha1.AnsibleRun{} }},
		{"ansible.m.crossplane.io_ansibleruns.yaml", func() any { return &namespacedv1alpha1.AnsibleRun{} }},
	} {
		accepts := schemaOf(t, kind.file)

		for name, tc := range cases {
			t.Run(kind.file+name, func(t *testing.T) {
				object := fmt.Appendf(nil, `{"spec": {"forProvider": %s}}`, tc.spec)

				errs := accepts(object)
				if diff := cmp.Diff(tc.want, len(errs) == 0); diff != "" {
					t.Errorf("\n%s\nThe API server accepts it: -want, +got:\n%s\n%v", tc.reason, diff, errs.ToAggregate())
				}

				if err := json.Unmarshal(object, kind.into()); len(errs) == 0 && err != nil {
					t.Errorf("\n%s\nThe API server accepts it, and the provider says: %v", tc.reason, err)
				}
			})
		}
	}
}

// TestRefused shows what the API server refuses, and what it says.
func TestRefused(t *testing.T) {
	const (
		run, config, shared = "ansible.m.crossplane.io_ansibleruns.yaml", "ansible.m.crossplane.io_providerconfigs.yaml", "ansible.m.crossplane.io_clusterproviderconfigs.yaml"

		content  = "exactly one of role, roles, playbook, playbooks and playbookInline must be set"
		inURL    = "must not have a password or a token"
		whole    = "source Secret takes secretRef; for one key write source: SecretKey"
		reserved = "ansible_provider_meta is the provider's own variable"
	)

	runs := []string{run, "ansible.crossplane.io_ansibleruns.yaml"}
	configs := []string{config, "ansible.crossplane.io_providerconfigs.yaml"}
	allConfigs := append([]string{shared}, configs...)

	cases := map[string]struct {
		files              []string
		spec, want, reason string
	}{
		"NoContent":    {runs, `{"forProvider": {"vars": {"a": 1}}}`, content, "An AnsibleRun has content."},
		"TwoContents":  {runs, `{"forProvider": {"role": "a.b.c", "roles": ["a.b.c"]}}`, content, "It has one kind of content, also when one of two has no type in the schema."},
		"EmptyContent": {runs, `{"forProvider": {"playbookInline": ""}}`, "playbookInline", "An empty playbook is no content."},
		"TwoContentsOfDeletion": {
			runs, `{"forProvider": {"role": "a.b.c", "onDelete": {"role": "a.b.c", "roles": ["a.b.c"]}}}`, "at most one of role, roles, playbook, playbooks and playbookInline may be set",
			"Deletion runs one kind of content.",
		},
		"PathOfDeletion": {
			runs, `{"forProvider": {"role": "a.b.c", "onDelete": {"playbooks": ["remove.yml"]}}}`, "a playbook that is a path needs project",
			"A path is that of a project, also when the content is elsewhere.",
		},
		"PasswordInURL":              {runs, `{"forProvider": {"playbook": "site.yml", "project": {"src": "https://me:password@git.example.org/a.git"}}}`, inURL, "The object shows the URL."},
		"PasswordOfMailAddressInURL": {runs, `{"forProvider": {"playbook": "site.yml", "project": {"src": "https://me@corp:password@git.example.org/a.git"}}}`, inURL, "So does one whose user has an @."},
		"TokenInURL":                 {runs, `{"forProvider": {"playbook": "site.yml", "project": {"src": "git+https://glpat-0123456789abcdef@git.example.org/a.git"}}}`, inURL, "A token in place of a user is one, too."},
		"TokenInQuery":               {runs, `{"forProvider": {"playbook": "site.yml", "project": {"src": "https://git.example.org/a.git?private_token=t0ken"}}}`, inURL, "So is one that is a parameter."},
		"OrganizationInURL":          {runs, `{"forProvider": {"playbook": "site.yml", "project": {"src": "https://acme@dev.azure.com/acme/a/_git/a"}}}`, "", "The URLs of Azure have a user that is no secret."},
		"UserInURL":                  {runs, `{"forProvider": {"playbook": "site.yml", "project": {"src": "ssh://git@git.example.org:22/a.git"}}}`, "", "ssh has a user."},
		"NothingOfDeletion":          {runs, `{"forProvider": {"role": "a.b.c", "onDelete": {}}}`, "spec.forProvider.onDelete in body should have at least 1 properties", "What says nothing of deletion is a mistake."},
		"VarFileWithoutReference":    {runs, `{"forProvider": {"role": "a.b.c", "varFiles": [{"source": "SecretKey"}]}}`, whole, "A variable file says where it is."},
		"WholeSecretByKey":           {runs, `{"forProvider": {"role": "a.b.c", "varFiles": [{"source": "Secret", "secretKeyRef": {"name": "a", "key": "b"}}]}}`, whole, "A whole Secret is named without a key."},
		"WholeConfigMap": {
			allConfigs, `{"varFiles": [{"source": "ConfigMap"}]}`, "source ConfigMap takes configMapRef; for one key write source: ConfigMapKey",
			"So is a whole ConfigMap, in a configuration, too.",
		},
		"VariableOfWhole": {
			runs, `{"forProvider": {"role": "a.b.c", "varFiles": [{"source": "Secret", "secretRef": {"name": "a"}, "variable": "b"}]}}`, "of a whole Secret or ConfigMap each key is a variable",
			"A whole Secret is no single variable.",
		},
		"ReservedVariable": {
			runs, `{"forProvider": {"role": "a.b.c", "varFiles": [{"source": "SecretKey", "secretKeyRef": {"name": "a", "key": "b"}, "variable": "ansible_provider_meta"}]}}`, reserved,
			"The provider's own variable comes from nowhere else.",
		},
		"ReservedStateVariable": {runs, `{"forProvider": {"role": "a.b.c", "stateVariable": {"name": "ansible_provider_meta"}}}`, reserved, "The provider's own variable is no state variable."},
		"ExecutableNothing":     {runs, `{"forProvider": {"role": "a.b.c", "executableInventory": true}}`, "executableInventory needs inventoryInline or inventories", "An executable inventory needs an inventory."},
		"Timeout":               {runs, `{"forProvider": {"role": "a.b.c", "timeout": "1d"}}`, "must be a duration that is not negative, such as 20m", "A mistaken timeout is told what to write."},
		"Env":                   {runs, `{"forProvider": {"playbookInline": "[]", "env": [{"name": "PYTHONPATH", "value": "/x"}]}}`, "would take over programs", "No variable takes over the programs of a run."},
		"ConfigKind": {
			[]string{run},
			`{"providerConfigRef": {"kind": "Secret", "name": "there"}, "forProvider": {"playbookInline": "[]"}}`, "providerConfigRef.kind must be ProviderConfig or ClusterProviderConfig",
			"A configuration is of one of two kinds.",
		},
		"ConfigElsewhere": {
			[]string{run},
			`{"providerConfigRef": {"kind": "ProviderConfig", "name": "there", "namespace": "other"}, "forProvider": {"playbookInline": "[]"}}`, "unknown field: spec.providerConfigRef.namespace",
			"A configuration is not that of another namespace.",
		},
		"DetailsElsewhere": {
			[]string{run},
			`{"writeConnectionSecretToRef": {"name": "details", "namespace": "other"}, "forProvider": {"playbookInline": "[]"}}`, "unknown field: spec.writeConnectionSecretToRef.namespace",
			"Connection details go to no other namespace.",
		},
		"InventoryOfHost": {
			[]string{run},
			`{"forProvider": {"playbookInline": "[]", "inventories": [{"source": "Filesystem", "fs": {"path": "/etc/hosts"}}]}}`, "inventories of a namespaced AnsibleRun cannot come from Environment or Filesystem",
			"A namespace reads nothing of the provider's disk.",
		},
		"CredentialOfHost": {
			[]string{shared},
			`{"credentials": [{"filename": "token", "source": "Environment", "env": {"name": "TOKEN"}}]}`, "credentials for namespaced AnsibleRuns cannot come from Environment or Filesystem",
			"Nor of its environment.",
		},
		"Confinement": {[]string{config}, `{"confinement": {"serviceAccount": true}}`, "only cluster scoped configurations may have confinement", "A namespace does not grant itself the provider's machine."},
		"ServiceAccountElsewhere": {
			[]string{config},
			`{"kubernetes": {"serviceAccountRef": {"namespace": "crossplane-system", "name": "provider-ansible"}}}`, "the ServiceAccount of this configuration is in its own namespace",
			"A namespace has no rights of another one.",
		},
		"RequirementsOfImage": {
			configs, `{"execution": {"place": "Pod", "content": "Image"}, "requirements": "roles: [{name: acme.page}]"}`, "requirements are not installed where execution.content is Image",
			"Nothing installs requirements where the image brings the content.",
		},
		"ClaimForNothing": {configs, `{"execution": {"place": "Pod", "content": "Image", "contentVolumeClaim": "content"}}`, "leave contentVolumeClaim out", "Nor is there content for a claim."},
	}

	for name, tc := range cases {
		for _, file := range tc.files {
			t.Run(file+name, func(t *testing.T) {
				errs := schemaOf(t, file)(fmt.Appendf(nil, `{"metadata": {"name": "x"}, "spec": %s}`, tc.spec))

				if got := fmt.Sprint(errs.ToAggregate()); !strings.Contains(got, tc.want) {
					t.Errorf("\n%s\nwant %q, got %s", tc.reason, tc.want, got)
				}
			})
		}
	}
}

// TestAttacks has values that are to become something else on the way into an argument, a file name or a playbook.
func TestAttacks(t *testing.T) {
	type object = map[string]any

	run := func(field string, value any) object {
		return object{"forProvider": object{"role": "a.b.c", field: value}}
	}
	playbook := func(name string, more ...string) object {
		p := object{"playbook": name}
		for _, src := range more {
			p["project"] = object{"src": src}
		}

		return object{"forProvider": p}
	}
	ofProject := func(path string) object { return playbook(path, "https://git.example.org/a.git") }
	credential := func(names ...string) object {
		var all []any
		for _, name := range names {
			all = append(all, object{"filename": name, "source": "None"})
		}

		return object{"credentials": all}
	}

	const noPlaybook = "must be namespace.collection.playbook, or the path of one in the project"

	for want, attacks := range map[string][]object{
		"must not name a file": {
			run("limit", "@/proc/1/environ"), run("limit", "web,@/etc/shadow"), run("limit", "web:@/etc/shadow"),
			run("limit", "\u00a0@/etc/shadow"), run("limit", "web\u2028@/etc/shadow"), run("limit", "]@/etc/shadow"), run("limit", "[@/etc/shadow"),
		},
		`should match '^\P{Cc}*$'`: {
			run("limit", "web\x00"), run("limit", "web\n--extra-vars=@/etc/shadow"), run("hosts", "web\n  connection: local"),
			run("tags", []any{"a", "b\x00"}), run("skipTags", []any{"a\n"}), run("onDelete", object{"skipTags": []any{"a\n"}}),
		},
		noPlaybook: {
			playbook("/etc/x.y.z"), playbook("--inventory=x.y.z"), playbook("{{a}}.b.c"), ofProject("site"), ofProject("-x.yml"),
			ofProject("../site.yml"), ofProject("/etc/a.yml"), ofProject("a/./b.yml"), ofProject("{{ x }}.yml"), ofProject("a b.yml"), ofProject("a\u3000b.yml"),
			ofProject(".Git/a.yml"), ofProject("a=b.yml"), ofProject("a\x1bb.yml"), run("onDelete", object{"playbooks": []any{"site"}}),
		},
		"must be the name of a file": {
			credential("-x"), credential("../../x"), credential("/etc/x"), credential(`..\x`), credential("x\x00.cfg"), credential("x\ry"),
			credential("x\x1b]0;y"), credential(strings.Repeat("é", 128)), // Kubernetes counts characters.
		},
		"must not start with a dot": {credential(".."), credential(".bashrc")},
		"has a meaning to Ansible":  {credential("callback_plugins"), credential("playbook.yml")},
		"the same filename":         {credential("a", "b", "a")},
		"<nil>": {
			credential(".git-credentials", "ansible.cfg", "id_rsa", "my key"), run("limit", "web:&a@b"), run("tags", []any{"é"}),
			playbook("a.b.c"), ofProject("playbooks/web-2.yaml"), ofProject("a.b.sub.c"),
		},
	} {
		for _, spec := range attacks {
			file := "providerconfigs.yaml"
			if spec["forProvider"] != nil {
				file = "ansibleruns.yaml"
			}

			text, err := json.Marshal(object{"metadata": object{"name": "x"}, "spec": spec})
			needs.OK(t, err)

			for _, group := range []string{"ansible.crossplane.io_", "ansible.m.crossplane.io_"} {
				if got := fmt.Sprint(schemaOf(t, group+file)(text).ToAggregate()); !strings.Contains(got, want) {
					t.Errorf("%s: want %q, got %s", text, want, got)
				}
			}
		}
	}
}

// TestNames refuses names that cannot be the value of a label, which the users of a configuration have. It is not refused
// when an AnsibleRun refers to it.
func TestNames(t *testing.T) {
	for _, file := range []string{
		"ansible.crossplane.io_providerconfigs.yaml", "ansible.m.crossplane.io_providerconfigs.yaml",
		"ansible.m.crossplane.io_clusterproviderconfigs.yaml",
	} {
		for length, want := range map[int]string{63: "<nil>", 64: "metadata.name must have at most 63 characters: it is the value of a label"} {
			errs := schemaOf(t, file)(fmt.Appendf(nil, `{"metadata": {"name": %q}, "spec": {}}`, strings.Repeat("a", length)))
			if got := fmt.Sprint(errs.ToAggregate()); !strings.Contains(got, want) {
				t.Errorf("%s, %d characters: want %q, got %s", file, length, want, got)
			}
		}
	}
}

// schemas that were compiled, by their files.
var schemas = map[string]func(object []byte) field.ErrorList{}

// schemaOf a CustomResourceDefinition validates objects as the API server does, strictly.
func schemaOf(t *testing.T, file string) func(object []byte) field.ErrorList {
	t.Helper()

	if s := schemas[file]; s != nil {
		return s
	}

	crd := &apiextensionsv1.CustomResourceDefinition{}
	needs.OK(t, yaml.Unmarshal([]byte(needs.Read(t, file)), crd))

	props := &apiextensions.JSONSchemaProps{}
	needs.OK(t, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, props, nil))

	openAPI, _, err := validation.NewSchemaValidator(props)
	needs.OK(t, err)

	structural, err := structuralschema.NewStructural(props)
	needs.OK(t, err)

	rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)

	schemas[file] = func(object []byte) field.ErrorList {
		var o map[string]any
		needs.OK(t, utiljson.Unmarshal(object, &o))

		errs := validation.ValidateCustomResource(nil, o, openAPI)
		more, _ := rules.Validate(context.Background(), nil, structural, o, nil, celconfig.RuntimeCELCostBudget)

		errs = append(errs, more...)

		for _, path := range pruning.PruneWithOptions(o, structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
			errs = append(errs, field.Forbidden(field.NewPath(path), "unknown field: "+path))
		}

		return errs
	}

	return schemas[file]
}
