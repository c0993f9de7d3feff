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

// newKubernetes returns a namespace, and a Galaxy server that has kubernetes.core.
func newKubernetes(t *testing.T) data {
	t.Helper()
	needs.Built(t, "test-e2e", kubernetesCore)

	return data{Namespace: cp.Namespace(t), Galaxy: served(t, sources.NewGalaxy(t, kubernetesCore))}
}

// deployer is an account of a tenant, and a configuration that gives its rights to runs.
var deployer = Account("deployer", `{apiGroups: ["", apps], resources: [configmaps, deployments], verbs: ["*"]}`) + `
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
            kubernetes.core.k8s: {state: patched, api_version: apps/v1, kind: Deployment, name: site, definition: {metadata: {labels: {patched: "yes"}}}}
          - name: Remove it
            kubernetes.core.k8s: {state: absent, wait: true, api_version: apps/v1, kind: Deployment, name: site}
          - name: Ask for what the account may not have
            kubernetes.core.k8s: {definition: {apiVersion: v1, kind: Secret, metadata: {name: site}}}
            register: secret
            ignore_errors: true
          - name: Ask in the name of another user
            kubernetes.core.k8s_info: {kind: Secret, impersonate_user: "system:admin", impersonate_groups: ["system:masters"]}
            register: impersonated
            ignore_errors: true
          - name: Ask without the secret of the run
            ansible.builtin.uri: {url: "{{ server }}/api", validate_certs: false, status_code: 401}
          - name: Ask which user the run is
            ansible.builtin.uri:
              url: "{{ server }}/apis/authentication.k8s.io/v1/selfsubjectreviews"
              method: POST
              headers: {Authorization: "Bearer {{ kubeconfig.users[0].user.token }}"}
              body: {apiVersion: authentication.k8s.io/v1, kind: SelfSubjectReview}
              body_format: json
              status_code: 201
              validate_certs: false
            register: identity
          - ansible.builtin.set_stats:
              data:
                title: "{{ lookup('kubernetes.core.k8s', kind='ConfigMap', namespace=namespace, resource_name='site').data.title }}"
                user: "{{ identity.json.status.userInfo.username }}"
                secret: "{{ secret.msg }}"
                impersonated: "{{ impersonated.msg }}"
                shown: "{{ kubeconfig.users[0].user.token }}"
          - name: Ask for what the account may not have, for good
            kubernetes.core.k8s: {definition: {apiVersion: v1, kind: Secret, metadata: {name: site}}}
            when: fails | default(false)
`, d)[0]

	cp.WaitFor(t, run, Reason("Ready", "RunFailed"), Message("Ready", "the provider may not create serviceaccounts/token in namespace"), Field("status.atProvider.lastRun.reason", "Forbidden"),
		Message("Ready", "kubectl create rolebinding provider-ansible-tokens-provider-ansible --namespace="+d.Namespace+" --clusterrole=provider-ansible-tokens --serviceaccount=crossplane-system:provider-ansible"))
	needs.OK(t, cp.Stack.AllowTokens(t.Context(), d.Namespace))

	user := "system:serviceaccount:" + d.Namespace + ":deployer"
	contains := func(path, part string) Expectation {
		return That(path+" contains "+part, func(u *unstructured.Unstructured) bool {
			text, _ := Value(u, path).(string)
			return strings.Contains(text, part)
		})
	}
	cp.WaitFor(t, run, Condition("Ready", "True"), Field("status.atProvider.outputs.title", "Hello"), Field("status.atProvider.outputs.user", user),
		contains("status.atProvider.outputs.secret", "is forbidden: User"), contains("status.atProvider.outputs.secret", user),
		contains("status.atProvider.outputs.impersonated", "cannot impersonate"), Message("OutputsWithheld", `output "shown": a secret is in it`))

	made := Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: d.Namespace, Name: "site"}
	cp.Get(t, made)

	// The words of the API server reach the object.
	cp.Patch(t, run, `{"spec":{"forProvider":{"vars":{"fails":true}}}}`)
	cp.WaitFor(t, run, Reason("Ready", "RunFailed"), Message("Ready", "is forbidden: User"), Message("Ready", user))

	cp.Delete(t, run)
	cp.WaitGone(t, run)
	cp.WaitGone(t, made)
}
