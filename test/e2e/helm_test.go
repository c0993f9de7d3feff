package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
)

// charts is a repository with a chart, and a playbook that has Helm manage a release of it.
func charts() map[string]string {
	return map[string]string{
		"chart/Chart.yaml":  "apiVersion: v2\nname: site\nversion: 0.1.0\n",
		"chart/values.yaml": "title: none\n",
		"chart/templates/site.yaml": `
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data: {title: {{ quote .Values.title }}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  replicas: 0
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec: {containers: [{name: site, image: example.org/site}]}
`,
		"site.yml": `
- hosts: localhost
  gather_facts: false
  tasks:
  - when: ansible_provider_meta.managed_resource.state == 'present'
    block:
    - name: Install or upgrade
      ansible.builtin.command:
        argv: ["{{ helm }}", upgrade, --install, --force-conflicts, site, "{{ playbook_dir }}/chart", --set, "title={{ title }}"]
    - kubernetes.core.helm_info: {name: site, release_namespace: "{{ namespace }}", binary_path: "{{ helm }}"}
      register: release
    - ansible.builtin.set_stats:
        data: {revision: "{{ release.status.revision }}", trigger: "{{ ansible_provider_meta.run.trigger }}"}
  - name: Uninstall
    kubernetes.core.helm: {name: site, release_namespace: "{{ namespace }}", release_state: absent, binary_path: "{{ helm }}"}
    when: ansible_provider_meta.managed_resource.state == 'absent'
`,
	}
}

// TestHelm has content manage a release of a chart with Helm itself: with the rights of a tenant's account, with an
// owner for what Helm makes, and with a run when another client changes it.
func TestHelm(t *testing.T) {
	t.Parallel()

	d := newKubernetes(t)
	needs.OK(t, cp.Stack.AllowTokens(t.Context(), d.Namespace))

	tool := cp.Stack.Tool("helm")
	needs.Built(t, "test-e2e", tool)

	root := directory(t)
	needs.Write(t, filepath.Join(root, "charts.git"), charts())
	sources.Commit(t, filepath.Join(root, "charts.git"), "v1.0.0")

	sh := newShell(t)
	d.Git, d.Helm, d.Title = served(t, sources.Git(t, root)), filepath.Join(directory(t), "helm"), "first"
	sh.Run(t, "cp "+tool+" "+d.Helm) // Runs may read the directory.

	cp.Apply(t, Account("deployer", `{apiGroups: ["", apps], resources: [configmaps, deployments, secrets], verbs: [get, list, watch, create, update, patch, delete]}`)+`
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: helm}
spec:
  requirements: "collections: [{name: kubernetes.core, version: 6.6.0, source: '[[.Galaxy]]'}]"
  kubernetes:
    serviceAccountRef: {name: deployer}
    ownerReferences: true
    watchDependents: true
`, d)

	const manifest = `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: site, annotations: {ansible.crossplane.io/runPolicy: RunOnChange}}
spec:
  providerConfigRef: {kind: ProviderConfig, name: helm}
  forProvider:
    project: {src: [[.Git]]/charts.git, version: v1.0.0}
    playbook: site.yml
    vars: {namespace: [[.Namespace]], helm: [[.Helm]], title: [[.Title]]}
`
	run := cp.Apply(t, manifest, d)[0]
	deployment := Object{APIVersion: "apps/v1", Kind: "Deployment", Namespace: d.Namespace, Name: "site"}
	text := Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: d.Namespace, Name: "site"}
	release := func(revision string) Object {
		return Object{APIVersion: "v1", Kind: "Secret", Namespace: d.Namespace, Name: "sh.helm.release.v1.site.v" + revision}
	}
	after := func(revision, trigger string) {
		t.Helper()
		cp.WaitFor(t, run, Condition("Ready", "True"), Condition("Synced", "True"), Field("status.atProvider.outputs.revision", revision),
			Field("status.atProvider.outputs.trigger", trigger), Field("status.atProvider.lastRun.phase", "Succeeded"),
			That("three kinds are known", func(u *unstructured.Unstructured) bool {
				kinds, _ := Value(u, "status.atProvider.dependents").([]any)
				return len(kinds) == 3
			}))
	}
	after("1", "Created")

	for _, o := range []Object{deployment, text, release("1")} {
		if owners := cp.Get(t, o).GetOwnerReferences(); len(owners) != 1 || owners[0].Kind != run.Kind || owners[0].Name != run.Name {
			t.Errorf("want the AnsibleRun as the owner of %s %q, got %v", o.Kind, o.Name, owners)
		}
	}

	d.Title = "second"
	cp.Apply(t, manifest, d)
	after("2", "Changed")
	cp.WaitFor(t, text, Field("data.title", "second"))

	// Helm writes the Secret of the last revision again, as a whole.
	if owners := cp.Get(t, release("1")).GetOwnerReferences(); len(owners) != 1 {
		t.Errorf("want the owner of a revision to stay, got %v", owners)
	}

	made := cp.Get(t, deployment)
	cp.Delete(t, deployment)
	cp.WaitFor(t, deployment, That("it is another one", func(u *unstructured.Unstructured) bool { return u.GetUID() != made.GetUID() }))
	after("3", "Dependents")

	// Another client uses Helm.
	sh.Run(t, tool+" rollback site 1 --namespace="+d.Namespace)
	after("5", "Dependents")
	cp.WaitFor(t, text, Field("data.title", "second"))

	cp.Delete(t, run)
	cp.WaitGone(t, run)

	for _, o := range []Object{deployment, text} {
		cp.WaitGone(t, o)
	}

	if left := strings.TrimSpace(cp.Kubectl(t, "get", "secrets", "--namespace="+d.Namespace, "--selector=owner=helm", "--output=name")); left != "" {
		t.Errorf("want no revision to be left, got %s", left)
	}
}
