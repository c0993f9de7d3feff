package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-ansible/crossplane-ansible/test/canary"
	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/vaulted"
)

// leaks are a configuration with secrets wherever one can be, and what uses it.
const leaks = `
apiVersion: v1
kind: Secret
metadata: {namespace: [[.Namespace]], name: canaries}
stringData:
  vars.yml: [[.VarFile]]
  vars.json: [[.VarFileJSON]]
  broken.yml: [[.Broken]]
  credential: [[.Credential]]
  ansible.cfg: [[.Config]]
  hosts.yml: [[.Inventory]]
  hosts.py: [[.Script]]
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: default}
spec:
  credentials:
  - {filename: credential, source: Secret, secretRef: {name: canaries, key: credential}}
  vars: {CANARY_TOKEN: [[.Token]]}
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: hub}
spec:
  credentials:
  - {filename: ansible.cfg, source: Secret, secretRef: {name: canaries, key: ansible.cfg}}
  requirements: "collections: [{name: acme.web, version: 1.0.0}]"
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: git}
spec:
  requirements: |
    roles: [{name: acme.page, src: "git+[[.Remote]]/page.git", version: v1}]
[[- range $name, $policy := .Policies]]
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata:
  namespace: [[$.Namespace]]
  name: [[$name]]
  annotations: {ansible.crossplane.io/keepOutput: "true", ansible.crossplane.io/runPolicy: [[$policy]]}
spec:
  providerConfigRef: {kind: ProviderConfig, name: default}
  writeConnectionSecretToRef: {name: details-[[$name]]}
  forProvider:
    retryLimit: 1
    verbosity: 4
    varFiles:
    - {source: SecretKey, secretKeyRef: {name: canaries, key: vars.yml}}
    - {source: SecretKey, secretKeyRef: {name: canaries, key: vars.json}}
    inventories: [{source: Secret, secretRef: {name: canaries, key: hosts.yml}}]
    vars: {directory: "[[$.Directory]]/[[$name]]", fail: [[eq $name "fails"]]}
    playbookInline: [[$.Play]]
[[- end]]
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: script, annotations: {ansible.crossplane.io/keepOutput: "true"}}
spec:
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    retryLimit: 1
    verbosity: 4
    executableInventory: true
    inventories: [{source: Secret, secretRef: {name: canaries, key: hosts.py}}]
    playbookInline: "- hosts: all\n  tasks: []\n"
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: broken}
spec:
  providerConfigRef: {kind: ProviderConfig, name: default}
  forProvider:
    varFiles: [{source: SecretKey, secretKeyRef: {name: canaries, key: broken.yml}}]
    playbookInline: "- hosts: all\n  tasks: []\n"
[[- range $name := .Sources]]
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[$.Namespace]], name: [[$name]], annotations: {ansible.crossplane.io/keepOutput: "true"}}
spec:
  providerConfigRef: {kind: ProviderConfig, name: [[$name]]}
  forProvider: {retryLimit: 1, role: acme.page}
[[- end]]
`

// TestNoSecretLeaves runs plays that show secrets in every way, and looks for the secrets in all that is readable
// without the right to read Secrets.
func TestNoSecretLeaves(t *testing.T) {
	t.Parallel()

	c := canary.New("file", "json", "broken", "credential", "inventory", "script", "environment", "url", "galaxy token", "detail")
	ns, began := cp.Namespace(t), time.Now()
	quote := func(s string) string {
		b := &bytes.Buffer{}
		e := json.NewEncoder(b)
		e.SetEscapeHTML(false)
		needs.OK(t, e.Encode(s))
		return strings.TrimSpace(b.String())
	}
	// A password in a URL has no characters that a URL does not.
	c["url"] = "p4ss-" + canary.Needle(c["url"])

	d := map[string]any{
		"Namespace":   ns,
		"Directory":   directory(t),
		"Play":        quote(canary.Play),
		"Policies":    map[string]string{"prints": "RunOnChange", "fails": "ObserveAndDelete", "checks": "CheckWhenObserve"},
		"Sources":     []string{"hub", "git"},
		"VarFile":     quote("of_file: {deep: [" + quote(c["file"]) + "]}\ndetail: " + quote(c["detail"]) + "\n"),
		"VarFileJSON": quote(`{"of_file_json": ` + quote(c["json"]) + `}`),
		"Broken":      quote("a: [" + quote(c["broken"]) + "\nb: " + c["broken"] + ": }"),
		"Credential":  quote(c["credential"]),
		"Config":      quote("[galaxy]\nserver_list = hub\n[galaxy_server.hub]\nurl = http://127.0.0.1:1/\ntoken = " + canary.Needle(c["galaxy token"]) + "\n"),
		"Inventory":   quote("all: {hosts: {canary: {ansible_connection: local, ansible_python_interpreter: '{{ ansible_playbook_python }}', of_inventory: " + quote(c["inventory"]) + "}}}\n"),
		"Script":      quote("#!/usr/bin/env python3\nimport sys\npassword = " + quote(c["script"]) + "\nsys.exit('no hosts: ' + password)\n"),
		"Token":       quote(c["environment"]),
		"Remote":      "https://me:" + c["url"] + "@127.0.0.1:1",
	}

	// Each run writes to a directory of its own.
	for name := range d["Policies"].(map[string]string) {
		needs.OK(t, os.Mkdir(filepath.Join(d["Directory"].(string), name), 0o700))
	}

	arguments := c.Watch()

	objs := cp.Apply(t, leaks, d)[4:]
	byName := map[string]Object{}
	for _, o := range objs {
		byName[o.Name] = o
	}

	cp.WaitFor(t, byName["prints"], Condition("Ready", "True"), Condition("Leaky", "True"))
	cp.WaitFor(t, byName["checks"], Condition("Ready", "True"))
	cp.WaitFor(t, byName["fails"], Message("Synced", `task "Give up" failed`))
	cp.WaitFor(t, byName["script"], Message("Synced", "Inventory script returned non-zero exit code"))
	cp.WaitFor(t, byName["broken"], Message("Synced", "is not valid YAML"))
	cp.WaitFor(t, byName["hub"], Message("Synced", "cannot install collections"))
	cp.WaitFor(t, byName["git"], Message("Synced", "must not have a password or a token"))

	for _, name := range []string{"reported", "nested", "published", "encoded", "deep"} {
		cp.WaitFor(t, byName["prints"], That(name+" is withheld", func(u *unstructured.Unstructured) bool {
			return Value(u, "status.atProvider.withheldOutputs."+name) != nil
		}))
	}
	cp.WaitFor(t, byName["prints"], Field("status.atProvider.outputs", map[string]any{"innocent": "******"}))

	if got := cp.Get(t, Object{APIVersion: "v1", Kind: "Secret", Namespace: ns, Name: "details-prints"}); !strings.Contains(cp.YAML(t.Context(), ObjectOf(got)), "password: "+base64.StdEncoding.EncodeToString([]byte(c["detail"]))) {
		t.Error("The connection Secret is where a secret should be found.")
	}

	// The search proves nothing unless the plays have printed something.
	masks := 0
	for _, m := range cp.List(t, "v1", "ConfigMap", ns) {
		masks += strings.Count(cp.YAML(t.Context(), ObjectOf(&m)), "********")
	}
	if masks < 60 {
		t.Errorf("The output of the runs should be kept, with masks: got %d of them", masks)
	}

	check := func(where, text string) {
		t.Helper()
		if found := c.In(text); len(found) > 0 {
			t.Errorf("%s has secrets: %s\n%s", where, strings.Join(found, ", "), c.Excerpt(text))
		}
	}

	// everything that is readable without the right to read Secrets and ProviderConfigs.
	kinds := map[string]string{"AnsibleRun": objs[0].APIVersion, "ConfigMap": "v1", "Event": "v1", "ProviderConfigUsage": objs[0].APIVersion, "Pod": "v1"}
	everything := func() {
		t.Helper()
		for kind, version := range kinds {
			for _, u := range cp.List(t, version, kind, ns) {
				text, err := json.Marshal(u.Object)
				needs.OK(t, err)
				check(kind+" "+u.GetName(), string(text))
			}
		}
		for _, u := range cp.List(t, objs[0].APIVersion, "ProviderConfig", ns) {
			text, err := json.Marshal(u.Object["status"])
			needs.OK(t, err)
			check("The status of ProviderConfig "+u.GetName(), string(text))
		}
		check("The log of the provider", cp.Provider.Log(t))
		for _, p := range cp.List(t, "v1", "Pod", ns) {
			// A Pod goes with its AnsibleRun, perhaps right now.
			if out, err := cp.TryKubectl("logs", "--namespace="+ns, p.GetName()); err == nil || !strings.Contains(out, "NotFound") {
				needs.OK(t, err)
				check("The log of Pod "+p.GetName(), out)
			}
		}
	}
	everything()

	metrics, err := controlplane.Metrics(t.Context(), cp.Stack.ProviderMetrics())
	needs.OK(t, err)
	check("The metrics", fmt.Sprint(metrics))

	for _, o := range objs {
		if !slices.Contains([]string{"prints", "checks"}, o.Name) {
			// The absent runs fail where the present ones did.
			cp.Patch(t, o, `{"spec": {"managementPolicies": ["Observe"]}}`)
		}
		cp.Delete(t, o)
	}
	for _, o := range objs {
		cp.WaitGone(t, o)
	}
	everything()

	for place, cmdline := range arguments() {
		t.Errorf("An argument has the secret of %s, for every process to see: %s", place, cmdline)
	}

	home, err := os.UserHomeDir()
	needs.OK(t, err)
	for _, dir := range []string{cp.Stack.StateDir(), filepath.Join(filepath.Dir(cp.Stack.StateDir()), "home"), filepath.Join(home, ".ansible"), filepath.Join(home, ".ansible_async"), "/dev/shm", os.TempDir(), "/var/tmp"} {
		for name, found := range c.Below(dir, began) {
			t.Errorf("A file has the secrets of %s after the runs: %s", strings.Join(found, ", "), name)
		}
	}
}

// encrypted text of ansible-vault.
func encrypted(t *testing.T, password, text string) string {
	t.Helper()
	return vaulted.Text(t, filepath.Join(cp.Stack.VirtualEnv(), "ansible-vault"), "", password, text)
}
