package crds

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
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
)

// TestReadable shows that the API server accepts nothing that the provider
// cannot read: one such object would keep it from listing all the others.
func TestReadable(t *testing.T) {
	cases := map[string]struct {
		reason string
		spec   string
		want   bool
	}{
		"Minutes": {
			reason: "A timeout is a duration as Go writes it.",
			spec:   `{"role": "a.b.c", "timeout": "1h30m"}`,
			want:   true,
		},
		"None": {
			reason: "Nothing is no timeout.",
			spec:   `{"role": "a.b.c", "timeout": "0s"}`,
			want:   true,
		},
		"Word": {
			reason: "A word is no duration.",
			spec:   `{"role": "a.b.c", "timeout": "soon"}`,
		},
		"Number": {
			reason: "A number has no unit.",
			spec:   `{"role": "a.b.c", "timeout": "20"}`,
		},
		"Days": {
			reason: "Go knows no days.",
			spec:   `{"role": "a.b.c", "timeout": "1d"}`,
		},
		"Overflow": {
			reason: "What no duration can hold is none.",
			spec:   `{"role": "a.b.c", "timeout": "99999999999h"}`,
		},
		"Negative": {
			reason: "Time does not run backwards.",
			spec:   `{"role": "a.b.c", "timeout": "-5m"}`,
		},
		"RetryLimit": {
			reason: "A number that does not fit into 32 bits is too large.",
			spec:   `{"role": "a.b.c", "retryLimit": 3000000000}`,
		},
		"RetryLimitScientific": {
			reason: "So is one that is written in another way.",
			spec:   `{"role": "a.b.c", "retryLimit": 3e9}`,
		},
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
		cluster, namespaced = "ansible.crossplane.io_", "ansible.m.crossplane.io_"
		runs, configs       = "ansibleruns.yaml", "providerconfigs.yaml"
	)

	cases := map[string]struct {
		reason string
		files  []string
		spec   string
		want   string
	}{
		"NoContent": {
			reason: "An AnsibleRun has content.",
			files:  []string{cluster + runs, namespaced + runs},
			spec:   `{"forProvider": {"vars": {"a": 1}}}`,
			want:   "exactly one of role, roles, playbook, playbooks and playbookInline must be set",
		},
		"TwoContents": {
			reason: "It has one kind of content, also when one of two has no type in the schema.",
			files:  []string{cluster + runs, namespaced + runs},
			spec:   `{"forProvider": {"role": "a.b.c", "roles": ["a.b.c"]}}`,
			want:   "exactly one of role, roles, playbook, playbooks and playbookInline must be set",
		},
		"EmptyContent": {
			reason: "An empty playbook is no content.",
			files:  []string{cluster + runs, namespaced + runs},
			spec:   `{"forProvider": {"playbookInline": ""}}`,
			want:   "playbookInline",
		},
		"TwoContentsOfDeletion": {
			reason: "Deletion runs one kind of content.",
			files:  []string{cluster + runs, namespaced + runs},
			spec:   `{"forProvider": {"role": "a.b.c", "onDelete": {"role": "a.b.c", "roles": ["a.b.c"]}}}`,
			want:   "at most one of role, roles, playbook, playbooks and playbookInline may be set",
		},
		"PathOfDeletion": {
			reason: "A path is that of a project, also when the content is elsewhere.",
			files:  []string{cluster + runs, namespaced + runs},
			spec:   `{"forProvider": {"role": "a.b.c", "onDelete": {"playbooks": ["remove.yml"]}}}`,
			want:   "a playbook that is a path needs project",
		},
		"PasswordInURL": {
			reason: "The object shows the URL.",
			files:  []string{cluster + runs, namespaced + runs},
			spec:   `{"forProvider": {"playbook": "site.yml", "project": {"src": "https://me:password@git.example.org/a.git"}}}`,
			want:   "must not have a password or a token",
		},
		"PasswordOfMailAddressInURL": {
			reason: "So does one whose user has an @.",
			files:  []string{cluster + runs, namespaced + runs},
			spec:   `{"forProvider": {"playbook": "site.yml", "project": {"src": "https://me@corp:password@git.example.org/a.git"}}}`,
			want:   "must not have a password or a token",
		},
		"TokenInURL": {
			reason: "A token in place of a user is one, too.",
			files:  []string{cluster + runs, namespaced + runs},
			spec:   `{"forProvider": {"playbook": "site.yml", "project": {"src": "git+https://glpat-0123456789abcdef@git.example.org/a.git"}}}`,
			want:   "must not have a password or a token",
		},
		"TokenInQuery": {
			reason: "So is one that is a parameter.",
			files:  []string{cluster + runs, namespaced + runs},
			spec:   `{"forProvider": {"playbook": "site.yml", "project": {"src": "https://git.example.org/a.git?private_token=t0ken"}}}`,
			want:   "must not have a password or a token",
		},
		"OrganizationInURL": {
			reason: "The URLs of Azure have a user that is no secret.",
			files:  []string{cluster + runs, namespaced + runs},
			spec:   `{"forProvider": {"playbook": "site.yml", "project": {"src": "https://acme@dev.azure.com/acme/a/_git/a"}}}`,
		},
		"UserInURL": {
			reason: "ssh has a user.",
			files:  []string{cluster + runs, namespaced + runs},
			spec:   `{"forProvider": {"playbook": "site.yml", "project": {"src": "ssh://git@git.example.org:22/a.git"}}}`,
		},
		"NothingOfDeletion": {
			reason: "What says nothing of deletion is a mistake.",
			files:  []string{cluster + runs, namespaced + runs},
			spec:   `{"forProvider": {"role": "a.b.c", "onDelete": {}}}`,
			want:   "spec.forProvider.onDelete in body should have at least 1 properties",
		},
		"VarFileWithoutReference": {
			reason: "A variable file says where it is.",
			files:  []string{cluster + runs, namespaced + runs},
			spec:   `{"forProvider": {"role": "a.b.c", "varFiles": [{"source": "SecretKey"}]}}`,
			want:   "source Secret takes secretRef; for one key write source: SecretKey",
		},
		"WholeSecretByKey": {
			reason: "A whole Secret is named without a key.",
			files:  []string{cluster + runs, namespaced + runs},
			spec:   `{"forProvider": {"role": "a.b.c", "varFiles": [{"source": "Secret", "secretKeyRef": {"name": "a", "key": "b"}}]}}`,
			want:   "source Secret takes secretRef; for one key write source: SecretKey",
		},
		"WholeConfigMap": {
			reason: "So is a whole ConfigMap, in a configuration, too.",
			files:  []string{cluster + configs, namespaced + configs, namespaced + "cluster" + configs},
			spec:   `{"varFiles": [{"source": "ConfigMap"}]}`,
			want:   "source ConfigMap takes configMapRef; for one key write source: ConfigMapKey",
		},
		"VariableOfWhole": {
			reason: "A whole Secret is no single variable.",
			files:  []string{cluster + runs, namespaced + runs},
			spec:   `{"forProvider": {"role": "a.b.c", "varFiles": [{"source": "Secret", "secretRef": {"name": "a"}, "variable": "b"}]}}`,
			want:   "of a whole Secret or ConfigMap each key is a variable",
		},
		"ReservedVariable": {
			reason: "The provider's own variable comes from nowhere else.",
			files:  []string{cluster + runs, namespaced + runs},
			spec:   `{"forProvider": {"role": "a.b.c", "varFiles": [{"source": "SecretKey", "secretKeyRef": {"name": "a", "key": "b"}, "variable": "ansible_provider_meta"}]}}`,
			want:   "ansible_provider_meta is the provider's own variable",
		},
		"ReservedStateVariable": {
			reason: "The provider's own variable is no state variable.",
			files:  []string{cluster + runs, namespaced + runs},
			spec:   `{"forProvider": {"role": "a.b.c", "stateVariable": {"name": "ansible_provider_meta"}}}`,
			want:   "ansible_provider_meta is the provider's own variable",
		},
		"ExecutableNothing": {
			reason: "An executable inventory needs an inventory.",
			files:  []string{cluster + runs, namespaced + runs},
			spec:   `{"forProvider": {"role": "a.b.c", "executableInventory": true}}`,
			want:   "executableInventory needs inventoryInline or inventories",
		},
		"Timeout": {
			reason: "A mistaken timeout is told what to write.",
			files:  []string{cluster + runs, namespaced + runs},
			spec:   `{"forProvider": {"role": "a.b.c", "timeout": "1d"}}`,
			want:   "must be a duration that is not negative, such as 20m",
		},
		"Env": {
			reason: "No variable takes over the programs of a run.",
			files:  []string{cluster + runs, namespaced + runs},
			spec:   `{"forProvider": {"playbookInline": "[]", "env": [{"name": "PYTHONPATH", "value": "/x"}]}}`,
			want:   "would take over programs",
		},
		"ConfigKind": {
			reason: "A configuration is of one of two kinds.",
			files:  []string{namespaced + runs},
			spec:   `{"providerConfigRef": {"kind": "Secret", "name": "there"}, "forProvider": {"playbookInline": "[]"}}`,
			want:   "providerConfigRef.kind must be ProviderConfig or ClusterProviderConfig",
		},
		"ConfigElsewhere": {
			reason: "A configuration is not that of another namespace.",
			files:  []string{namespaced + runs},
			spec:   `{"providerConfigRef": {"kind": "ProviderConfig", "name": "there", "namespace": "other"}, "forProvider": {"playbookInline": "[]"}}`,
			want:   "unknown field: spec.providerConfigRef.namespace",
		},
		"DetailsElsewhere": {
			reason: "Connection details go to no other namespace.",
			files:  []string{namespaced + runs},
			spec:   `{"writeConnectionSecretToRef": {"name": "details", "namespace": "other"}, "forProvider": {"playbookInline": "[]"}}`,
			want:   "unknown field: spec.writeConnectionSecretToRef.namespace",
		},
		"InventoryOfHost": {
			reason: "A namespace reads nothing of the provider's disk.",
			files:  []string{namespaced + runs},
			spec:   `{"forProvider": {"playbookInline": "[]", "inventories": [{"source": "Filesystem", "fs": {"path": "/etc/hosts"}}]}}`,
			want:   "inventories of a namespaced AnsibleRun cannot come from Environment or Filesystem",
		},
		"CredentialOfHost": {
			reason: "Nor of its environment.",
			files:  []string{namespaced + "cluster" + configs},
			spec:   `{"credentials": [{"filename": "token", "source": "Environment", "env": {"name": "TOKEN"}}]}`,
			want:   "credentials for namespaced AnsibleRuns cannot come from Environment or Filesystem",
		},
		"Confinement": {
			reason: "A namespace does not grant itself the provider's machine.",
			files:  []string{namespaced + configs},
			spec:   `{"confinement": {"serviceAccount": true}}`,
			want:   "only cluster scoped configurations may have confinement",
		},
		"ServiceAccountElsewhere": {
			reason: "A namespace has no rights of another one.",
			files:  []string{namespaced + configs},
			spec:   `{"kubernetes": {"serviceAccountRef": {"namespace": "crossplane-system", "name": "provider-ansible"}}}`,
			want:   "the ServiceAccount of this configuration is in its own namespace",
		},
		"RequirementsOfImage": {
			reason: "Nothing installs requirements where the image brings the content.",
			files:  []string{cluster + configs, namespaced + configs},
			spec:   `{"execution": {"place": "Pod", "content": "Image"}, "requirements": "roles: [{name: acme.page}]"}`,
			want:   "requirements are not installed where execution.content is Image",
		},
		"ClaimForNothing": {
			reason: "Nor is there content for a claim.",
			files:  []string{cluster + configs, namespaced + configs},
			spec:   `{"execution": {"place": "Pod", "content": "Image", "contentVolumeClaim": "content"}}`,
			want:   "leave contentVolumeClaim out",
		},
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

// schemaOf a CustomResourceDefinition validates objects as the API server does, strictly.
func schemaOf(t *testing.T, file string) func(object []byte) field.ErrorList {
	t.Helper()

	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(text, crd); err != nil {
		t.Fatal(err)
	}

	props := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, props, nil); err != nil {
		t.Fatal(err)
	}

	openAPI, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		t.Fatal(err)
	}

	structural, err := structuralschema.NewStructural(props)
	if err != nil {
		t.Fatal(err)
	}

	rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)

	return func(object []byte) field.ErrorList {
		var o map[string]any
		if err := utiljson.Unmarshal(object, &o); err != nil {
			t.Fatal(err)
		}

		errs := validation.ValidateCustomResource(nil, o, openAPI)
		more, _ := rules.Validate(context.Background(), nil, structural, o, nil, celconfig.RuntimeCELCostBudget)

		errs = append(errs, more...)

		for _, path := range pruning.PruneWithOptions(o, structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
			errs = append(errs, field.Forbidden(field.NewPath(path), "unknown field: "+path))
		}

		return errs
	}
}
