package e2e

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
	"github.com/crossplane-ansible/crossplane-ansible/test/sources"
)

// kubernetesCore is an archive of the collection.
const kubernetesCore = "../../.cache/collections/kubernetes-core.tar.gz"

// kubernetesData is what the manifests of these tests are templates for.
type kubernetesData struct{ Namespace, Galaxy, Python, Directory string }

// newKubernetes returns a namespace, and a Galaxy server that has kubernetes.core.
func newKubernetes(t *testing.T) kubernetesData {
	t.Helper()
	needs.Built(t, "test-e2e", kubernetesCore)

	hub := sources.NewGalaxy()
	must(t, hub.Publish(kubernetesCore))

	return kubernetesData{Namespace: cp.Namespace(t), Galaxy: startSource(t, hub, sources.Options{}).URL, Python: python()}
}

// account is that of a tenant, with the rights of one rule.
func account(rule string) string {
	return `
apiVersion: v1
kind: ServiceAccount
metadata: {namespace: [[.Namespace]], name: deployer}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {namespace: [[.Namespace]], name: deployer}
rules: [` + rule + `]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {namespace: [[.Namespace]], name: deployer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: deployer}
subjects: [{kind: ServiceAccount, namespace: [[.Namespace]], name: deployer}]
---
`
}

// deployer is an account of a tenant, and a configuration whose runs have its rights.
var deployer = account(`{apiGroups: ["", apps], resources: [configmaps, deployments], verbs: ["*"]}`) + `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: kubernetes}
spec:
  requirements: "collections: [{name: kubernetes.core, version: 6.6.0, source: '[[.Galaxy]]'}]"
  kubernetes:
    serviceAccountRef: {name: deployer}
`

// TestKubernetes has modules, a lookup and a plain client manage the cluster with the rights of a
// tenant's account, once the provider may request tokens of it.
func TestKubernetes(t *testing.T) {
	t.Parallel()

	d := newKubernetes(t)

	err := cp.ApplyError(t, `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: refused}
spec: {kubernetes: {serviceAccountRef: {namespace: crossplane-system, name: provider-ansible}}}
`, d)
	if want := "the ServiceAccount of this configuration is in its own namespace"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("A namespace should not have the rights of another one: want an error with %q, got %v", want, err)
	}

	cp.Apply(t, deployer, d)
	run := cp.Apply(t, `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: site, annotations: {ansible.crossplane.io/runPolicy: RunOnChange}}
spec:
  providerConfigRef: {kind: ProviderConfig, name: kubernetes}
  forProvider:
    vars: {namespace: [[.Namespace]]}
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        module_defaults:
          group/kubernetes.core.k8s: {namespace: "{{ namespace }}"}
        vars:
          state: "{{ ansible_provider_meta.managed_resource.state }}"
          kubeconfig: "{{ lookup('file', lookup('env', 'KUBECONFIG')) | from_yaml }}"
          server: "{{ kubeconfig.clusters[0].cluster.server }}"
        tasks:
        - name: Manage a ConfigMap
          kubernetes.core.k8s:
            state: "{{ state }}"
            definition:
              apiVersion: v1
              kind: ConfigMap
              metadata: {name: site}
              data: {title: Hello}
        - when: state == 'present'
          block:
          - name: Manage a Deployment by server-side apply
            kubernetes.core.k8s:
              apply: true
              server_side_apply: {field_manager: site}
              definition:
                apiVersion: apps/v1
                kind: Deployment
                metadata: {name: site}
                spec:
                  replicas: 0
                  selector: {matchLabels: {app: site}}
                  template:
                    metadata: {labels: {app: site}}
                    spec: {containers: [{name: site, image: example.org/site}]}
          - name: Wait for it
            kubernetes.core.k8s_info: {api_version: apps/v1, kind: Deployment, name: site}
            register: deployment
            until: deployment.resources | length == 1
          - name: Patch it
            kubernetes.core.k8s_json_patch:
              {api_version: apps/v1, kind: Deployment, name: site, patch: [{op: replace, path: /spec/paused, value: true}, {op: add, path: /metadata/annotations, value: {patched: "yes"}}]}
            ignore_errors: true
          - name: Patch it again
            kubernetes.core.k8s: {state: patched, api_version: apps/v1, kind: Deployment, name: site, definition: {metadata: {labels: {patched: "yes"}}}}
          - name: Remove it
            kubernetes.core.k8s: {state: absent, wait: true, api_version: apps/v1, kind: Deployment, name: site}
          - name: Ask for what the account may not have
            kubernetes.core.k8s: {definition: {apiVersion: v1, kind: Secret, metadata: {name: site}}}
            register: secret
            ignore_errors: true
          - name: Ask in the name of somebody else
            kubernetes.core.k8s_info: {kind: Secret, impersonate_user: "system:admin", impersonate_groups: ["system:masters"]}
            register: impersonated
            ignore_errors: true
          - name: Ask without the secret of the run
            ansible.builtin.uri: {url: "{{ server }}/api", validate_certs: false, status_code: 401}
          - name: Say who the run is
            ansible.builtin.uri:
              url: "{{ server }}/apis/authentication.k8s.io/v1/selfsubjectreviews"
              method: POST
              headers: {Authorization: "Bearer {{ kubeconfig.users[0].user.token }}"}
              body: {apiVersion: authentication.k8s.io/v1, kind: SelfSubjectReview}
              body_format: json
              status_code: 201
              validate_certs: false
            register: who
          - ansible.builtin.set_stats:
              data:
                title: "{{ lookup('kubernetes.core.k8s', kind='ConfigMap', namespace=namespace, resource_name='site').data.title }}"
                user: "{{ who.json.status.userInfo.username }}"
                secret: "{{ secret.msg }}"
                impersonated: "{{ impersonated.msg }}"
                shown: "{{ kubeconfig.users[0].user.token }}"
          - name: Ask for what the account may not have, for good
            kubernetes.core.k8s: {definition: {apiVersion: v1, kind: Secret, metadata: {name: site}}}
            when: fails | default(false)
`, d)[0]

	cp.WaitFor(t, run, Reason("Ready", "RunFailed"), Message("Ready", "the provider may not create serviceaccounts/token in namespace"), Field("status.atProvider.lastRun.reason", "Forbidden"),
		Message("Ready", "kubectl create rolebinding provider-ansible-tokens-provider-ansible --namespace="+d.Namespace+" --clusterrole=provider-ansible-tokens --serviceaccount=crossplane-system:provider-ansible"))
	must(t, cp.Stack.AllowTokens(t.Context(), d.Namespace))

	user := "system:serviceaccount:" + d.Namespace + ":deployer"
	contains := func(path, part string) Expectation {
		return That(path+" contains "+part, func(u *unstructured.Unstructured) bool {
			text, _ := Value(u, path).(string)
			return strings.Contains(text, part)
		})
	}
	cp.WaitFor(t, run, Condition("Ready", "True"), Field("status.atProvider.outputs.title", "Hello"), Field("status.atProvider.outputs.user", user),
		contains("status.atProvider.outputs.secret", "is forbidden: User"), contains("status.atProvider.outputs.secret", user),
		contains("status.atProvider.outputs.impersonated", "cannot impersonate"), Field("status.atProvider.outputs.shown", "********"))

	made := Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: d.Namespace, Name: "site"}
	cp.Get(t, made)

	// The words of the API server reach the object.
	cp.Kubectl(t, "patch", "ansiblerun.ansible.m.crossplane.io", run.Name, "--namespace="+d.Namespace, "--type=merge", `--patch={"spec":{"forProvider":{"vars":{"fails":true}}}}`)
	cp.WaitFor(t, run, Reason("Ready", "RunFailed"), Message("Ready", "is forbidden: User"), Message("Ready", user))

	cp.Delete(t, run)
	cp.WaitGone(t, run)
	cp.WaitGone(t, made)
}

// dependent is a play that makes two objects, and leaves their removal to Kubernetes.
const dependent = `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: dependents}
spec:
  requirements: "collections: [{name: kubernetes.core, version: 6.6.0, source: '[[.Galaxy]]'}]"
  kubernetes:
    serviceAccountRef: {name: deployer}
    ownerReferences: true
    watchDependents: true
    ignoreDependents: [{kind: ConfigMap}]
---
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata: {namespace: [[.Namespace]], name: site, annotations: {ansible.crossplane.io/runPolicy: RunOnChange}}
spec:
  providerConfigRef: {kind: ProviderConfig, name: dependents}
  forProvider:
    vars: {namespace: [[.Namespace]], directory: "[[.Directory]]"}
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        tasks:
        - when: ansible_provider_meta.managed_resource.state == 'present'
          block:
          - ansible.builtin.shell: echo "{{ ansible_provider_meta.run.trigger }}" >> {{ directory }}/ledger
          - kubernetes.core.k8s:
              namespace: "{{ namespace }}"
              definition:
              - {apiVersion: v1, kind: ConfigMap, metadata: {name: site}, data: {title: Hello}}
              - apiVersion: apps/v1
                kind: Deployment
                metadata: {name: site}
                spec:
                  replicas: 0
                  selector: {matchLabels: {app: site}}
                  template:
                    metadata: {labels: {app: site}}
                    spec: {containers: [{name: site, image: example.org/site}]}
`

// TestDependents shows that what a play has made is back at once when somebody deletes or changes it,
// that the run itself is no such change, and that Kubernetes removes it with the AnsibleRun.
func TestDependents(t *testing.T) {
	d := newKubernetes(t)
	d.Directory = directory(t)
	cp.Apply(t, deployer, d)
	must(t, cp.Stack.AllowTokens(t.Context(), d.Namespace))

	run := cp.Apply(t, dependent, d)[1]
	site := Object{APIVersion: "apps/v1", Kind: "Deployment", Namespace: d.Namespace, Name: "site"}
	text := Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: d.Namespace, Name: "site"}
	after := func(runs int) {
		t.Helper()
		Eventually(t, "runs", func() bool {
			return strings.Count(readFile(t, d.Directory+"/ledger"), "\n") >= runs
		})
		cp.WaitFor(t, run, Condition("Ready", "True"), Field("status.atProvider.lastRun.phase", "Succeeded"), That("both kinds are known", func(u *unstructured.Unstructured) bool {
			kinds, _ := Value(u, "status.atProvider.dependents").([]any)
			return len(kinds) == 2
		}))
	}
	after(1)

	made := cp.Get(t, site)
	if owners := made.GetOwnerReferences(); len(owners) != 1 || owners[0].Kind != run.Kind || owners[0].Name != run.Name {
		t.Errorf("want the AnsibleRun as the owner, got %v", owners)
	}

	cp.Delete(t, text) // It is not watched.
	cp.Delete(t, site)
	cp.WaitFor(t, site, That("it is another one", func(u *unstructured.Unstructured) bool { return u.GetUID() != made.GetUID() }))
	after(2)
	cp.Get(t, text)

	cp.Kubectl(t, "scale", "deployment", "site", "--namespace="+d.Namespace, "--replicas=3")
	after(3)
	cp.WaitFor(t, site, Field("spec.replicas", 0))

	// While the provider is away, too.
	cp.Provider.Stop(t)
	cp.Delete(t, site)
	cp.Provider.Start(t)
	after(4)

	if got, want := readFile(t, d.Directory+"/ledger"), "Created\nDependents\nDependents\nDependents\n"; got != want {
		t.Errorf("want one run for each change, got %q", got)
	}

	cp.Delete(t, run)
	cp.WaitGone(t, run)
	cp.WaitGone(t, site)
	cp.WaitGone(t, text)
}

// fakeOperatorSDK has three modules of the collection operator_sdk.util, which is on no registry of packages: they
// send the requests, and return the results, that the real ones do.
func fakeOperatorSDK() collection {
	return collection{Namespace: "operator_sdk", Name: "util", Version: "0.5.0", Files: map[string]string{
		"plugins/modules/requeue_after.py": `
from ansible.module_utils.basic import AnsibleModule
m = AnsibleModule({"time": {"type": "str", "required": True}})
m.exit_json(period=m.params["time"])
`,
		"plugins/modules/osdk_metric.py": `
import json
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.urls import open_url
m = AnsibleModule({"name": {"required": True}, "description": {"required": True}, "address": {"default": "http://localhost:5050/metrics"},
                   "counter": {"type": "dict", "options": {"increment": {"type": "bool"}, "add": {"type": "float"}}},
                   "gauge": {"type": "dict", "options": {
                       "increment": {"type": "bool"}, "decrement": {"type": "bool"}, "set_to_current_time": {"type": "bool"},
                       "set": {"type": "float"}, "add": {"type": "float"}, "subtract": {"type": "float"}}},
                   "histogram": {"type": "dict", "options": {"observe": {"type": "float"}}},
                   "summary": {"type": "dict", "options": {"observe": {"type": "float"}}}})
p = {k: v for k, v in m.params.items() if v and k != "address"}
try:
    open_url(m.params["address"], method="POST", data=json.dumps(p), headers={"Content-Type": "application/json"})
except Exception as e:
    m.fail_json(msg=str(e))
m.exit_json(changed=True)
`,
		"plugins/modules/k8s_status.py": fakeStatusModule,
	}}
}

// fakeStatusModule decides what to send as the module k8s_status does: nothing if the XR has all of it already, whenever
// its conditions became so, and all conditions that the XR has with another one.
const fakeStatusModule = `
from ansible.module_utils.basic import AnsibleModule
from kubernetes import config, dynamic


def has(there, part):
    if isinstance(part, dict):
        return isinstance(there, dict) and all(has(there.get(k), v) for k, v in part.items())
    if isinstance(part, list):
        return isinstance(there, list) and all(item in there for item in part)
    return there == part


def main():
    m = AnsibleModule(
        {"api_version": {}, "kind": {}, "name": {}, "namespace": {}, "status": {"type": "dict"}, "conditions": {"type": "list", "elements": "dict"}},
        supports_check_mode=True)
    p = m.params
    mine = p["status"] or {}
    if p["conditions"]:
        mine["conditions"] = p["conditions"]
    r = dynamic.DynamicClient(config.new_client_from_config()).resources.get(api_version=p["api_version"], kind=p["kind"])
    o = r.get(name=p["name"], namespace=p["namespace"]).to_dict()
    there = o.get("status") or {}
    timeless = dict(there)
    if "conditions" in there:
        timeless["conditions"] = [{k: v for k, v in c.items() if k != "lastTransitionTime"} for c in there["conditions"]]
    if has(timeless, mine):
        m.exit_json(changed=False, result=o)
    if there.get("conditions") and mine.get("conditions"):
        new = [c["type"] for c in mine["conditions"]]
        mine["conditions"] = [c for c in there["conditions"] if c["type"] not in new] + mine["conditions"]
    o["status"] = mine
    m.exit_json(changed=True, result=r.status.patch(body=o, content_type="application/merge-patch+json").to_dict())


if __name__ == "__main__":
    main()
`

// TestOperatorContent runs content of an Ansible operator as it is: it reads the name of its resource from
// ansible_operator_meta, sets the status of it, measures, and says when it wants to run again.
func TestOperatorContent(t *testing.T) {
	t.Parallel()

	hub := sources.NewGalaxy()
	must(t, hub.Publish(fakeOperatorSDK().Tarball(t)))

	d := struct{ Namespace, Galaxy, UID, Directory string }{
		Namespace: cp.Namespace(t), Galaxy: startSource(t, hub, sources.Options{}).URL, Directory: directory(t),
	}
	must(t, cp.Stack.AllowTokens(t.Context(), d.Namespace))

	xr := cp.Apply(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: memcacheds.cache.example.org}
spec:
  group: cache.example.org
  names: {kind: Memcached, plural: memcacheds}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: cache.example.org/v1
kind: Memcached
metadata: {namespace: [[.Namespace]], name: sample}
---
`+account(`{apiGroups: [cache.example.org], resources: [memcacheds], verbs: [get]}`)+`
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: ProviderConfig
metadata: {namespace: [[.Namespace]], name: operator}
spec:
  requirements: "collections: [{name: operator_sdk.util, version: 0.5.0, source: '[[.Galaxy]]'}]"
  kubernetes:
    serviceAccountRef: {name: deployer}
`, d)[1]
	d.UID = string(cp.Get(t, xr).GetUID())

	run := cp.Apply(t, `
apiVersion: ansible.m.crossplane.io/v1alpha1
kind: AnsibleRun
metadata:
  namespace: [[.Namespace]]
  name: sample-x7k2
  annotations: {ansible.crossplane.io/runPolicy: RunOnChange}
  ownerReferences: [{apiVersion: cache.example.org/v1, kind: Memcached, name: sample, uid: [[.UID]], controller: true}]
spec:
  providerConfigRef: {kind: ProviderConfig, name: operator}
  forProvider:
    vars: {directory: "[[.Directory]]"}
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        collections: [operator_sdk.util]
        tasks:
        - ansible.builtin.shell: echo "{{ ansible_provider_meta.run.trigger }}" >> {{ directory }}/ledger
        - k8s_status:
            api_version: cache.example.org/v1
            kind: Memcached
            name: "{{ ansible_operator_meta.name }}"
            namespace: "{{ ansible_operator_meta.namespace }}"
            status: {nodes: [a, b], size: 2, conditions: [{type: Cached, status: "True", reason: Filled}]}
        - osdk_metric: {name: cached_total, description: Keys, counter: {add: "{{ item }}"}}
          loop: [1, 2.5]
        - osdk_metric: {name: nodes, description: Nodes, gauge: {set: 2}}
        - osdk_metric: {name: nodes, description: Nodes, counter: {add: -1}}
          register: refused
          failed_when: refused is not failed
        - operator_sdk.util.requeue_after: {time: 5s}
          when: ansible_provider_meta.run.trigger == 'Created'
`, d)[0]

	cp.WaitFor(t, run, Condition("Ready", "True"), Condition("Cached", "True"), Field("status.atProvider.reported.size", 2))
	// The second run says nothing of a third one.
	Eventually(t, "a second run", func() bool { return readFile(t, d.Directory+"/ledger") == "Created\nDrift\n" })
	cp.WaitFor(t, run, Condition("Ready", "True"), That("no run is due", func(u *unstructured.Unstructured) bool {
		return Value(u, "status.atProvider.nextRunTime") == nil && Value(u, "status.atProvider.lastRun.phase") == "Succeeded"
	}))

	own := []string{`namespace="` + d.Namespace + `"`, `name="sample-x7k2"`}
	if got := metric(t, "provider_ansible_measured_total", append(own, `metric="cached_total"`)...); got != 7 {
		t.Errorf("Each of two runs should have added 3.5 to the counter, got %f", got)
	}
	if got := metric(t, "provider_ansible_measured", append(own, `metric="nodes"`)...); got != 2 {
		t.Errorf("The gauge should be set to 2, got %f", got)
	}

	if status := cp.Get(t, xr).Object["status"]; status != nil {
		t.Errorf("The Composition decides what the XR shows, got %v", status)
	}
}
