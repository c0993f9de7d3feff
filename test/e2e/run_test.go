package e2e

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
)

// Configurations in the namespace of a test.
const (
	emptyConfig = `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: default}
spec: {}
---
`

	// siteConfig requires the collection site, from a repository.
	siteConfig = `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: default}
spec:
  requirements: |
    collections: [{name: "[[.Source]]", type: git, version: 1.0.0}]
---
`
)

// runData is what the manifests of AnsibleRuns are templates for.
type runData struct {
	Namespace, Directory, Source, Marker string
	Names                                []string
}

// TestRolesAndPlaybooks runs roles one after another, and playbooks of a
// collection.
func TestRolesAndPlaybooks(t *testing.T) {
	t.Parallel()

	d := runData{Namespace: cp.Namespace(t), Directory: directory(t), Source: site().Git(t)}
	objs := cp.Apply(t, siteConfig+`
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: roles}
spec:
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    roles: [acme.site.first, {name: acme.site.second}]
    vars: {directory: "[[.Directory]]"}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: playbook}
spec:
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    playbook: acme.site.publish
    vars: {directory: "[[.Directory]]", title: Published}
`, d)

	cp.WaitFor(t, objs[1], Condition("Ready", "True"))
	cp.WaitFor(t, objs[2], Condition("Ready", "True"), Field("status.atProvider.outputs.path", filepath.Join(d.Directory, "page")))

	if got := readFile(t, filepath.Join(d.Directory, "ledger")); got != "first\nsecond\n" {
		t.Errorf("Roles should run in order: got %q", got)
	}
	if got := readFile(t, filepath.Join(d.Directory, "page")); got != "Published" {
		t.Errorf("The playbook should have written the page: got %q", got)
	}
}

// TestContentIsInstalledOnce lets ten objects that share a configuration want
// its content at the same time.
func TestContentIsInstalledOnce(t *testing.T) {
	needsProvider(t, "each Pod installs its content")
	t.Parallel()

	archive := site().Tarball(t)
	server := startSource(t, sources.Files(filepath.Dir(archive)), sources.Options{})
	manifests := `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: default}
spec:
  requirements: |
    collections: [{name: "[[.Source]]", type: url}]
[[- range .Names]]
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[$.Namespace]], name: [[.]]}
spec:
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    role: acme.site.first
    vars: {directory: "[[$.Directory]]"}
[[- end]]
`
	install := func(n int, path string) int {
		t.Helper()
		d := runData{Namespace: cp.Namespace(t), Directory: directory(t), Source: server.URL + path + filepath.Base(archive)}
		for i := range n {
			d.Names = append(d.Names, fmt.Sprintf("run-%d", i))
		}
		before := len(server.Requests())
		runs := cp.Apply(t, manifests, d)[1:]
		for _, o := range runs {
			cp.WaitFor(t, o, Condition("Ready", "True"))
		}
		if got := strings.Count(readFile(t, filepath.Join(d.Directory, "ledger")), "first\n"); got != n {
			t.Errorf("Each of %d objects should have run its content once, got %d runs", n, got)
		}
		fetched := len(server.Requests()) - before
		// All at once; cleaning up would be one after another.
		for _, o := range runs {
			cp.Delete(t, o)
		}
		for _, o := range runs {
			cp.WaitGone(t, o)
		}
		return fetched
	}

	// Another URL is other content, which is installed again.
	one := install(1, "/")
	ten := install(10, "//")
	if one == 0 || ten != one {
		t.Errorf("Content should be installed once: one object fetched the archive %d times, ten objects %d times", one, ten)
	}
}

// TestConfigurationChanges shows that a change of the configuration is one of
// the inputs, and that a configuration in use stays.
func TestConfigurationChanges(t *testing.T) {
	t.Parallel()

	d := runData{Namespace: cp.Namespace(t), Directory: directory(t), Marker: "one"}
	config := `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: default}
spec:
  vars: {GREETING: [[.Marker]]}
`
	run := `---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: run, annotations: {ansible.crossplane.io/runPolicy: RunOnChange}}
spec:
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    vars: {file: "[[.Directory]]/greeting"}
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - ansible.builtin.shell: echo $GREETING > {{ file | quote }}
`
	objs := cp.Apply(t, config+run, d)
	cp.WaitFor(t, objs[1], Condition("Ready", "True"))
	cp.WaitFor(t, objs[0], Field("status.users", 1))

	d.Marker = "two"
	cp.Apply(t, config, d)
	Eventually(t, "the run with the changed configuration", func() bool {
		return readFile(t, filepath.Join(d.Directory, "greeting")) == "two\n"
	})
	cp.WaitFor(t, objs[1], Condition("Ready", "True"), Field("status.atProvider.lastRun.trigger", "Changed"))
}

// TestRequirementsRemoved takes the requirements away from a configuration: the
// content is run once more, and then left alone.
func TestRequirementsRemoved(t *testing.T) {
	t.Parallel()

	d := runData{Namespace: cp.Namespace(t), Directory: directory(t), Source: site().Git(t)}
	config := `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: default}
spec:
[[- if .Source]]
  requirements: |
    collections: [{name: "[[.Source]]", type: git, version: 1.0.0}]
[[- else]]
  requirements: ""
[[- end]]
`
	run := cp.Apply(t, config+`---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: run, annotations: {ansible.crossplane.io/runPolicy: RunOnChange}}
spec:
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    vars: {directory: "[[.Directory]]"}
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - ansible.builtin.shell: echo run >> {{ directory | quote }}/ledger
`, d)[1]
	cp.WaitFor(t, run, Condition("Ready", "True"), Field("status.atProvider.content.collections", "[map[name:acme.site version:1.0.0]]"))

	d.Source = ""
	cp.Apply(t, config, d)
	cp.WaitFor(t, run, Condition("Ready", "True"), Field("status.atProvider.lastRun.trigger", "Changed"), Field("status.atProvider.content", nil))

	// Each answered request is a reconcile in which nothing else was due.
	for _, token := range []string{"one", "two"} {
		requestRun(t, d.Namespace, "run", token)
		cp.WaitFor(t, run, Field("status.atProvider.handledRequest", token), Field("status.atProvider.lastRun.trigger", "Requested"), Condition("Ready", "True"))
	}
	if got := strings.Count(readFile(t, filepath.Join(d.Directory, "ledger")), "run"); got != 4 {
		t.Errorf("The content should have been run when it was new, changed, and requested twice: got %d runs", got)
	}
}

// TestRejected shows what the API server itself refuses.
func TestRejected(t *testing.T) {
	t.Parallel()

	ns := cp.Namespace(t)
	cases := map[string]struct {
		reason string
		spec   string
		want   string
	}{
		"NoContent": {
			reason: "An AnsibleRun without content should be refused.",
			spec:   `{vars: {a: 1}}`,
			want:   "exactly one of role, roles, playbook, playbooks and playbookInline must be set",
		},
		"TwoContents": {
			reason: "An AnsibleRun with two kinds of content should be refused, also when one is type-less in the schema.",
			spec:   `{role: a.b.c, roles: [a.b.c]}`,
			want:   "exactly one of role, roles, playbook, playbooks and playbookInline must be set",
		},
		"EmptyContent": {
			reason: "An empty playbook should be refused.",
			spec:   `{playbookInline: ""}`,
			want:   "playbookInline",
		},
		"VarFileWithoutReference": {
			reason: "A variable file should say where it is.",
			spec:   `{role: a.b.c, varFiles: [{source: SecretKey}]}`,
			want:   "secretKeyRef must be set with source SecretKey",
		},
		"ReservedStateVariable": {
			reason: "The provider's own variable should be refused as a state variable.",
			spec:   `{role: a.b.c, stateVariable: {name: ansible_provider_meta}}`,
			want:   "ansible_provider_meta is the provider's own variable",
		},
		"ExecutableNothing": {
			reason: "An executable inventory should need an inventory.",
			spec:   `{role: a.b.c, executableInventory: true}`,
			want:   "executableInventory needs inventoryInline or inventories",
		},
		"Timeout": {
			reason: "A timeout that the provider could not read should be refused: it would keep it from reading all others.",
			spec:   `{role: a.b.c, timeout: 1d}`,
			want:   "must be a duration that is not negative, such as 20m",
		},
		"RetryLimit": {
			reason: "So should a limit that is too large a number.",
			spec:   `{role: a.b.c, retryLimit: 3000000000}`,
			want:   "retryLimit",
		},
	}

	for _, api := range []string{apiNamespaced, apiCluster} {
		for name, tc := range cases {
			t.Run(strings.Split(api, "/")[0]+name, func(t *testing.T) {
				metadata := "{name: rejected}"
				if api == apiNamespaced {
					metadata = "{name: rejected, namespace: " + ns + "}"
				}
				err := cp.ApplyError(t, fmt.Sprintf("apiVersion: %s\nkind: AnsibleRun\nmetadata: %s\nspec: {forProvider: %s}\n", api, metadata, tc.spec), nil)
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("\n%s\nwant an error with %q, got %v", tc.reason, tc.want, err)
				}
			})
		}
	}
}

// TestReported shows what the provider refuses, on the object.
func TestReported(t *testing.T) {
	t.Parallel()

	ns := cp.Namespace(t)
	cp.Apply(t, "apiVersion: ansible.m.crossplane.io/v1alpha1\nkind: ProviderConfig\nmetadata: {namespace: [[.]], name: default}\nspec: {}\n", ns)

	cases := map[string]struct {
		reason      string
		annotations string
		spec        string
		want        string
	}{
		"unknown-policy": {
			reason:      "A run policy that is none should be an error.",
			annotations: "{ansible.crossplane.io/runPolicy: Sometimes}",
			spec:        `forProvider: {role: a.b.c}`,
			want:        `"Sometimes" is not a run policy`,
		},
		"roles-shape": {
			reason: "A role that is neither a string nor an object should be an error that names it.",
			spec:   `forProvider: {roles: [a.b.c, 7]}`,
			want:   "spec.forProvider.roles[1]",
		},
		"missing-secret": {
			reason: "A missing Secret should be an error that names it.",
			spec:   `forProvider: {role: a.b.c, varFiles: [{source: SecretKey, secretKeyRef: {name: none, key: vars}}]}`,
			want:   `/none" not found`,
		},
		"other-namespace": {
			reason: "A reference into another namespace should be an error that says so.",
			spec:   `forProvider: {role: a.b.c, varFiles: [{source: SecretKey, secretKeyRef: {namespace: crossplane-system, name: none, key: vars}}]}`,
			want:   "spec.forProvider.varFiles[0]",
		},
		"missing-config": {
			reason: "A missing configuration should be an error that names it.",
			spec:   `{providerConfigRef: {kind: ProviderConfig, name: none}, forProvider: {role: a.b.c}}`,
			want:   `ProviderConfig "` + ns + `/none" not found`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := tc.spec
			if strings.HasPrefix(spec, "forProvider") {
				spec = "{" + spec + "}"
			}
			if !strings.Contains(spec, "providerConfigRef") {
				spec = "{providerConfigRef: {kind: ProviderConfig, name: default}, " + strings.TrimPrefix(spec, "{")
			}
			annotations := tc.annotations
			if annotations == "" {
				annotations = "{}"
			}
			objs := cp.Apply(t, fmt.Sprintf("apiVersion: %s\nkind: AnsibleRun\nmetadata: {namespace: %s, name: %s, annotations: %s}\nspec: %s\n", apiNamespaced, ns, name, annotations, spec), nil)
			cp.WaitFor(t, objs[0], Condition("Synced", "False"), Message("Synced", tc.want), Condition("Ready", "False"))
		})
	}
}

// TestTimeout shows a run that takes too long, and that nothing of it is left.
func TestTimeout(t *testing.T) {
	t.Parallel()

	d := runData{Namespace: cp.Namespace(t), Directory: directory(t), Marker: fmt.Sprintf("90%06d", time.Now().UnixNano()%1e6)}
	objs := cp.Apply(t, emptyConfig+`
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: run}
spec:
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    timeout: 20s
    retryLimit: 1
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - name: Take a nap
          ansible.builtin.command: sleep [[.Marker]]
`, d)
	cp.WaitFor(t, objs[1], Condition("Synced", "False"), Field("status.atProvider.lastRun.phase", "TimedOut"),
		Message("Synced", "Take a nap"), Field("status.atProvider.lastApply.attempts", 1), Message("Synced", "gave up after attempt 1 of 1"), Reason("Ready", "RetriesExhausted"))
	if left := commands(t, d.Marker); len(left) > 0 {
		t.Errorf("Nothing of the run should be left, got %v", left)
	}
	// The absent run would take too long, too.
	cp.Kubectl(t, "patch", "ansibleruns.ansible.m.crossplane.io", "-n", d.Namespace, "run", "--type=merge", "-p", `{"spec":{"managementPolicies":["Observe","Create","Update","LateInitialize"]}}`)
}

// TestConnectionDetails shows what goes to the connection secret, and nowhere
// else.
func TestConnectionDetails(t *testing.T) {
	t.Parallel()

	d := runData{Namespace: cp.Namespace(t)}
	objs := cp.Apply(t, emptyConfig+`
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: run}
spec:
  writeConnectionSecretToRef: {name: connection}
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - ansible.builtin.set_stats:
            data:
              endpoint: db.example.org
              connection_details:
                password: "{{ ['correct', 'horse'] | join('-') }}"
                port: 5432
`, d)
	u := cp.WaitFor(t, objs[1], Condition("Ready", "True"), Condition("Synced", "True"))
	if got := fmt.Sprint(Value(u, "status.atProvider.outputs")); got != "map[endpoint:db.example.org]" {
		t.Errorf("Connection details are no outputs: got %s", got)
	}

	secret := cp.WaitFor(t, Object{APIVersion: "v1", Kind: "Secret", Namespace: d.Namespace, Name: "connection"},
		Field("data.password", base64.StdEncoding.EncodeToString([]byte("correct-horse"))),
		Field("data.port", base64.StdEncoding.EncodeToString([]byte("5432"))))
	if got := Value(secret, "type"); got != "connection.crossplane.io/v1alpha1" {
		t.Errorf("The connection secret should be one: got type %v", got)
	}

	// They are published again at once, not at the next poll.
	cp.Kubectl(t, "delete", "secret", "-n", d.Namespace, "connection")
	cp.WaitFor(t, Object{APIVersion: "v1", Kind: "Secret", Namespace: d.Namespace, Name: "connection"},
		Field("data.password", base64.StdEncoding.EncodeToString([]byte("correct-horse"))))

	if strings.Contains(cp.Provider.Log(t), "correct-horse") {
		t.Error("Connection details should not be in the log.")
	}
}
