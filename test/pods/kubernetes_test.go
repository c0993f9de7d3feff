package pods

import (
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	. "github.com/crossplane-ansible/crossplane-ansible/test/cluster"
	"github.com/crossplane-ansible/crossplane-ansible/test/controlplane"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// deployer is an account that may do a few things in its namespace, among them with a Pod that serves files.
var deployer = Account("deployer", `{apiGroups: [""], resources: [configmaps, pods, pods/exec], verbs: ["*"]}`) + `
apiVersion: v1
kind: Pod
metadata: {namespace: [[.Namespace]], name: web}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: web, image: ` + controlplane.ProviderImage + `, imagePullPolicy: Never, command: [python3, -u, -m, http.server, "8080", --directory, /etc]}]
---`

// managing is a run in a Pod with a play that manages the cluster with the rights of an account, and executes a
// command in another Pod. It then waits at the gate.
var managing = deployer + config + theRun + `
    vars: {ansible_lookup_url_timeout: 300, ledger: "[[.URL]]", namespace: [[.Namespace]]}
    playbookInline: |
      - hosts: localhost
        gather_facts: false
        vars:
          kubeconfig: "{{ lookup('file', lookup('env', 'KUBECONFIG')) | from_yaml }}"
          server: "{{ kubeconfig.clusters[0].cluster.server }}"
        module_defaults:
          ansible.builtin.uri:
            method: POST
            headers: {Authorization: "Bearer {{ kubeconfig.users[0].user.token }}"}
            body_format: json
            status_code: [201, 409]
            validate_certs: false
        tasks:
        - name: Ask which user the run is
          ansible.builtin.uri:
            url: "{{ server }}/apis/authentication.k8s.io/v1/selfsubjectreviews"
            body: {apiVersion: authentication.k8s.io/v1, kind: SelfSubjectReview}
          register: identity
        - name: Make an object
          ansible.builtin.uri:
            url: "{{ server }}/api/v1/namespaces/{{ namespace }}/configmaps"
            body: {apiVersion: v1, kind: ConfigMap, metadata: {name: site}, data: {title: Hello}}
        - name: Execute a command in a Pod
          ansible.builtin.command:
            argv: ["{{ ansible_playbook_python }}", "-"]
            stdin: |
              from kubernetes import client, config
              from kubernetes.stream import stream
              config.load_kube_config()
              print(stream(client.CoreV1Api().connect_get_namespaced_pod_exec, "web", "{{ namespace }}",
                           command=["cat", "/etc/hostname"], stdin=False, stdout=True, stderr=True, tty=False).strip())
          register: executed
          until: executed is success
          retries: 30
          delay: 1
        - name: Read the token of the account
          ansible.builtin.shell: cat /var/run/secrets/ansible.crossplane.io/run/token && echo read
          failed_when: false
          register: stolen
        - name: Wait at the gate
          ansible.builtin.debug: {msg: "{{ lookup('ansible.builtin.url', ledger ~ '/note/begin', ledger ~ '/gate/present') }}"}
        - ansible.builtin.set_stats:
            data:
              user: "{{ identity.json.status.userInfo.username }}"
              executed: "{{ executed.stdout }}"
              stolen: "{{ 'read' in stolen.stdout }}"
`

// TestKubernetes has a run in a Pod manage the cluster with the rights of an account: what it makes belongs to its
// AnsibleRun and is watched. The leader renews the token of the run, which ends with the run.
func TestKubernetes(t *testing.T) {
	s := newScene(t)
	needs.OK(t, cp.Stack.AllowTokens(t.Context(), s.Namespace))
	s.Config = "kubernetes: {serviceAccountRef: {name: deployer}, ownerReferences: true, watchDependents: true}"
	user := "system:serviceaccount:" + s.Namespace + ":deployer"

	s.apply(t, managing)
	s.Await(t, 1, "begin")

	token := s.token(t)
	if got := reviewed(t, token); got != user {
		t.Errorf("The token of the run should be that of the account, got that of %q", got)
	}

	// Another provider renews the token of the run that it follows.
	cp.Provider.Restart(t)
	Eventually(t, "a new token", func() bool { return s.token(t) != token })

	s.Open("present")
	s.ready(t, Field("status.atProvider.outputs.user", user), Field("status.atProvider.outputs.executed", "web"), Field("status.atProvider.outputs.stolen", false),
		That("what it has made is known", func(u *unstructured.Unstructured) bool {
			kinds, _ := Value(u, "status.atProvider.dependents").([]any)
			return len(kinds) == 1
		}))
	s.nothingLeft(t, "web")

	// The API server remembers for some seconds which user a token was for.
	Eventually(t, "the token of the run to be worth nothing", func() bool { return reviewed(t, token) == "" })

	made := Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: s.Namespace, Name: "site"}
	if owners := cp.Get(t, made).GetOwnerReferences(); len(owners) != 1 || owners[0].Kind != "AnsibleRun" || owners[0].Name != "run" {
		t.Errorf("want the AnsibleRun as the owner, got %v", owners)
	}

	cp.Delete(t, made)
	cp.WaitFor(t, s.run(), Field("status.atProvider.lastRun.trigger", "Dependents"), Field("status.atProvider.lastRun.phase", "Succeeded"))
	cp.Get(t, made)
}

// token of the run in progress.
func (s *scene) token(t *testing.T) string {
	t.Helper()

	for _, secret := range s.secrets(t) {
		if token := secret.Data["token"]; token != nil {
			return string(token)
		}
	}

	t.Fatal("The run has no token.")

	return ""
}

// reviewed is the user that a token is for; empty if it is worth nothing.
func reviewed(t *testing.T, token string) string {
	t.Helper()

	r := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	needs.OK(t, cp.Kube.Create(t.Context(), r))

	return r.Status.User.Username
}
