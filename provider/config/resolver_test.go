package config

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/redact"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

const (
	clusterConfig = `
apiVersion: ansible.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {name: default}
`
	clusterRun = `
apiVersion: ansible.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {name: run}
`
	clusterProviderConfig = `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ClusterProviderConfig
metadata: {name: default}
`
	namespacedConfig = `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {name: local, namespace: team}
`
	namespacedRun = `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {name: run, namespace: team}
`
	inline  = "spec: {forProvider: {playbookInline: x}}"
	local   = "spec: {providerConfigRef: {kind: ProviderConfig, name: local}, forProvider: {playbookInline: x}}"
	secrets = `
apiVersion: v1
kind: Secret
metadata: {name: db, namespace: team}
stringData: {vars.yml: "password: x", empty.yml: "# nothing\n", bad.yml: "a: *s3cret"}
---
apiVersion: v1
kind: Secret
metadata: {name: db, namespace: other}
stringData: {vars.yml: "password: y"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: cm, namespace: team}
data: {hosts: "a\nb\n", vars.yml: "a: 1"}
binaryData: {binary: "AAE="}
`
)

func TestResolve(t *testing.T) {
	type want struct {
		in      inputs.Inputs
		err     string
		missing bool
	}

	file := filepath.Join(t.TempDir(), "token")
	needs.OK(t, os.WriteFile(file, []byte("from the host"), 0o600))

	t.Setenv("RESOLVE_TOKEN", "from the environment")

	// Variables of whole keys: each name is on lines of its own, since Ansible shows the lines around a name in warnings.
	raw := func(pairs ...string) []byte {
		text := "!unsafe {"
		for i := 0; i < len(pairs); i += 2 {
			text += "\n\n\n" + pairs[i] + "\n" + pairs[i+1]
		}

		return []byte(text + "}\n")
	}

	for name, tc := range map[string]struct {
		reason string
		docs   []string
		r      Resolver
		want   want
	}{
		"Defaults": {
			reason: "The configuration default is used when none is named.",
			docs:   []string{clusterRun + inline, clusterConfig},
			want:   want{in: inputs.Inputs{Config: `ProviderConfig "default"`}},
		},
		"ClusterProviderConfig": {
			reason: "A namespaced run uses the ClusterProviderConfig default when none is named.",
			docs:   []string{namespacedRun + inline, clusterProviderConfig},
			want:   want{in: inputs.Inputs{Config: `ClusterProviderConfig "default"`}},
		},
		"NamespacedConfig": {
			reason: "A namespaced run uses a ProviderConfig of its own namespace.",
			docs:   []string{namespacedRun + local, namespacedConfig + "spec: {requirements: r, vars: [{key: A, value: 1}]}"},
			want: want{in: inputs.Inputs{
				Config:       `ProviderConfig "team/local"`,
				Requirements: "r",
				Env:          map[string]string{"A": "1"},
			}},
		},
		"Env": {
			reason: "Plays get the environment variables of the configuration and of the run, with values from Secrets and ConfigMaps.",
			docs: []string{
				namespacedRun + "spec: {providerConfigRef: {kind: ProviderConfig, name: local}, forProvider: {playbookInline: x, env: [" +
					"{name: A, value: ''}, {name: B, valueFrom: {configMapKeyRef: {name: cm, key: hosts}}}, {name: C, valueFrom: {secretKeyRef: {name: env, key: c}}}]}}",
				namespacedConfig + "spec: {vars: {A: '0', V: v}, env: [{name: A, value: '1'}, {name: D, valueFrom: {secretKeyRef: {name: env, key: d}}}]}",
				secrets, "apiVersion: v1\nkind: Secret\nmetadata: {namespace: team, name: env}\nstringData: {c: sc, d: sd}\n",
			},
			want: want{in: inputs.Inputs{
				Config: `ProviderConfig "team/local"`,
				Env:    map[string]string{"A": "0", "V": "v"},
				PlayEnv: []inputs.File{
					{Name: "A", Data: []byte("1")},
					{Name: "D", Data: []byte("sd"), Secret: true, From: redact.Source{Secret: "env", Key: "d"}},
					{Name: "A"},
					{Name: "B", Data: []byte("a\nb\n")},
					{Name: "C", Data: []byte("sc"), Secret: true, From: redact.Source{Secret: "env", Key: "c"}},
				},
			}},
		},
		"Missing": {
			reason: "The error names all missing references, those of the configuration included.",
			docs: []string{
				namespacedRun + "spec: {providerConfigRef: {kind: ProviderConfig, name: local}, forProvider: {playbookInline: x, " +
					"env: [{name: B, valueFrom: {configMapKeyRef: {name: gone, key: k}}}], varFiles: [{source: Secret, secretRef: {name: none}}, {source: SecretKey, secretKeyRef: {name: db, key: none.yml}}]}}",
				namespacedConfig + "spec: {env: [{name: D, valueFrom: {secretKeyRef: {name: gone, key: d}}}], " +
					"varFiles: [{source: ConfigMapKey, configMapKeyRef: {name: none, key: a}, variable: a}], " +
					"credentials: [{filename: a, source: Secret, secretRef: {name: none, key: k}}]}",
				secrets,
			},
			want: want{
				err: `ProviderConfig "team/local": spec.credentials[0]: Secret "team/none" not found; ` +
					`ProviderConfig "team/local": spec.env[0]: Secret "team/gone" not found; ` +
					`ProviderConfig "team/local": spec.varFiles[0]: ConfigMap "team/none" not found; ` +
					`spec.forProvider.varFiles[0]: Secret "team/none" not found; spec.forProvider.varFiles[1]: Secret "team/db" has no key "none.yml"; ` +
					`spec.forProvider.env[0]: ConfigMap "team/gone" not found`,
				missing: true,
			},
		},
		"EnvRefused": {
			reason: "A run must not set some environment variables of a play.",
			docs: []string{
				namespacedRun + "spec: {providerConfigRef: {kind: ProviderConfig, name: local}, forProvider: {playbookInline: x, env: [{name: A, value: a}, {name: GODEBUG, value: x}]}}",
				namespacedConfig + "spec: {}",
			},
			want: want{err: `spec.forProvider.env[1].name: Invalid value: "GODEBUG": is set by the provider`},
		},
		"EnvRefusedConfig": {
			reason: "A configuration must not set them, either.",
			docs:   []string{namespacedRun + local, namespacedConfig + "spec: {env: [{name: GIT_EDITOR, value: /x}]}"},
			want: want{err: `ProviderConfig "team/local": spec.env[0].name: Invalid value: "GIT_EDITOR": can make git run a program ` +
				`in the provider: of git's variables only GIT_SSL_*, GIT_HTTP_*, GIT_AUTHOR_*, GIT_COMMITTER_* and GIT_LFS_* may be set`},
		},
		"Verification": {
			reason: "The keyring is a credential. By default one valid signature is required.",
			docs: []string{namespacedRun + local, namespacedConfig + "spec: {requirements: r, verification: {keyring: keys.gpg}, " +
				"credentials: [{filename: keys.gpg, source: ConfigMapKey, configMapKeyRef: {name: keys, key: k}}]}", `
apiVersion: v1
kind: ConfigMap
metadata: {namespace: team, name: keys}
data: {k: keys}
`},
			want: want{in: inputs.Inputs{
				Config:       `ProviderConfig "team/local"`,
				Requirements: "r",
				Credentials:  []inputs.File{{Name: "keys.gpg", Data: []byte("keys")}},
				Verification: &common.Verification{Keyring: "keys.gpg", Signatures: "+1"},
			}},
		},
		"ConfigMissing": {
			reason: "A missing configuration is a missing reference.",
			docs:   []string{namespacedRun + local},
			want:   want{err: `spec.providerConfigRef: ProviderConfig "team/local" not found`, missing: true},
		},
		"VarFiles": {
			reason: "Variable files keep their order. Empty files, and missing optional files, are left out.",
			docs: []string{namespacedRun + `
spec:
  forProvider:
    playbookInline: x
    varFiles:
    - {source: SecretKey, secretKeyRef: {name: db, key: vars.yml}}
    - {source: SecretKey, secretKeyRef: {name: db, key: empty.yml}}
    - {source: SecretKey, secretKeyRef: {name: db, key: none.yml}, optional: true}
    - {source: ConfigMapKey, configMapKeyRef: {name: none, key: vars.yml}, optional: true}
    - {source: ConfigMapKey, configMapKeyRef: {name: cm, key: vars.yml}}
`, clusterProviderConfig, secrets},
			want: want{in: inputs.Inputs{
				Config: `ClusterProviderConfig "default"`,
				VarFiles: []inputs.File{
					{Name: `Secret "team/db", key "vars.yml"`, Data: []byte("password: x"), Secret: true, From: redact.Source{Secret: "db", Key: "vars.yml"}},
					{Name: `ConfigMap "team/cm", key "vars.yml"`, Data: []byte("a: 1")},
				},
			}},
		},
		"RawVars": {
			reason: "A key can be one variable, and an object can have a variable for each key. Variables of the configuration come first, so that others win.",
			docs: []string{
				namespacedRun + `
spec:
  providerConfigRef: {kind: ProviderConfig, name: local}
  forProvider:
    playbookInline: x
    varFiles:
    - {source: Secret, secretRef: {name: connection}}
    - {source: ConfigMapKey, configMapKeyRef: {name: cm, key: hosts}, variable: of_key}
    - {source: Secret, secretRef: {name: none}, optional: true}
    - {source: SecretKey, secretKeyRef: {name: connection, key: none}, variable: a, optional: true}
    - {source: ConfigMap, configMapRef: {name: nothing}}
`, namespacedConfig + "spec: {varFiles: [{source: SecretKey, secretKeyRef: {name: connection, key: password}, variable: admin_password}]}",
				secrets, `
apiVersion: v1
kind: Secret
metadata: {name: connection, namespace: team}
stringData: {password: "{{ x }}", tls.crt: "é\n", 0-a: ""}
`, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: nothing, namespace: team}\n",
			},
			want: want{in: inputs.Inputs{
				Config: `ProviderConfig "team/local"`,
				VarFiles: []inputs.File{
					{
						Name: `Secret "team/connection", key "password"`, Data: raw(`"admin_password":`, `"{{ x }}",`),
						Secret: true, From: redact.Source{Secret: "connection", Key: "password"},
					},
					{
						Name: `Secret "team/connection"`, Data: raw(`"_0_a":`, `"",`, `"password":`, `"{{ x }}",`, `"tls_crt":`, `"\u00e9\u000a",`),
						Secret: true, From: redact.Source{Secret: "connection"},
					},
					{Name: `ConfigMap "team/cm", key "hosts"`, Data: raw(`"of_key":`, `"a\u000ab\u000a",`)},
				},
			}},
		},
		"VarFileMalformed": {
			reason: "The error does not quote the file.",
			docs: []string{
				namespacedRun + `spec: {forProvider: {playbookInline: x, varFiles: [{source: SecretKey, secretKeyRef: {name: db, key: bad.yml}}]}}`,
				clusterProviderConfig, secrets,
			},
			want: want{err: `spec.forProvider.varFiles[0]: Secret "team/db", key "bad.yml": is not valid YAML: it refers to an anchor that is not there`},
		},
		"Inventories": {
			reason: "The inline inventory is the last one. None and InjectedIdentity have no file.",
			docs: []string{namespacedRun + `
spec:
  forProvider:
    playbookInline: x
    inventoryInline: c
    inventories:
    - {source: None}
    - {source: ConfigMapKey, configMapKeyRef: {name: cm, key: hosts}}
    - {source: InjectedIdentity}
    - {source: ConfigMapKey, configMapKeyRef: {name: cm, key: binary}}
`, clusterProviderConfig, secrets},
			want: want{in: inputs.Inputs{
				Config: `ClusterProviderConfig "default"`,
				Inventories: []inputs.File{
					{Name: `ConfigMap "team/cm", key "hosts"`, Data: []byte("a\nb\n")},
					{Name: `ConfigMap "team/cm", key "binary"`, Data: []byte{0, 1}},
					{Name: "spec.forProvider.inventoryInline", Data: []byte("c")},
				},
			}},
		},
		"AnyNamespace": {
			reason: "A ClusterProviderConfig reaches any namespace.",
			docs: []string{
				namespacedRun + inline,
				clusterProviderConfig + `spec: {credentials: [{filename: a, source: Secret, secretRef: {namespace: other, name: db, key: vars.yml}}]}`,
				secrets,
			},
			want: want{in: inputs.Inputs{
				Config:      `ClusterProviderConfig "default"`,
				Credentials: []inputs.File{{Name: "a", Data: []byte("password: y"), Secret: true, From: redact.Source{Secret: "db", Key: "vars.yml"}}},
			}},
		},
		"Rotates": {
			reason: "A rotating credential is identified by its source.",
			docs: []string{
				namespacedRun + local,
				namespacedConfig + `spec: {credentials: [{filename: a, rotates: true, source: Secret, secretRef: {name: token, key: token}}]}`,
				"apiVersion: v1\nkind: Secret\nmetadata: {name: token, namespace: team, uid: u-1}\nstringData: {token: x}\n",
			},
			want: want{in: inputs.Inputs{
				Config:      `ProviderConfig "team/local"`,
				Credentials: []inputs.File{{Name: "a", Data: []byte("x"), Secret: true, From: redact.Source{Secret: "token", Key: "token"}, Rotates: `Secret "team/token", key "token"`}},
			}},
		},
		"NoNamespace": {
			reason: "A reference from a cluster scoped object must name the namespace.",
			docs: []string{
				clusterRun + `spec: {forProvider: {playbookInline: x, inventories: [{source: Secret, secretRef: {name: db, key: vars.yml}}]}}`,
				clusterConfig, secrets,
			},
			want: want{err: `spec.forProvider.inventories[0]: secretRef.namespace must be set, since this AnsibleRun is cluster scoped`},
		},
		"HostRefused": {
			reason: "A configuration cannot read files of the provider without the flag.",
			docs:   []string{clusterRun + inline, clusterConfig + `spec: {credentials: [{filename: a, source: Filesystem, fs: {path: /etc/passwd}}]}`},
			want: want{err: `ProviderConfig "default": spec.credentials[0]: source Filesystem reads from the provider itself: ` +
				`it needs the provider's flag that allows it, and a cluster scoped AnsibleRun`},
		},
		"HostMissing": {
			reason: "A missing file of the provider is no missing reference, since no watch tells when it is created.",
			docs:   []string{clusterRun + inline, clusterConfig + `spec: {credentials: [{filename: a, source: Filesystem, fs: {path: /does/not/exist}}]}`},
			r:      Resolver{Host: true},
			want: want{err: `ProviderConfig "default": spec.credentials[0]: cannot read a file of the provider: ` +
				`open /does/not/exist: no such file or directory`},
		},
		"HostAllowed": {
			reason: "With the flag, cluster scoped runs can read files of the provider.",
			docs: []string{
				clusterRun + inline,
				clusterConfig + `spec: {credentials: [{filename: a, source: Environment, env: {name: RESOLVE_TOKEN}}, {filename: b, source: Filesystem, fs: {path: ` + file + `}}]}`,
			},
			r: Resolver{Host: true},
			want: want{in: inputs.Inputs{
				Config: `ProviderConfig "default"`,
				Credentials: []inputs.File{
					{Name: "a", Data: []byte("from the environment"), Secret: true},
					{Name: "b", Data: []byte("from the host"), Secret: true},
				},
			}},
		},
		"UnconfinedTenant": {
			reason: "A namespaced run is refused where it cannot be confined, and the error names the alternative.",
			docs:   []string{namespacedRun + inline, clusterProviderConfig},
			r:      Resolver{Unconfined: "no Landlock", Places: Places{Namespace: "pods"}},
			want: want{err: `ClusterProviderConfig "default": the provider's machine cannot confine the run of a namespace: no Landlock; ` +
				`give it a Pod with spec.execution: {place: Pod}`},
		},
		"UnconfinedPlatform": {
			reason: "A cluster scoped run is allowed where runs cannot be confined.",
			docs:   []string{clusterRun + inline, clusterConfig},
			r:      Resolver{Unconfined: "no Landlock", Places: Places{Namespace: "pods"}},
			want: want{in: inputs.Inputs{
				Config: `ProviderConfig "default"`, Execution: common.Execution{Place: common.PlaceProvider},
			}},
		},
		"UnconfinedPod": {
			reason: "A namespaced run in a Pod of its own is allowed.",
			docs:   []string{namespacedRun + inline, clusterProviderConfig + `spec: {execution: {place: Pod}}`},
			r:      Resolver{Unconfined: "no Landlock", Places: Places{Namespace: "pods"}},
			want: want{in: inputs.Inputs{
				Config: `ClusterProviderConfig "default"`,
				Execution: common.Execution{
					Place: common.PlacePod, Namespace: "pods", Content: common.ContentInstall,
					KeepFor: &metav1.Duration{Duration: common.DefaultKeepFor},
				},
			}},
		},
		"ServiceAccount": {
			reason: "A ServiceAccount reference without a namespace is in that of the run.",
			docs:   []string{namespacedRun + inline, clusterProviderConfig + "spec: {kubernetes: {serviceAccountRef: {name: deployer}, ownerReferences: true}}"},
			want: want{in: inputs.Inputs{
				Config:     `ClusterProviderConfig "default"`,
				Kubernetes: &inputs.Kubernetes{Namespace: "team", ServiceAccount: "deployer", OwnerReferences: true},
			}},
		},
		"ServiceAccountNamed": {
			reason: "A cluster scoped configuration may name the namespace of the ServiceAccount.",
			docs:   []string{namespacedRun + inline, clusterProviderConfig + "spec: {kubernetes: {serviceAccountRef: {namespace: ops, name: deployer}, watchDependents: true}}"},
			want: want{in: inputs.Inputs{
				Config:     `ClusterProviderConfig "default"`,
				Kubernetes: &inputs.Kubernetes{Namespace: "ops", ServiceAccount: "deployer", WatchDependents: true},
			}},
		},
		"Roles": {
			reason: "The error names the invalid item of roles.",
			docs:   []string{clusterRun + `spec: {forProvider: {roles: [a.b, 1]}}`, clusterConfig},
			want:   want{err: "spec.forProvider.roles[1]: must be a string or an object {name, src, version}: json: cannot unmarshal number into Go value of type common.Role"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := manifests(t, tc.docs...)

			tc.r.Reader = m
			in, err := tc.r.Resolve(t.Context(), m.Runs[0])

			got := want{in: in}
			if err != nil {
				got = want{err: err.Error(), missing: IsMissing(err)}
			}

			opts := []cmp.Option{
				cmp.AllowUnexported(want{}), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(inputs.Inputs{}, "Parameters", "Roles", "Owner"),
			}
			if diff := cmp.Diff(tc.want, got, opts...); diff != "" {
				t.Errorf("\n%s\nResolve(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestResolveTooMuch has references, in both objects, to more data than the provider could hold for all AnsibleRuns
// that are reconciled at a time.
func TestResolveTooMuch(t *testing.T) {
	const ref = "{name: big, key: text}"

	big := "\napiVersion: v1\nkind: Secret\nmetadata: {name: big, namespace: team}\nstringData: {text: \"" + strings.Repeat("x", maxReferred/4) + "\"}\n"
	of := func(n int) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf("{filename: a%d, source: Secret, secretRef: %s}", i, ref)
		}

		return strings.Join(all, ", ")
	}
	run := namespacedRun + "spec: {providerConfigRef: {kind: ProviderConfig, name: local}, forProvider: {playbookInline: x, env: [{name: A, valueFrom: {secretKeyRef: " + ref + "}}]}}"

	tooMuch := `Secret "team/big", key "text" is too much: the values of all Secrets and ConfigMaps that an AnsibleRun ` +
		`and its configuration refer to may have 4 MiB together; put large files into a project or a role`

	for n, want := range map[int]string{
		3: "",
		4: "spec.forProvider.env[0]: " + tooMuch,
		9: `ProviderConfig "team/local": spec.credentials[4]: ` + tooMuch,
	} {
		m := manifests(t, run, namespacedConfig+"spec: {credentials: ["+of(n)+"]}", big)
		r := &counted{Reader: m}

		_, err := (&Resolver{Reader: r}).Resolve(t.Context(), m.Runs[0])
		if got := fmt.Sprint(err); want != "" && got != want || strings.Contains(got, "too much") && want == "" {
			t.Errorf("%d credentials of a quarter each, and a variable.\nResolve(...): got error %q, want %q", n, got, want)
		}

		if r.gets > 1+5 {
			t.Errorf("Reading should stop at the limit, got %d objects", r.gets)
		}
	}
}

// A counted Reader counts the objects that it reads.
type counted struct {
	Reader

	gets int
}

func (c *counted) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	c.gets++

	return c.Reader.Get(ctx, key, into, opts...)
}

// TestOtherNamespace checks that no reference in an object of a namespace can name another namespace.
func TestOtherNamespace(t *testing.T) {
	const (
		key    = "{namespace: other, name: db, key: vars.yml}"
		object = "{namespace: other, name: db}"
		run    = namespacedRun + "spec: {forProvider: {playbookInline: x, %s}}"
		config = namespacedConfig + "spec: {%s}"
	)

	for name, tc := range map[string]struct{ doc, field, want string }{
		"VarFileSecret":       {run, "varFiles: [{source: SecretKey, secretKeyRef: " + key + "}]", "spec.forProvider.varFiles[0].secretKeyRef"},
		"VarFileConfigMap":    {run, "varFiles: [{source: ConfigMapKey, configMapKeyRef: " + key + "}]", "spec.forProvider.varFiles[0].configMapKeyRef"},
		"VarsSecret":          {run, "varFiles: [{source: Secret, secretRef: " + object + "}]", "spec.forProvider.varFiles[0].secretRef"},
		"VarsConfigMap":       {config, "varFiles: [{source: ConfigMap, configMapRef: " + object + "}]", "spec.varFiles[0].configMapRef"},
		"InventorySecret":     {run, "inventories: [{source: None}, {source: Secret, secretRef: " + key + "}]", "spec.forProvider.inventories[1].secretRef"},
		"InventoryConfigMap":  {run, "inventories: [{source: ConfigMapKey, configMapKeyRef: " + key + "}]", "spec.forProvider.inventories[0].configMapKeyRef"},
		"EnvSecret":           {run, "env: [{name: A, valueFrom: {secretKeyRef: " + key + "}}]", "spec.forProvider.env[0].valueFrom.secretKeyRef"},
		"EnvConfigMap":        {config, "env: [{name: A, valueFrom: {configMapKeyRef: " + key + "}}]", "spec.env[0].valueFrom.configMapKeyRef"},
		"CredentialSecret":    {config, "credentials: [{filename: a, source: Secret, secretRef: " + key + "}]", "spec.credentials[0].secretRef"},
		"CredentialConfigMap": {config, "credentials: [{filename: a, source: ConfigMapKey, configMapKeyRef: " + key + "}]", "spec.credentials[0].configMapKeyRef"},
	} {
		t.Run(name, func(t *testing.T) {
			want := tc.want + ".namespace: Forbidden: there is no such field"
			if err := manifests(t).Add("a.yaml", strings.NewReader(fmt.Sprintf(tc.doc, tc.field))); !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("The definitions have no namespace of a reference.\nAdd(...): got error %v, want %q", err, want)
			}
		})
	}

	// The Resolver ignores a namespace even if the API server has kept it.
	got, err := (&source{namespace: "team"}).key(selector{ref: &common.KeySelector{Namespace: "other", Name: "db"}})
	if want := (types.NamespacedName{Namespace: "team", Name: "db"}); got != want || err != nil {
		t.Errorf("key(...): got %v, %v, want %v", got, err, want)
	}
}

// TestResolveDeleted resolves an object before and after its deletion. Both need the same content to be installed.
func TestResolveDeleted(t *testing.T) {
	type content struct {
		Role, Playbook string
		Tags           []string
		Roles          []common.Role
	}

	web, cleanup := []common.Role{{Name: "acme.web"}}, []common.Role{{Name: "acme.cleanup"}}

	for name, tc := range map[string]struct {
		reason   string
		onDelete string
		want     content
		requires []common.Role
	}{
		"Nothing":  {"Without onDelete all of the content runs, without the tags of the object.", "", content{Role: "acme.web", Roles: web}, web},
		"Tags":     {"The content runs with the tags of onDelete.", ", onDelete: {tags: [remove]}", content{Role: "acme.web", Roles: web, Tags: []string{"remove"}}, web},
		"Role":     {"The role of onDelete runs in place of the content.", ", onDelete: {role: acme.cleanup}", content{Role: "acme.cleanup", Roles: cleanup}, slices.Concat(web, cleanup)},
		"Playbook": {"The playbook of onDelete runs in place of the content.", ", onDelete: {playbook: acme.web.remove}", content{Playbook: "acme.web.remove"}, web},
	} {
		t.Run(name, func(t *testing.T) {
			m := manifests(t, clusterRun+"spec: {forProvider: {role: acme.web, tags: [deploy]"+tc.onDelete+"}}", clusterConfig)
			run := m.Runs[0]

			before, err := (&Resolver{Reader: m}).Resolve(t.Context(), run)
			needs.OK(t, err)

			run.SetDeletionTimestamp(new(metav1.Now()))

			after, err := (&Resolver{Reader: m}).Resolve(t.Context(), run)
			needs.OK(t, err)

			p := after.Parameters
			if diff := cmp.Diff(tc.want, content{p.Role, p.Playbook, p.Tags, after.Roles}, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("\n%s\nResolve(...): -want, +got:\n%s", tc.reason, diff)
			}

			if before.Parameters.Role != "acme.web" || len(before.Parameters.Tags) != 1 {
				t.Errorf("\nWhile the object exists its own content runs, got %+v", before.Parameters)
			}

			for _, in := range []inputs.Inputs{before, after} {
				if diff := cmp.Diff(tc.requires, in.RequiredRoles()); diff != "" {
					t.Errorf("\nThe content of the deletion run is installed while the object exists.\nRequiredRoles(): -want, +got:\n%s", diff)
				}
			}
		})
	}
}

func manifests(t *testing.T, docs ...string) *Manifests {
	t.Helper()

	m := NewManifests()

	for _, d := range docs {
		needs.OK(t, m.Add("file.yaml", strings.NewReader(d)))
	}

	return m
}
